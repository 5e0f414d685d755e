//! The two seams of OpenAI Responses, each call one function of its file.

use super::{echo, edit, error, events, request, response, usage};
use crate::{
    DecodeEvents, Edits, EncodeEvents, Encoded, Envelope, Failure, Fault, Glance, Inbound, Look, Outbound,
    Refusal, StreamContext, Target, fault, frame,
    ir::{self, Features},
    json::Raw,
};
use bytes::Bytes;

/// The codec.
pub(crate) struct OpenAiResponses;

impl Inbound for OpenAiResponses {
    fn decode_request(&self, envelope: &Envelope) -> Result<ir::Request, Refusal> {
        request::decode(envelope)
    }

    fn wants_usage(&self, _: &Envelope) -> bool {
        true
    }

    fn echo(&self, envelope: &Envelope) -> Option<ir::Json> {
        echo::read(envelope)
    }

    fn encode_response(&self, response: &ir::Response, context: &StreamContext) -> Encoded {
        response::encode(response, context)
    }

    fn encode_events(&self, context: &StreamContext) -> Box<dyn EncodeEvents> {
        Box::new(events::Writer::new(context))
    }

    fn encode_failure(&self, failure: &Failure<'_>) -> Vec<u8> {
        error::encode(failure)
    }

    fn encode_failure_event(&self, failure: &Failure<'_>) -> Vec<u8> {
        error::encode_event(failure)
    }
}

impl Outbound for OpenAiResponses {
    fn lacks_in_translation(&self) -> Features {
        request::LACKS
    }

    fn reads_url(&self, kind: &ir::BlockKind) -> bool {
        matches!(kind, ir::BlockKind::Image(_) | ir::BlockKind::Document(_))
    }

    fn encode_request(&self, request: &ir::Request, target: &Target<'_>) -> Result<Encoded, Refusal> {
        request::encode(request, target)
    }

    fn edit_request(
        &self,
        envelope: &Envelope,
        target: &Target<'_>,
    ) -> Result<(Edits, Vec<String>), Refusal> {
        Ok(edit::edit(envelope, target))
    }

    fn decode_response(&self, body: &Bytes) -> Result<ir::Response, String> {
        response::decode(body)
    }

    fn decode_events(&self) -> Box<dyn DecodeEvents> {
        Box::new(events::Reader::default())
    }

    fn decode_fault(&self, status: u16, body: &Bytes) -> Fault {
        fault::decode(status, body)
    }

    fn glance(&self, event: &frame::Event<'_>, look: Look) -> Glance {
        events::glance(event, look)
    }

    fn usage_member(&self) -> &'static str {
        "usage"
    }

    fn usage(&self, member: Raw<'_>) -> Option<ir::Usage> {
        usage::decode(member)
    }
}
