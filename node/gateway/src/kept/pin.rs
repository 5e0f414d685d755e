//! Requests that go on with what one provider keeps: only the route that keeps it can serve them. No other target is
//! tried, for that would lose the context in silence.

use super::Ids;
use crate::{Endpoint, receive::Ask};
use std::sync::Arc;
use trestle_config::{Caller, Credential, ProviderConfig, ProviderKind, ResolvedTarget, Snapshot};
use trestle_dialect::{
    Dialect, Envelope, Refusal, RefusalKind, Stored, Word,
    stored::{Continued, PREVIOUS, continued, with_files},
};
use trestle_provider::Operation;

/// The only route that can serve a request.
#[derive(Debug, Clone)]
pub(crate) struct Pin {
    /// What is kept there.
    pub(crate) stored: Stored,
    /// The provider.
    pub(crate) provider: Arc<ProviderConfig>,
    /// Its key; `None` where any will do.
    pub(crate) credential: Option<Arc<Credential>>,
    /// The id as the vendor knows it; empty where there is none.
    pub(crate) theirs: String,
    /// The id as the client knows it.
    pub(crate) ours: String,
}

/// Finds the route that keeps what the request refers to, if it refers to something.
pub(crate) fn pin(snapshot: &Snapshot, caller: Option<&Caller>, ask: &mut Ask) -> Result<(), Refusal> {
    continued_answer(snapshot, caller, ask)?;
    named_files(snapshot, caller, ask)
}

/// Files that were uploaded here: the request names them by the vendor's own ids from here on.
fn named_files(snapshot: &Snapshot, caller: Option<&Caller>, ask: &mut Ask) -> Result<(), Refusal> {
    let openai = matches!(
        ask.endpoint,
        Endpoint::Generate(Dialect::OpenAiChat | Dialect::OpenAiResponses)
            | Endpoint::Pass(Operation::ResponseTokens)
    );
    if !openai || snapshot.derived.is_none() || !ask.envelope.may_have(Word::FileId) {
        return Ok(());
    }
    let (mut ids, mut pins) = (ask.ids.clone(), Vec::new());
    let body = with_files(ask.envelope.body(), &mut |id| {
        let ids = match &ids {
            Some(ids) => ids,
            None => ids.insert(Arc::new(Ids::of(snapshot, caller)?)),
        };
        let find = |stored| ids.find(snapshot, stored, id);
        let pin = find(Stored::File).or_else(|| find(Stored::Input))?;
        pins.push(pin.clone());
        Some(pin.theirs)
    });
    let Some(body) = body else { return Ok(()) };
    let route = |pin: &Pin| (pin.provider.name.clone(), pin.credential.as_ref().map(|key| key.name.clone()));
    let mut all = ask.pin.iter().chain(&pins).map(route);
    let first = all.next();
    if all.any(|other| Some(other) != first) {
        let message = "what the request refers to lies with different providers or keys, and no one of them has it all: \
                       send the files again, all to one provider (`x-trestle-provider`), or send their content";
        return Err(Refusal::invalid("file_id", message));
    }
    drop(all);
    ask.envelope = Envelope::parse(body).map_err(|error| {
        Refusal::new(RefusalKind::InvalidRequest, format!("the body is not acceptable: {error}"))
    })?;
    ask.pin = ask.pin.take().or(pins.into_iter().next());
    Ok(())
}

/// Finds the route that keeps the answer that the request goes on with, if it goes on with one.
fn continued_answer(snapshot: &Snapshot, caller: Option<&Caller>, ask: &mut Ask) -> Result<(), Refusal> {
    if !matches!(
        ask.endpoint,
        Endpoint::Generate(Dialect::OpenAiResponses) | Endpoint::Pass(Operation::ResponseTokens)
    ) {
        return Ok(());
    }
    let Continued { response, conversation } = continued(&ask.envelope);
    // Other dialects refuse both in their own words.
    if (response.is_none() && !conversation) || !is_kept_somewhere(snapshot, &ask.model) {
        return Ok(());
    }
    ask.ids = Ids::of(snapshot, caller).map(Arc::new);
    // Ids of conversations are not sealed: they do not come from here.
    if conversation {
        sole_route(snapshot)
            .ok_or_else(|| ambiguous("conversation", "ids of conversations do not say it"))?;
    }
    match (response, &ask.ids) {
        (Some(id), Some(ids)) => {
            let pin = ids.find(snapshot, Stored::Response, &id).ok_or_else(|| unknown_previous(&id))?;
            ask.pin = Some(pin);
        }
        (Some(_), None) => {
            sole_route(snapshot).ok_or_else(|| ambiguous(PREVIOUS, UNSEALED))?;
        }
        (None, _) => {}
    }
    Ok(())
}

/// The one provider that may have made what is kept, where it has one key.
pub(crate) fn sole_route(snapshot: &Snapshot) -> Option<&Arc<ProviderConfig>> {
    let keeps = |provider: &&Arc<ProviderConfig>| {
        matches!(provider.kind, ProviderKind::Remote(_))
            && provider.dialects.contains(&Dialect::OpenAiResponses)
    };
    let mut all = snapshot.providers.values().filter(keeps);
    all.next().filter(|only| only.credentials.len() == 1 && all.next().is_none())
}

/// Why an id does not tell its route.
pub(crate) const UNSEALED: &str =
    "ids say it only where the gateway has a `key_encryption_key` in its settings";

/// A request that names a provider's own id where not one route alone may have given it.
pub(crate) fn ambiguous(param: &str, why: &str) -> Refusal {
    let message = format!(
        "`{param}`: which provider and key keep it cannot be told, for {why}; send the whole conversation instead"
    );
    Refusal::invalid(param, message)
}

fn unknown_previous(id: &str) -> Refusal {
    let shown: String = id.chars().take(128).collect();
    let message = format!("Previous response with id '{shown}' not found.");
    Refusal { code: Some("previous_response_not_found"), ..Refusal::invalid(PREVIOUS, message) }
}

/// Whether a target of the model speaks the dialect in which answers are kept.
fn is_kept_somewhere(snapshot: &Snapshot, model: &str) -> bool {
    let speaks = |provider: &ProviderConfig| provider.dialects.contains(&Dialect::OpenAiResponses);
    match snapshot.resolve(model) {
        Some(ResolvedTarget::Target(target)) => speaks(&target.provider),
        Some(ResolvedTarget::Group(group)) => {
            group.targets.iter().chain(&group.fallbacks).any(|target| speaks(&target.provider))
        }
        // Told where the model is looked up.
        None => false,
    }
}

/// The model is none of the provider that the request is pinned to.
pub(crate) fn elsewhere(pin: &Pin) -> Refusal {
    let message = format!(
        "the provider `{}` keeps what `{}` names, and `model` is none of its models here: ask for one of them, or \
         send the whole conversation",
        pin.provider.name, pin.ours
    );
    Refusal { param: Some("model".to_owned()), ..Refusal::new(RefusalKind::InvalidRequest, message) }
}
