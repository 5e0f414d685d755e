//! `GET /v1/models`: what the caller may ask for.

use crate::{Answer, answer, flight::Flight, headers::Headers, record::Outcome};
use http::Response;
use std::collections::BTreeSet;
use trestle_config::{ProviderKind, Snapshot};
use trestle_dialect::{Dialect, model_list};

/// The names of the document (and the mock's) that the caller may use, in the shape that its SDK expects.
pub(crate) fn list(mut flight: Flight, snapshot: &Snapshot, headers: &Headers) -> Response<Answer> {
    let caller = flight.record.caller.clone();
    let may =
        |group: Option<&str>, target: &str| caller.as_ref().is_none_or(|c| c.grants.allow(group, target));
    let mut names = BTreeSet::new();
    for (name, group) in snapshot.groups.iter() {
        if group.targets.iter().any(|target| may(Some(name), &target.name)) {
            names.insert((name.to_string(), "trestle".to_owned()));
        }
    }
    for (name, provider) in snapshot.providers.iter() {
        let built_in: &[&str] =
            if matches!(provider.kind, ProviderKind::Mock(_)) { &["echo", "lorem"] } else { &[] };
        for model in provider.models.iter().map(|model| &**model).chain(built_in.iter().copied()) {
            let id = format!("{name}/{model}");
            if may(None, &id) {
                names.insert((id, name.to_string()));
            }
        }
    }
    let dialect = match flight.record.endpoint.dialect() {
        // One path for several vendors: a header of theirs tells which SDK asks.
        Dialect::OpenAiChat if headers.get("anthropic-version").is_some() => Dialect::AnthropicMessages,
        Dialect::OpenAiChat if headers.get("x-goog-api-key").is_some() => Dialect::Gemini,
        own => own,
    };
    flight.record.status = 200;
    flight.record.outcome = Outcome::Ok;
    let names: Vec<_> = names.into_iter().collect();
    answer::full(flight, model_list(dialect, &names).into(), &[])
}
