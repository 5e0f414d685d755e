//! Providers of Bifrost: keys, network, limits.

use super::{Allowed, Draft, NOTATION};
use crate::{
    ProviderEntry, ProviderKey, TlsEntry,
    import::{
        account::{self, Names, RETRIES_MAX},
        check::{self, Parts},
        members::{self, Members, Remarks},
        report::{Place, Report},
        secret::{self, Secret},
    },
};
use serde_json::Value;
use std::time::Duration;
use trestle_provider::{Auth, listed};

/// Their vendors: the name, ours, and what stands in our base URLs and not in theirs.
const VENDORS: [(&str, &str, &str); 18] = [
    ("anthropic", "anthropic", "/v1"),
    ("cerebras", "cerebras", "/v1"),
    ("cohere", "cohere", "/compatibility/v1"),
    ("deepseek", "deepseek", "/v1"),
    ("fireworks", "fireworks", "/v1"),
    ("gemini", "gemini", "/openai"),
    ("groq", "groq", "/v1"),
    ("huggingface", "huggingface", "/v1"),
    ("mistral", "mistral", "/v1"),
    ("nebius", "nebius", "/v1"),
    ("ollama", "ollama", "/v1"),
    ("openai", "openai", "/v1"),
    ("openrouter", "openrouter", "/v1"),
    ("perplexity", "perplexity", ""),
    ("sgl", "sglang", "/v1"),
    ("sglang", "sglang", "/v1"),
    ("vllm", "vllm", "/v1"),
    ("xai", "xai", "/v1"),
];

const REMARKS: Remarks<'static> = &[
    ("proxy_config", "is not taken over: write the proxy into `proxy` of the provider"),
    ("prompt_cache", "has no equivalent: what the client says of caching goes on to the provider"),
    ("send_back_raw_request", "has no equivalent: answers hold no raw request"),
    ("send_back_raw_response", "has no equivalent: answers in the dialect of the provider are raw anyway"),
    ("store_raw_request_response", "has no equivalent: content is never logged"),
    ("openai_config", "has no equivalent: what the client says of `store` goes on to the provider"),
    ("pricing_overrides", "has no equivalent yet: costs are not reckoned"),
    ("description", "has no equivalent; write a comment"),
];

const CUSTOM: Remarks<'static> = &[
    ("allowed_requests", "has no equivalent; an empty path in `endpoints` takes an operation away"),
    ("request_path_overrides", "is not carried over; write the paths into `endpoints`"),
];

const NETWORK: Remarks<'static> = &[
    (
        "insecure_skip_verify",
        "has no equivalent: certificates are always verified; trust an authority by `tls.ca`",
    ),
    ("max_conns_per_host", "has no equivalent; `concurrency` bounds the calls that run at once"),
    ("keep_alive_timeout_in_seconds", "has no equivalent: idle connections are closed by themselves"),
    ("enforce_http2", "has no equivalent: with TLS the version is negotiated"),
    ("stream_throughput_guard", "has no equivalent; `idle_ms` bounds the wait between events"),
    (
        "beta_header_overrides",
        "has no equivalent; `headers` sets headers, `forward_headers` lets them through",
    ),
];

const KEY: Remarks<'static> = &[
    ("blacklisted_models", "has no equivalent: every key of a provider serves every model"),
    ("aliases", "is not carried over; make a name in `models` with the model as its target"),
    ("id", "has no use here: nothing refers to it"),
    ("use_for_batch_api", "has no equivalent: batches are not served"),
    ("description", "has no equivalent; write a comment"),
];

/// Most calls that may run or wait at one provider.
const CALLS_MAX: u32 = 1_000_000;

/// What of a provider is checked part by part.
struct Network {
    parts: Parts,
    /// Where its API is, if that is written.
    base: Option<(Place, String)>,
}

impl Draft {
    pub(super) fn provider(&mut self, name: &str, value: Value, place: &Place, report: &mut Report) {
        self.providers.insert(name.to_owned(), None);
        let Some(mut members) = Members::new(value, place.clone(), report) else { return };
        let custom = members.object("custom_provider_config", report);
        let Some(vendor) = vendor(name, custom, place, report) else { return };
        let ours = self.names.take_provider(name);
        let mut entry = account::entry_like(&ours, vendor.ours);
        limits(&mut members, &mut entry, report);
        let Some(mut network) = network(&mut members, &mut entry, report) else {
            report.note(place, "is left out: where its API is cannot be read here");
            return;
        };
        let items = members.list("keys", report).unwrap_or_default();
        let keys = self.keys(&ours, items, &mut network, report);
        account_keys(&mut entry, keys, (&vendor, &ours), (place, report));
        if let Some((place, base)) = network.base {
            entry.base_url = Some(vendor.base_url(&base, &place, report));
        }
        members.rest(REMARKS, report);
        if let Some(entry) = check::provider(&ours, entry, network.parts, (place, report)) {
            if ours != name {
                report.note(place, format!("is called `{ours}` here; clients ask for `{ours}/MODEL`"));
            }
            self.origins.add("providers", &ours, place);
            self.document.providers.insert(ours.clone(), entry);
            self.providers.insert(name.to_owned(), Some(ours));
        }
    }

    /// The keys, and the models that they are for.
    fn keys(
        &self,
        provider: &str,
        items: Vec<(Place, Value)>,
        network: &mut Network,
        report: &mut Report,
    ) -> Keys {
        let mut keys = Keys::default();
        for (place, item) in items {
            if let Some(members) = Members::new(item, place, report) {
                self.key(provider, members, (network, &mut keys), report);
            }
        }
        let weights = account::whole_weights(&keys.shares);
        for (key, weight) in keys.made.iter_mut().zip(weights) {
            key.weight = weight;
        }
        keys
    }

    fn key(&self, provider: &str, mut key: Members, into: (&mut Network, &mut Keys), report: &mut Report) {
        let (network, keys) = into;
        let place = key.place.clone();
        let wanted = key.text("name", report).or_else(|| key.text("id", report));
        let name = keys.names.take(wanted.as_deref().unwrap_or("main"));
        let share = key.number("weight", report).unwrap_or(1.0);
        let explicit = key.list("models", report);
        let denied = explicit.as_ref().is_some_and(Vec::is_empty);
        let models = explicit.map(|items| {
            items.into_iter().filter_map(|(place, item)| members::text(item, &place, report)).collect()
        });
        let off = key.flag("enabled", report) == Some(false);
        let url = server(&mut key, report);
        let secret = secret_of(key.take("value"), &key.at("value"), report);
        let at = key.at("value");
        key.rest(KEY, report);
        if off {
            return report.note(&place, "is disabled and left out");
        }
        match self.empty.allowed(models) {
            Allowed::Everything => {}
            Allowed::Only(_) if denied && self.versioned => {
                return report.note(&place, "is for no model (an empty list, as of version 2) and left out");
            }
            // No one can use it if the file is new, and everyone if it is old; a key of a vendor grants nothing to clients.
            Allowed::Only(_) if denied => report.note(
                &place.member("models"),
                "is empty, which is no model as of version 2 and every one before; the key is kept, so remove it if it was meant to be unused",
            ),
            Allowed::Only(models) if !models.is_empty() => {
                report.note(
                    &place.member("models"),
                    "is what `/v1/models` shows; every key of a provider serves every model here, so a key that must not needs a provider of its own",
                );
                keys.models.extend(models);
            }
            // Files that are older than these lists have none.
            Allowed::Only(_) => {}
        }
        if let Some((place, url)) = url {
            match &network.base {
                Some((_, base)) if *base != url => {
                    return report.note(
                        &place,
                        "is another server than that of the provider, and the key is left out; make a provider of its own",
                    );
                }
                _ => network.base = Some((place, url)),
            }
        }
        match secret {
            None => report.note(&place, "has no value and is left out, so calls carry no key"),
            Some(secret) => {
                keys.made.push(secret::provider_key(provider, name, secret, (&at, report)));
                keys.shares.push(share);
            }
        }
    }
}

/// Keys of a provider that is being made.
#[derive(Default)]
struct Keys {
    names: Names,
    made: Vec<ProviderKey>,
    shares: Vec<f64>,
    models: Vec<String>,
}

/// The vendor that a provider is an account of.
struct Vendor {
    ours: &'static str,
    suffix: &'static str,
    keyless: bool,
}

impl Vendor {
    fn base_url(&self, theirs: &str, place: &Place, report: &mut Report) -> String {
        let base = theirs.trim_end_matches('/');
        if base.ends_with(self.suffix) {
            return base.to_owned();
        }
        report.note(place, format!("gets `{}` at its end: here a base URL holds it", self.suffix));
        format!("{base}{}", self.suffix)
    }
}

fn vendor(name: &str, custom: Option<Members>, place: &Place, report: &mut Report) -> Option<Vendor> {
    let (mut theirs, mut keyless) = (name.to_owned(), false);
    if let Some(mut custom) = custom {
        theirs = custom.text("base_provider_type", report).unwrap_or(theirs);
        keyless = custom.flag("is_key_less", report).unwrap_or(false);
        custom.rest(CUSTOM, report);
    }
    let row = VENDORS.iter().find(|(known, _, _)| *known == theirs);
    let Some((_, ours, suffix)) = row else {
        report.note(
            place,
            "is an account of a vendor that is not there yet, and left out with its keys; if it speaks OpenAI Chat or Anthropic Messages, write `base_url` and `dialects`",
        );
        return None;
    };
    Some(Vendor { ours, suffix, keyless })
}

fn account_keys(entry: &mut ProviderEntry, keys: Keys, names: (&Vendor, &str), at: (&Place, &mut Report)) {
    let ((vendor, name), (place, report)) = (names, at);
    entry.models = keys.models;
    entry.models.sort();
    entry.models.dedup();
    entry.keys = keys.made;
    let usual = listed().get(vendor.ours).map_or(Auth::Bearer, |row| row.auth.clone());
    if vendor.keyless {
        if !entry.keys.is_empty() {
            report.note(place, "needs no keys, as it says, so they are left out");
            entry.keys.clear();
        }
        entry.auth = Some(Auth::None);
    } else if !entry.keys.is_empty() {
        // A server of one's own that was given a key wants it.
        entry.auth = (usual == Auth::None).then_some(Auth::Bearer);
    } else if let Some(usual) = account::usual_variable(vendor.ours) {
        let variable =
            if entry.like.is_none() { usual.to_owned() } else { secret::variable(&[name, "API_KEY"]) };
        report
            .note(place, format!("has no key that can be used; put one into the environment as {variable}"));
        entry.keys = vec![ProviderKey::new("main", format!("env:{variable}"))];
    }
}

fn limits(members: &mut Members, entry: &mut ProviderEntry, report: &mut Report) {
    let Some(mut sizes) = members.object("concurrency_and_buffer_size", report) else { return };
    entry.concurrency = sizes.count("concurrency", CALLS_MAX, report).filter(|most| *most > 0);
    entry.queue = sizes.count("buffer_size", CALLS_MAX, report);
    sizes.rest(&[], report);
}

/// `None` if the base URL is something that cannot be read: then keys must not go to the vendor's usual one.
fn network(members: &mut Members, entry: &mut ProviderEntry, report: &mut Report) -> Option<Network> {
    let mut made = Network { parts: Parts { headers: Vec::new(), tls: None }, base: None };
    let Some(mut network) = members.object("network_config", report) else { return Some(made) };
    if let Some(base) = network.text("base_url", report).filter(|base| !base.trim().is_empty()) {
        let place = network.at("base_url");
        if NOTATION.is_reference(&base) {
            report.note(&place, "is a reference, which `base_url` cannot be; write the URL");
            return None;
        }
        made.base = Some((place, base));
    }
    if let Some(headers) = network.object("extra_headers", report) {
        made.parts.headers = account::headers(headers, |value| NOTATION.is_reference(value), report);
    }
    times(&mut network, entry, report);
    let place = network.at("ca_cert_pem");
    if let Some(pem) = secret_of(network.take("ca_cert_pem"), &place, report) {
        let ca = match pem {
            Secret::Env(reference) => Some(reference),
            Secret::Clear(pem) => Some(pem),
            Secret::Elsewhere => {
                report.note(&place, "cannot be read here; write `tls.ca`");
                None
            }
        };
        made.parts.tls = ca.map(|ca| (place, TlsEntry { ca: Some(ca), server_name: None }));
    }
    let private = network.flag("allow_private_network", report);
    if private == Some(false) && made.base.as_ref().is_some_and(|(_, base)| is_loopback(base)) {
        report.note(
            &network.at("allow_private_network"),
            "is left out, for here it would shut off loopback addresses too, and `base_url` names one",
        );
    } else {
        entry.private_addresses = private;
    }
    network.rest(NETWORK, report);
    Some(made)
}

fn times(network: &mut Members, entry: &mut ProviderEntry, report: &mut Report) {
    let name = "default_request_timeout_in_seconds";
    if let Some(seconds) = network.number(name, report)
        && let Some(ms) = account::milliseconds(seconds, &network.at(name), report)
    {
        account::set_first_token(&mut entry.timeouts, ms);
    }
    let name = "stream_idle_timeout_in_seconds";
    if let Some(seconds) = network.number(name, report) {
        entry.timeouts.idle_ms = account::milliseconds(seconds, &network.at(name), report);
    }
    entry.retries.max = network.count("max_retries", RETRIES_MAX, report);
    let mut wait = |name: &str| {
        let place = network.at(name);
        let value = network.take(name)?;
        let ms = match &value {
            Value::String(text) => duration(text).map(|wait| wait.as_millis() as f64),
            other => other.as_f64().filter(|ms| *ms >= 0.0),
        };
        let Some(ms) = ms else {
            report.problem(&place, "must be milliseconds, or a time such as `500ms` or `5s`");
            return None;
        };
        account::milliseconds(ms / 1000.0, &place, report)
    };
    let (first, longest) = (wait("retry_backoff_initial"), wait("retry_backoff_max"));
    if longest.is_some_and(|longest| first > Some(longest)) {
        report.note(
            &network.at("retry_backoff_initial"),
            "is more than `retry_backoff_max`, which is set for both",
        );
    }
    account::set_backoff(&mut entry.retries, first, longest);
}

/// A time as Go writes it: `1m30s`, `500ms`.
fn duration(text: &str) -> Option<Duration> {
    let (mut rest, mut seconds) = (text.trim(), 0.0);
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let (number, tail) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit() && c != '.')?);
        let (unit, tail) = tail.split_at(tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len()));
        let scale = match unit {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * scale;
        rest = tail;
    }
    Duration::try_from_secs_f64(seconds).ok()
}

/// A secret, as text or as the object that newer files have.
pub(super) fn secret_of(value: Option<Value>, place: &Place, report: &mut Report) -> Option<Secret> {
    let text = match value? {
        Value::Object(members) => {
            let mut members = Members::new(Value::Object(members), place.clone(), report)?;
            let variable = members.text("env_var", report).or_else(|| members.text("ref", report));
            let value = members.text("value", report);
            let _ = (members.take("from_env"), members.take("type"));
            members.rest(&[], report);
            variable.filter(|name| !name.is_empty()).map_or(value, |name| {
                let bare = name.strip_prefix("env.").unwrap_or(&name);
                Some(if name.starts_with("vault.") { name.clone() } else { format!("env.{bare}") })
            })
        }
        other => members::text(other, place, report),
    };
    text.filter(|text| !text.trim().is_empty()).map(|text| NOTATION.secret(&text))
}

/// Where a server of one's own is, which stands at its keys.
fn server(key: &mut Members, report: &mut Report) -> Option<(Place, String)> {
    let mut found = None;
    for name in ["ollama_key_config", "vllm_key_config", "sgl_key_config"] {
        let Some(mut config) = key.object(name, report) else { continue };
        let place = config.at("url");
        let url = config.text("url", report).filter(|url| !url.trim().is_empty());
        config.rest(&[("model_name", "is not carried over; name the model in `models`")], report);
        match url {
            Some(url) if NOTATION.is_reference(&url) => {
                report.note(&place, "is a reference, which `base_url` cannot be; write the URL");
            }
            Some(url) => found = found.or(Some((place, url))),
            None => {}
        }
    }
    found
}

fn is_loopback(url: &str) -> bool {
    let host = url.split("://").nth(1).unwrap_or(url);
    ["localhost", "127.", "[::1]"].iter().any(|start| host.starts_with(start))
}
