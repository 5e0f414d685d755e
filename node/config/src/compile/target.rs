//! One target: a provider, a model, and what is set for it.

use super::{Providers, times};
use crate::{
    ProviderConfig, TargetConfig, TargetEntry,
    path::Path,
    problem::Findings,
    resolve::split_target,
    snapshot::Listed,
    suggest::{did_you_mean, list},
};
use std::{collections::BTreeMap, sync::Arc};
use trestle_catalog::Catalog;
use trestle_dialect::ir::Json;
use trestle_provider::listed;

/// Members of a body that are not for a target to set: they say what is asked, or how it is answered.
const PARAMS_REFUSED: [&str; 5] = ["fallbacks", "messages", "model", "stream", "stream_options"];

/// The provider and the model that a name means. `None` after a problem, or if the provider did not compile.
pub(super) fn find<'a>(
    name: &'a str,
    providers: &Providers<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Option<(Arc<ProviderConfig>, &'a str)> {
    let Some((provider, model)) = split_target(name) else {
        let known = list(providers.keys().copied());
        findings.problem(
            path,
            format!("`{name}` names no provider; write `provider/model`, with one of {known}"),
        );
        return None;
    };
    match providers.get(provider) {
        Some(found) => Some((Arc::clone(found.as_ref()?), model)),
        None => {
            let mend = if listed().contains_key(provider) {
                "; add it there (it is a listed vendor, so its keys are enough)".to_owned()
            } else {
                did_you_mean(provider, providers.keys().copied())
            };
            findings.problem(path, format!("`{provider}` is not in `providers`{mend}"));
            None
        }
    }
}

/// A target with its settings; `path` is the entry's.
pub(super) fn compile(
    entry: &TargetEntry,
    (providers, catalog): (&Providers<'_>, &Catalog),
    path: &Path<'_>,
    findings: &mut Findings,
) -> Option<Arc<TargetConfig>> {
    let params = params(&entry.params, &path.member("params"), findings);
    let found = find(&entry.model, providers, &path.member("model"), findings);
    // Settings are checked against the widest defaults where there is no provider.
    let (wider_times, wider_retries) =
        found.as_ref().map_or((crate::TimeLimits::DEFAULT, crate::RetryPolicy::DEFAULT), |(provider, _)| {
            (provider.times, provider.retries)
        });
    let times = times::times(&entry.timeouts, wider_times, path, findings);
    let retries = times::retries(&entry.retries, wider_retries, path, findings);
    let (provider, model) = found?;
    let mut plain = TargetConfig::plain(&provider, model, catalog, Listed::Yes);
    plain.params.retain(|(name, _)| !entry.params.contains_key(name));
    plain.params.extend(params);
    Some(Arc::new(TargetConfig { weight: entry.weight, times, retries, ..plain }))
}

fn params(
    entry: &BTreeMap<String, serde_json::Value>,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Vec<(String, Json)> {
    let mut made = Vec::new();
    for (name, value) in entry {
        if PARAMS_REFUSED.contains(&name.as_str()) {
            findings.problem(&path.member(name), "cannot be set for a target; remove it");
        }
        made.push(param(name, value));
    }
    made
}

/// A member of a body.
pub(super) fn param(name: &str, value: &serde_json::Value) -> (String, Json) {
    (name.to_owned(), Json::from_valid(value.to_string().into_bytes().into()))
}
