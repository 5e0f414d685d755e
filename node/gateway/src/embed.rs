//! Embeddings: which endpoint of a provider is asked, in which form, and in how many calls.

use crate::{
    attempt::{Target, Walk},
    cause::{Failed, Next},
    pick::Picked,
    prepare::{Prepared, strictly},
    receive::Ask,
    take::{Won, joined},
    upstream::Outgoing,
};
use smallvec::smallvec;
use trestle_config::{ProviderKind, TargetConfig};
use trestle_dialect::{
    self as dialect, Refusal,
    embed::{self, Api, Form, Request, Response},
    ir::Usage,
};
use trestle_provider::Operation;
use trestle_store::OutcomeKind;

/// Where a call takes fewer inputs than a request has, so many calls are made for it, one after the other.
const CALLS_MAX: usize = 128;

/// The forms on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Embeds {
    /// The client's.
    pub(crate) ours: Form,
    /// The provider's.
    pub(crate) theirs: Form,
    /// Whether the body was written anew.
    pub(crate) translated: bool,
}

/// Writes what is sent to a target: the client's bytes but for the model where it takes their form, else a
/// translation, in as many bodies as calls are needed.
pub(crate) fn prepare(
    ask: &Ask,
    ours: Form,
    target: &TargetConfig,
    wire: &dialect::Target<'_>,
) -> Result<Prepared, Failed> {
    let theirs = choose(ask, ours, target)?;
    let operation = Operation::embed(theirs.api());
    let dialect = theirs.api().dialect();
    let edits = (ours == theirs).then(|| embed::edit(theirs, &ask.envelope, wire)).flatten();
    let embeds = Some(Embeds { ours, theirs, translated: edits.is_none() });
    if let Some(edits) = edits {
        let (body, more) = (Outgoing::new(edits.apply(&ask.envelope)), Vec::new());
        return Ok(Prepared { body, more, operation, embeds, dialect, pinned: None, dropped: Vec::new() });
    }
    let request = ask.embed(ours).map_err(Failed::unreadable)?;
    let (mut bodies, mut dropped) = (Vec::new(), Vec::new());
    for part in parts(request, theirs, target)? {
        let encoded = embed::codec(theirs).encode_request(&part, wire).map_err(Failed::unfit)?;
        bodies.push(Outgoing::new(smallvec![encoded.body.into()]));
        dropped.extend(encoded.dropped);
        dropped.sort_unstable();
        dropped.dedup();
    }
    if ask.strict && !dropped.is_empty() {
        return Err(strictly(target, &dropped));
    }
    let body = bodies.remove(0);
    Ok(Prepared { body, more: bodies, operation, embeds, dialect, pinned: None, dropped })
}

/// The form in which a target is asked: the client's own if it has that endpoint, else that of its best dialect.
fn choose(ask: &Ask, ours: Form, target: &TargetConfig) -> Result<Form, Failed> {
    let provider = &target.provider;
    let place = |api: &Api| {
        let spoken = provider.dialects.iter().position(|dialect| *dialect == api.dialect());
        (*api != ours.api(), spoken.unwrap_or(usize::MAX))
    };
    let mut apis = Api::ALL;
    apis.sort_by_key(place);
    let offered = match &provider.kind {
        ProviderKind::Remote(remote) => {
            apis.into_iter().find(|api| remote.endpoint(Operation::embed(*api), &target.model).is_some())
        }
        ProviderKind::Mock(_) => None,
    };
    let Some(api) = offered else {
        let message = format!("the provider {} does not offer {}", provider.name, ask.endpoint.name());
        return Err(Failed::new("unsupported", Next::Onward, message));
    };
    // Where the name of a model does not tell, a client that names it may know.
    let form = api.form_for(&target.model).or(Some(ours).filter(|ours| ours.api() == api));
    form.ok_or_else(|| {
        let message = format!(
            "the name of {} does not tell which model for embeddings it is, if it is one",
            target.name
        );
        Failed::new("unsupported", Next::Onward, message)
    })
}

/// One request for each call.
fn parts(request: &Request, theirs: Form, target: &TargetConfig) -> Result<Vec<Request>, Failed> {
    let max = embed::codec(theirs).inputs_max();
    let count = request.inputs.len();
    if count.div_ceil(max) > CALLS_MAX {
        let what = format!(
            "{} takes {max} inputs a call, and {count} of them would take too many calls",
            target.name
        );
        return Err(Failed::unfit(Refusal::invalid(request.inputs_member(), what)));
    }
    // A codec says what is wrong with a request without inputs.
    Ok(if count <= max { vec![request.clone()] } else { request.split(max).collect() })
}

impl Walk<'_> {
    /// All calls of an attempt that is translated, to the answer for the client.
    pub(crate) async fn embed(
        &mut self,
        target: &Target<'_>,
        picked: &Picked,
        (ours, theirs): (Form, Form),
    ) -> Result<Won, Failed> {
        let request = self.ask.embed(ours).map_err(Failed::unreadable)?;
        let codec = embed::codec(theirs);
        let mut whole: Option<Response> = None;
        // What was read of the answers lies in them until the client's is written.
        let mut held = Vec::new();
        let (prepared, mut left) = (&target.prepared, request.inputs.len());
        for body in prepared.calls() {
            let (head, mut incoming) = self.reach(target, picked, body).await?;
            let (parts, complete, share) =
                self.collect(&mut incoming, self.settings.body_bytes_max as usize).await?;
            held.push(share);
            if !complete {
                return Err(Failed::malformed("the provider's answer is too large to be translated"));
            }
            let mut response = codec.decode_response(&joined(parts)).map_err(Failed::malformed)?;
            let told = head.input_tokens.map(|input| Usage { input, ..Usage::default() });
            response.usage = response.usage.or(told);
            if let Some(usage) = response.usage {
                self.flight.call_usage(usage);
            }
            let inputs = left.min(codec.inputs_max());
            left -= inputs;
            if !response.has(inputs) {
                return Err(Failed::malformed("the provider did not answer with a vector for each input"));
            }
            match &mut whole {
                Some(whole) => whole.append(response),
                None => whole = Some(response),
            }
        }
        let response = whole.unwrap_or_default();
        // Each call has told its own part.
        self.flight.end_call(OutcomeKind::Ok, None);
        if let Some(usage) = response.usage {
            self.flight.usage(usage);
        }
        let context = self.context();
        let encoded = embed::codec(ours).encode_response(request, &response, &context);
        let encoded = encoded.map_err(Failed::malformed)?;
        Ok(Won::Whole(encoded.body.into(), encoded.dropped))
    }
}
