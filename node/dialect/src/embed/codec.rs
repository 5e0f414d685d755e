//! The seam: what a form must do towards clients and towards providers.

use super::{Api, Form, Request, Response, cohere, gemini, nova, openai, titan};
use crate::{Edits, Encoded, Envelope, Refusal, StreamContext, Target, edit, ir::Usage, json::Raw, usage};
use bytes::Bytes;

/// A form of bodies, both sides of it.
pub trait Embeds: Send + Sync {
    /// Reads a client's request. Errors name the member at fault.
    fn decode_request(&self, body: &Envelope) -> Result<Request, Refusal>;

    /// Writes a request for the target (quirks and `params` applied); names in `dropped` what cannot be expressed.
    /// Refuses what would give other vectors than those that were asked for.
    fn encode_request(&self, request: &Request, target: &Target<'_>) -> Result<Encoded, Refusal>;

    /// How many inputs one call takes.
    fn inputs_max(&self) -> usize;

    /// Reads a provider's answer. The error says what makes no sense.
    fn decode_response(&self, body: &Bytes) -> Result<Response, String>;

    /// Writes an answer to the request; names in `dropped` what cannot be expressed. The error says what the provider
    /// did not give.
    fn encode_response(
        &self,
        request: &Request,
        response: &Response,
        context: &StreamContext,
    ) -> Result<Encoded, String>;

    /// The member of an answer that holds its usage.
    fn usage_member(&self) -> &'static str;

    /// Reads that member, for the meter; `None` where it says nothing.
    fn usage(&self, member: Raw<'_>) -> Option<Usage>;

    /// Usage in the last bytes of an answer that was too large to be read whole.
    fn usage_in_tail(&self, tail: &[u8]) -> Option<Usage> {
        usage::find(tail, self.usage_member(), |member| self.usage(member))
    }
}

/// The codec of a form.
pub fn codec(form: Form) -> &'static dyn Embeds {
    match form {
        Form::OpenAi => &openai::OpenAi,
        Form::GeminiBatch => &gemini::GeminiBatch,
        Form::Gemini => &gemini::Gemini,
        Form::Cohere => &cohere::Cohere::Own,
        Form::CohereOnBedrock => &cohere::Cohere::OnBedrock,
        Form::Titan => &titan::Titan,
        Form::Nova => &nova::Nova,
    }
}

/// The edits that a request needs to stay in its form: the model, and the target's parameters. `None` where it must
/// be written anew, because parameters belong into each request of a batch.
pub fn edit(form: Form, body: &Envelope, target: &Target<'_>) -> Option<Edits> {
    if form == Form::GeminiBatch && !target.params.is_empty() {
        return None;
    }
    let mut edits = Edits::default();
    match form.api() {
        Api::OpenAi | Api::Cohere => edits.set(body, "model", edit::string(target.model)),
        Api::Gemini | Api::GeminiBatch => gemini::rename(body, target.model, &mut edits),
        Api::Bedrock => {}
    }
    edits.remove(body, "fallbacks");
    for (name, value) in target.params {
        edits.set(body, name, value.clone());
    }
    Some(edits)
}
