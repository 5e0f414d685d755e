//! Entries of LiteLLM's `model_list`: which model of which account, and how it is called.

use super::{
    NOTATION, limits,
    vendor::{self, Vendor},
};
use crate::{
    Retries, Timeouts,
    import::{
        account::{self, RETRIES_MAX},
        limit::One,
        members::{Members, Remarks},
        report::{Place, Report},
        secret::Secret,
    },
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// An account of a vendor: what is the same here is one provider.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Account {
    /// The listed vendor.
    pub(super) vendor: &'static str,
    pub(super) base_url: Option<String>,
    /// As the file has it; `None` is no key at all.
    pub(super) key: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
}

/// One entry.
pub(super) struct Deployment {
    pub(super) place: Place,
    /// What clients ask for.
    pub(super) name: String,
    /// Their name of the vendor.
    pub(super) prefix: String,
    /// The vendor's own name of the model.
    pub(super) model: String,
    pub(super) account: Account,
    /// Its share by `weight`, `rpm` and `tpm`.
    pub(super) shares: [f64; 3],
    pub(super) params: BTreeMap<String, Value>,
    pub(super) timeouts: Timeouts,
    pub(super) retries: Retries,
    /// What may be spent at it.
    pub(super) bounds: Vec<One>,
}

impl Deployment {
    /// Whether it says only which model of which account it is.
    pub(super) fn is_plain(&self) -> bool {
        self.params.is_empty() && self.timeouts == Timeouts::default() && self.retries == Retries::default()
    }
}

/// Members of a request that can be set for a target as they are.
const SENT: [&str; 26] = [
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "metadata",
    "modalities",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "reasoning_effort",
    "response_format",
    "seed",
    "service_tier",
    "stop",
    "store",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
];

/// What is never set for a target.
const REQUEST: [&str; 5] = ["fallbacks", "messages", "model", "stream", "stream_options"];

const SHARE: &str = "is no limit here; where no `weight` is set it is the share of the target, as before; write `limits` of the name or of the provider";
const COST: &str = "has no equivalent yet: costs are not reckoned";

const REMARKS: Remarks<'static> = &[
    ("api_version", "has no equivalent: it is for a vendor that is not there yet"),
    (
        "drop_params",
        "has no equivalent: what a target cannot express is always dropped, and named in the answer",
    ),
    ("additional_drop_params", "is not carried over; write it into `quirks.drop` of the provider"),
    ("order", "has no equivalent; `strategy: ordered` takes the targets as written"),
    ("input_cost_per_token", COST),
    ("output_cost_per_token", COST),
    ("max_parallel_requests", "is not carried over; `concurrency` of the provider bounds the calls at once"),
    ("tags", "has no equivalent: requests are not routed by tags"),
    ("mock_response", "has no equivalent; the provider `mock` answers without a network"),
    ("region_name", "has no equivalent"),
    ("use_in_pass_through", super::PASS),
    ("configurable_clientside_auth_params", "has no equivalent: clients cannot bring keys of vendors"),
    (
        "litellm_credential_name",
        "names a credential that is not in `credential_list`; write the key of the provider",
    ),
    ("ssl_verify", "has no equivalent: certificates are always verified; trust an authority by `tls.ca`"),
];

/// Reads an entry. `None` after a note or a problem.
pub(super) fn read(
    mut entry: Members,
    credentials: &BTreeMap<String, Map<String, Value>>,
    report: &mut Report,
) -> Option<Deployment> {
    let place = entry.place.clone();
    let name = entry.text("model_name", report);
    let outer = ["rpm", "tpm"].map(|name| share(&mut entry, name, report));
    let params = entry.object("litellm_params", report);
    let (Some(name), Some(mut params)) = (name, params) else {
        report.problem(&place, "must have `model_name` and `litellm_params`");
        return None;
    };
    let told = entry.at("model_info");
    if entry.take("model_info").is_some() {
        report.note(&told, "has no equivalent yet: what models are and cost is not kept");
    }
    entry.rest(&[], report);
    if let Some(name) = params.text("litellm_credential_name", report) {
        match credentials.get(&name) {
            Some(values) => params.fill(values),
            None => report.note(&params.at("litellm_credential_name"), "is not in `credential_list`"),
        }
    }
    let (vendor, prefix, model) = target(&mut params, &place, report)?;
    let (weight, rpm, tpm) = (
        params.number("weight", report).unwrap_or(0.0),
        share(&mut params, "rpm", report),
        share(&mut params, "tpm", report),
    );
    let [outer_rpm, outer_tpm] = outer;
    let (timeouts, retries) = times(&mut params, report);
    let account = account(vendor, &mut params, &place, report)?;
    let set = sent(&mut params, report);
    let bounds = limits::budget(&mut params, ("max_budget", "budget_duration"), report).into_iter().collect();
    params.rest(REMARKS, report);
    let model = own_name(vendor, model, &place, report);
    let shares = [weight, rpm.max(outer_rpm), tpm.max(outer_tpm)];
    Some(Deployment { place, name, prefix, model, account, shares, params: set, timeouts, retries, bounds })
}

fn share(members: &mut Members, name: &str, report: &mut Report) -> f64 {
    let Some(share) = members.number(name, report) else { return 0.0 };
    report.note(&members.at(name), SHARE);
    share
}

/// The vendor, what they call it, and its own name of the model.
fn target(
    params: &mut Members,
    place: &Place,
    report: &mut Report,
) -> Option<(&'static Vendor, String, String)> {
    let Some(model) = params.text("model", report).filter(|model| !model.trim().is_empty()) else {
        report.problem(&params.at("model"), "is missing; without it this is no entry of LiteLLM");
        return None;
    };
    let own = params.text("custom_llm_provider", report);
    let found = match (&own, model.split_once('/')) {
        (Some(own), rest) => {
            let bare = rest.filter(|(head, _)| head == own).map_or(model.as_str(), |(_, rest)| rest);
            vendor::find(own).map(|vendor| (vendor, bare))
        }
        (None, Some((head, rest))) => vendor::find(head).map(|vendor| (vendor, rest)),
        (None, None) => vendor::of_bare(&model).map(|vendor| (vendor, model.as_str())),
    };
    let Some((vendor, bare)) = found.filter(|(_, bare)| !bare.is_empty()) else {
        report.note(
            place,
            "is at a vendor that is not there yet, or names none, and is left out; if it speaks OpenAI Chat or Anthropic Messages, make a provider with `base_url` and `dialects`",
        );
        return None;
    };
    Some((vendor, own.unwrap_or_else(|| vendor.theirs.to_owned()), bare.to_owned()))
}

/// LiteLLM completes some names by itself.
fn own_name(vendor: &Vendor, model: String, place: &Place, report: &mut Report) -> String {
    let place = place.member("litellm_params").member("model");
    if vendor.ours == "openai"
        && let Some(bare) = model.strip_prefix("responses/").filter(|bare| !bare.is_empty())
    {
        report
            .note(&place, "asks for the Responses API, which is not spoken yet; the model is asked by Chat");
        return bare.to_owned();
    }
    let short = vendor.ours == "fireworks" && !model.contains(['/', '*']);
    if short { format!("accounts/fireworks/models/{model}") } else { model }
}

fn account(vendor: &Vendor, params: &mut Members, place: &Place, report: &mut Report) -> Option<Account> {
    let mut base_url = None;
    let at = params.at("api_base");
    let other = params.text("base_url", report);
    if let Some(base) = params.text("api_base", report).or(other).filter(|base| !base.trim().is_empty()) {
        if NOTATION.is_reference(&base) {
            report.note(
                place,
                "is left out: its `api_base` is a reference, which `base_url` cannot be; write the URL",
            );
            return None;
        }
        match vendor.base_url(&base) {
            Ok(base) => base_url = Some(base),
            Err(why) => {
                report.note(place, format!("is left out: `api_base` {why}"));
                return None;
            }
        }
        if base_url.as_deref() != Some(base.as_str()) {
            report.note(
                &at,
                "is written otherwise: here a base URL holds the version, and no path of an operation",
            );
        }
    }
    let written = params.text("api_key", report).filter(|key| !key.trim().is_empty());
    let usual = (!vendor.env.is_empty()).then(|| format!("{}{}", NOTATION.env, vendor.env));
    let mut headers = BTreeMap::new();
    if let Some(extra) = params.object("extra_headers", report) {
        let read = account::headers(extra, |value| NOTATION.is_reference(value), report);
        headers.extend(read.into_iter().map(|(name, _, value)| (name, value)));
    }
    let at = params.at("organization");
    if let Some(organization) = params.text("organization", report) {
        match NOTATION.secret(&organization) {
            Secret::Clear(value) => {
                headers.insert("openai-organization".to_owned(), value);
            }
            _ => report.note(
                &at,
                "is a reference, which a header cannot be; write it into `headers` of the provider",
            ),
        }
    }
    Some(Account { vendor: vendor.ours, base_url, key: written.or(usual), headers })
}

fn times(params: &mut Members, report: &mut Report) -> (Timeouts, Retries) {
    let (mut timeouts, mut retries) = (Timeouts::default(), Retries::default());
    if let Some(ms) = seconds(params, "timeout", report) {
        account::set_first_token(&mut timeouts, ms);
    }
    timeouts.idle_ms = seconds(params, "stream_timeout", report);
    // The name of the library, and that of the proxy.
    let tries = ["max_retries", "num_retries"].map(|name| params.count(name, RETRIES_MAX, report));
    retries.max = tries.into_iter().flatten().next();
    (timeouts, retries)
}

/// Seconds as milliseconds.
pub(super) fn seconds(members: &mut Members, name: &str, report: &mut Report) -> Option<u64> {
    let place = members.at(name);
    if members.is_text(name) {
        members.take(name);
        report.note(&place, "is no number and not carried over; write it into `timeouts`");
        return None;
    }
    account::milliseconds(members.number(name, report)?, &place, report)
}

/// What is set in the body that is sent.
fn sent(params: &mut Members, report: &mut Report) -> BTreeMap<String, Value> {
    let mut made = BTreeMap::new();
    for name in SENT {
        let Some(value) = params.take(name) else { continue };
        report
            .note(&params.at(name), "is in `params` of the target, where it wins over what the client says");
        made.insert(name.to_owned(), value);
    }
    if let Some(extra) = params.object("extra_body", report) {
        for (name, place, value) in extra.entries() {
            if REQUEST.contains(&name.as_str()) {
                report.note(&place, "cannot be set for a target and is left out");
            } else {
                made.insert(name, value);
            }
        }
    }
    made
}
