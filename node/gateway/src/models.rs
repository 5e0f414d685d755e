//! `GET /v1/models`: what the caller may ask for.

use crate::{Answer, answer, flight::Flight, headers::Headers, record::Outcome};
use http::Response;
use std::collections::BTreeSet;
use trestle_config::{Caller, ProviderConfig, ProviderKind, ResolvedTarget, Snapshot, TargetConfig};
use trestle_dialect::{Dialect, ListedModel, Refusal, RefusalKind, model_info, model_list};

/// The names of the document, those that its providers list, and where one lists none those that the catalog knows of
/// its vendor; as far as the caller may use them, in the shape that its SDK expects.
pub(crate) fn list(mut flight: Box<Flight>, snapshot: &Snapshot, headers: &Headers) -> Response<Answer> {
    let caller = flight.record.caller.clone();
    let caller = caller.as_deref();
    let mut models = BTreeSet::new();
    for group in snapshot.groups.values() {
        if group.targets.iter().any(|target| may(caller, Some(&group.name), &target.name)) {
            models.insert(of_group(&group.name, &group.targets));
        }
    }
    for provider in snapshot.providers.values() {
        for model in names(snapshot, provider) {
            let id = format!("{}/{model}", provider.name);
            if may(caller, None, &id) {
                let known = snapshot.catalog.find(&provider.vendor, model);
                let (context_max, output_max) =
                    known.map_or((None, None), |known| (known.context_max, known.output_max));
                models.insert(ListedModel { id, owner: provider.name.to_string(), context_max, output_max });
            }
        }
    }
    let models: Vec<_> = models.into_iter().collect();
    let body = model_list(dialect(&flight, headers), &models);
    succeed(&mut flight);
    answer::full(flight, body.into(), &[])
}

/// One model, if there is such a name and the caller may use it.
pub(crate) fn one(
    mut flight: Box<Flight>,
    snapshot: &Snapshot,
    headers: &Headers,
    name: &str,
) -> Response<Answer> {
    let caller = flight.record.caller.clone();
    let caller = caller.as_deref();
    let found = match snapshot.resolve(name) {
        Some(ResolvedTarget::Target(target)) if may(caller, None, &target.name) => {
            Some(of_target(name, &target))
        }
        Some(ResolvedTarget::Group(group)) => {
            let allowed = group.targets.iter().any(|target| may(caller, Some(&group.name), &target.name));
            allowed.then(|| of_group(name, &group.targets))
        }
        _ => None,
    };
    let Some(model) = found else {
        let shown: String = name.chars().take(128).collect();
        let message = format!("there is no model `{shown}` here that this key may use");
        return answer::refusal(flight, &Refusal::new(RefusalKind::NotFound, message));
    };
    let body = model_info(dialect(&flight, headers), &model);
    succeed(&mut flight);
    answer::full(flight, body.into(), &[])
}

fn may(caller: Option<&Caller>, group: Option<&str>, target: &str) -> bool {
    caller.is_none_or(|caller| caller.grants.allow(group, target))
}

fn succeed(flight: &mut Flight) {
    flight.record.status = 200;
    flight.record.outcome = Outcome::Ok;
}

/// One path serves several vendors: a header of theirs tells whose SDK asks.
fn dialect(flight: &Flight, headers: &Headers) -> Dialect {
    match flight.record.endpoint.dialect() {
        Dialect::OpenAiChat if headers.get("anthropic-version").is_some() => Dialect::AnthropicMessages,
        Dialect::OpenAiChat if headers.get("x-goog-api-key").is_some() => Dialect::Gemini,
        own => own,
    }
}

fn names<'s>(snapshot: &'s Snapshot, provider: &'s ProviderConfig) -> Vec<&'s str> {
    if matches!(provider.kind, ProviderKind::Mock(_)) || !provider.models.is_empty() {
        return provider.models.iter().map(|model| &**model).collect();
    }
    snapshot.catalog.names(&provider.vendor).into_iter().collect()
}

fn of_target(id: &str, target: &TargetConfig) -> ListedModel {
    let known = target.known.as_deref();
    ListedModel {
        id: id.to_owned(),
        owner: target.provider.name.to_string(),
        context_max: known.and_then(|known| known.context_max),
        output_max: known.and_then(|known| known.output_max),
    }
}

/// What all targets of a group can.
fn of_group(id: &str, targets: &[std::sync::Arc<TargetConfig>]) -> ListedModel {
    let least = |most: fn(&trestle_catalog::Model) -> Option<u64>| {
        let all: Option<Vec<_>> =
            targets.iter().map(|target| target.known.as_deref().and_then(most)).collect();
        all.and_then(|all| all.into_iter().min())
    };
    ListedModel {
        id: id.to_owned(),
        owner: "trestle".to_owned(),
        context_max: least(|known| known.context_max),
        output_max: least(|known| known.output_max),
    }
}
