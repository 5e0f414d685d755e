//! A vendor account: its row, its keys, its limits.

use super::{
    Secrets, check_name,
    credential::{Keys, no_key},
    limit::{self, Written},
    names::Names,
    secret::Source,
    target,
    times::{self, Defaults, within},
};
use crate::{
    Limits, MockSettings, Owner, OwnerKind, Passthrough, ProviderConfig, ProviderEntry, ProviderKind,
    passthrough::Rule, path::Path, problem::Findings, suggest::did_you_mean,
};
use http::HeaderName;
use std::{collections::BTreeSet, net::IpAddr, sync::Arc};
use trestle_dialect::{Dialect, Quirks};
use trestle_provider::{Origin, Proxy, Row, listed, provider};

/// Most rules of one provider: each call is held against all.
const RULES_MAX: usize = 256;

/// A provider of the document, and what it is compiled with.
pub(super) struct Draft<'a> {
    pub(super) name: &'a str,
    pub(super) entry: &'a ProviderEntry,
    pub(super) defaults: &'a Defaults,
    pub(super) names: &'a Names<'a>,
    pub(super) secrets: &'a dyn Secrets,
}

impl Draft<'_> {
    pub(super) fn compile(&self, path: &Path<'_>, findings: &mut Findings) -> Option<ProviderConfig> {
        let entry = self.entry;
        let before = findings.problems.len();
        check_name(self.name, path, findings);
        if self.name.contains(['/', '*']) {
            findings.problem(path, "must not have `/` or `*` in its name");
        }
        if entry.mock.is_some() {
            findings.problem(&path.member("mock"), "is only for the provider `mock`; remove it");
        }
        for (index, model) in entry.models.iter().enumerate() {
            check_name(model, &path.member("models").item(index), findings);
        }
        let passthrough = passthrough(&entry.passthrough, &path.member("passthrough"), findings);
        let limits = times::provider(entry, self.defaults, path, findings);
        let uses = uses(self.name, entry, self.names, path, findings);
        let row = self.row(path, findings)?;
        let vendor = provider(row.clone()).map_err(|problems| report(&problems, path, findings)).ok()?;
        let (provider, secrets) = (self.name, self.secrets);
        let way = self.proxy(vendor.origin(), path, findings);
        let proxy = way.as_ref().ok().and_then(Option::as_ref);
        let keys = Keys { provider, entry, row: &row, vendor: vendor.as_ref(), secrets, proxy };
        let mut credentials = keys.compile(path, findings);
        if way.is_err() {
            // Nothing goes past a proxy that is meant and not known.
            credentials.clear();
        }
        let tls_ca = self.tls_ca(vendor.origin(), path, findings);
        if vendor.origin().tls && entry.http2.is_some() {
            let message =
                "has no use, for `base_url` is `https://`, where the version is negotiated; remove it";
            findings.problem(&path.member("http2"), message);
        }
        if findings.problems.len() > before {
            return None;
        }
        let names: BTreeSet<_> = row.forward_headers.iter().map(|name| name.to_ascii_lowercase()).collect();
        Some(ProviderConfig {
            name: self.name.into(),
            vendor: entry.like.as_deref().unwrap_or(self.name).into(),
            dialects: row.dialects.clone(),
            keys_missing: credentials.is_empty(),
            credentials,
            forward_headers: names.iter().filter_map(|name| HeaderName::try_from(name).ok()).collect(),
            params: row.body.iter().map(|(name, value)| target::param(name, value)).collect(),
            quirks: row.quirks,
            passthrough,
            models: entry.models.iter().map(|model| model.as_str().into()).collect(),
            concurrency: limits.concurrency,
            queue: limits.queue,
            times: limits.times,
            retries: limits.retries,
            limits: uses,
            tls_ca,
            tls_server_name: entry.tls.server_name.as_deref().map(Into::into),
            proxy: way.ok().flatten().map(Arc::new),
            http2_prior_knowledge: entry.http2 == Some(true) && !vendor.origin().tls,
            private_addresses: entry
                .private_addresses
                .unwrap_or_else(|| entry.base_url.is_some() || is_local(vendor.origin())),
            kind: ProviderKind::Remote(vendor),
        })
    }

    /// The listed row, if there is one, with what the document says over it.
    fn row(&self, path: &Path<'_>, findings: &mut Findings) -> Option<Row> {
        let entry = self.entry;
        let names = || listed().keys().map(String::as_str);
        let base = match &entry.like {
            Some(like) => {
                let row = listed().get(like);
                if row.is_none() {
                    let meant = did_you_mean(like, names());
                    findings.problem(&path.member("like"), format!("`{like}` is not a listed vendor{meant}"));
                    return None;
                }
                row
            }
            None => listed().get(self.name),
        };
        if base.is_none() {
            let meant = did_you_mean(self.name, names());
            let name = self.name;
            if entry.base_url.is_none() {
                findings.problem(
                    &path.member("base_url"),
                    format!("is missing, and `{name}` is not a listed vendor{meant} (or set `like`)"),
                );
            }
            if entry.dialects.is_none() {
                let message = "is missing; write `dialects: [openai-chat]`, or set `like` to a listed vendor";
                findings.problem(&path.member("dialects"), message);
            }
        }
        let mut row = match (base, &entry.base_url, &entry.dialects) {
            (Some(row), _, _) => row.clone(),
            (None, Some(base_url), Some(dialects)) => Row::new(base_url.clone(), dialects.clone()),
            _ => return None,
        };
        let declared: Vec<_> = row.variables.keys().cloned().collect();
        self.overlay(&mut row);
        let idle = |name: &&String| !declared.contains(name) && !row.uses(name);
        for name in entry.variables.keys().filter(idle) {
            let known: Vec<_> = declared.iter().map(String::as_str).collect();
            let meant = did_you_mean(name, known.iter().copied());
            let message = format!("stands nowhere in `base_url` or `endpoints`; remove it{meant}");
            findings.problem(&path.member("variables").member(name), message);
        }
        Some(row)
    }

    fn overlay(&self, row: &mut Row) {
        let entry = self.entry;
        row.base_url = entry.base_url.clone().unwrap_or_else(|| row.base_url.clone());
        row.dialects = entry.dialects.clone().unwrap_or_else(|| row.dialects.clone());
        row.auth = entry.auth.clone().unwrap_or_else(|| row.auth.clone());
        row.quirks = entry.quirks.clone().unwrap_or_else(|| row.quirks.clone());
        row.endpoints.0.extend(entry.endpoints.clone().unwrap_or_default().0);
        row.variables.extend(entry.variables.clone());
        // Header names are the same in any case, so the row's own gives way to one that is written otherwise.
        row.headers.retain(|name, _| !entry.headers.keys().any(|own| own.eq_ignore_ascii_case(name)));
        row.headers.extend(entry.headers.clone());
        row.forward_headers.extend(entry.forward_headers.iter().cloned());
    }

    /// The proxy, if there is one; an error if it is not known.
    fn proxy(&self, origin: &Origin, path: &Path<'_>, findings: &mut Findings) -> Result<Option<Proxy>, ()> {
        let Some(value) = &self.entry.proxy else { return Ok(None) };
        if self.entry.http2 == Some(true) && !origin.tls {
            findings.problem(&path.member("http2"), "cannot be had through a proxy without TLS; remove one");
        }
        let path = path.member("proxy");
        let source = Source::of(&value.0).map_err(|why| findings.problem(&path, why))?;
        let url = source.read(self.secrets);
        let left_out = |why: &str| format!("{why}; this provider is left out");
        let url = url.map_err(|why| findings.warning(&path, left_out(&why)))?;
        let parsed = Proxy::parse(&url).map(Some);
        parsed.map_err(|why| match source.is_literal() {
            true => findings.problem(&path, why),
            false => findings.warning(&path, left_out(why)),
        })
    }

    fn tls_ca(&self, origin: &Origin, path: &Path<'_>, findings: &mut Findings) -> Option<Arc<str>> {
        let (tls, path) = (&self.entry.tls, path.member("tls"));
        let through_tls = self.entry.proxy.as_ref().is_some_and(|proxy| !proxy.0.starts_with("http://"));
        if !origin.tls && ((tls.ca.is_some() && !through_tls) || tls.server_name.is_some()) {
            findings.problem(&path, "has no use, for `base_url` is `http://`; remove it or write `https://`");
        }
        let is_host = |name: &String| {
            let fine = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
            (!name.is_empty() && name.bytes().all(fine)) || name.parse::<IpAddr>().is_ok()
        };
        if tls.server_name.as_ref().is_some_and(|name| !is_host(name)) {
            findings
                .problem(&path.member("server_name"), "must be a host name or an address, without a port");
        }
        let ca = tls.ca.as_ref()?;
        let path = path.member("ca");
        let pem = match Source::of(ca).map(|source| source.read(self.secrets)) {
            Ok(Ok(pem)) => pem,
            Ok(Err(why)) => {
                findings.warning(&path, format!("{why}; only the public authorities are trusted"));
                return None;
            }
            Err(why) => {
                findings.problem(&path, why);
                return None;
            }
        };
        if !pem.contains("-----BEGIN CERTIFICATE-----") {
            findings.problem(&path, "is not a certificate in PEM; write `file:PATH` or `env:NAME` of one");
        }
        Some(pem.into())
    }
}

/// Problems of a row, each `member: what is wrong`, at the provider's path.
fn report(problems: &[String], path: &Path<'_>, findings: &mut Findings) {
    for problem in problems {
        let (member, message) = problem.split_once(": ").unwrap_or(("", problem));
        let (outer, inner) = member.split_once('.').unwrap_or((member, ""));
        let outer = path.member(outer);
        match inner {
            "" => findings.problem(&outer, message),
            inner => findings.problem(&outer.member(inner), message),
        }
    }
}

fn passthrough(rules: &[String], path: &Path<'_>, findings: &mut Findings) -> Passthrough {
    if rules.len() > RULES_MAX {
        findings.problem(path, format!("are more than {RULES_MAX}; use `*` and `**`"));
    }
    let mut read = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        match Rule::parse(rule) {
            Ok(rule) => read.push(rule),
            Err(why) => findings.problem(&path.item(index), why),
        }
    }
    Passthrough::new(read)
}

fn is_local(origin: &Origin) -> bool {
    &*origin.host == "localhost" || origin.host.parse::<IpAddr>().is_ok()
}

/// The built-in mock as the document sets it.
pub(super) fn mock(
    entry: &ProviderEntry,
    (defaults, names): (&Defaults, &Names<'_>),
    path: &Path<'_>,
    findings: &mut Findings,
) -> Option<ProviderConfig> {
    let allowed = ProviderEntry {
        mock: entry.mock.clone(),
        concurrency: entry.concurrency,
        queue: entry.queue,
        timeouts: entry.timeouts.clone(),
        retries: entry.retries.clone(),
        limits: entry.limits.clone(),
        budgets: entry.budgets.clone(),
        ..ProviderEntry::default()
    };
    if *entry != allowed {
        let message = "is built in; only `mock`, `concurrency`, `queue`, `timeouts`, `retries`, `limits` and \
                       `budgets` can be set (give a vendor of your own another name)";
        findings.problem(path, message);
    }
    let settings = entry.mock.clone().unwrap_or_default();
    let inner = path.member("mock");
    if let Some(status) = settings.status {
        within(status.into(), 400..=599, &inner.member("status"), findings);
    }
    if let Some(every) = settings.every {
        within(every.into(), 1..=u32::MAX.into(), &inner.member("every"), findings);
    }
    within(settings.delay_ms, 0..=600_000, &inner.member("delay_ms"), findings);
    within(settings.gap_ms, 0..=600_000, &inner.member("gap_ms"), findings);
    let limits = uses(super::MOCK, entry, names, path, findings);
    Some(ProviderConfig { limits, ..mock_with(settings, times::provider(entry, defaults, path, findings)) })
}

/// The built-in mock.
pub(super) fn mock_with(settings: MockSettings, limits: times::Limits) -> ProviderConfig {
    ProviderConfig {
        name: super::MOCK.into(),
        vendor: super::MOCK.into(),
        kind: ProviderKind::Mock(settings),
        dialects: Dialect::ALL.to_vec(),
        credentials: vec![Arc::new(no_key(super::MOCK))],
        keys_missing: false,
        quirks: Quirks::default(),
        params: Vec::new(),
        forward_headers: Vec::new(),
        passthrough: Passthrough::default(),
        models: vec!["echo".into(), "lorem".into()],
        concurrency: limits.concurrency,
        queue: limits.queue,
        times: limits.times,
        retries: limits.retries,
        limits: Limits::default(),
        tls_ca: None,
        tls_server_name: None,
        proxy: None,
        http2_prior_knowledge: false,
        private_addresses: false,
    }
}

/// What all callers together may use of it.
fn uses(
    name: &str,
    entry: &ProviderEntry,
    names: &Names<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Limits {
    let owner = Owner { kind: OwnerKind::Provider, name: name.into() };
    let written = Written { limits: &entry.limits, budgets: &entry.budgets };
    limit::compile(&owner, written, names, path, findings)
}
