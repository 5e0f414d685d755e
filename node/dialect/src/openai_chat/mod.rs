//! OpenAI Chat Completions.

use crate::{
    DecodeEvents, Edits, EncodeEvents, Encoded, Envelope, Failure, Fault, Glance, Inbound, Look, Outbound,
    Refusal, StreamContext, Target, ir, sse,
};
use bytes::Bytes;

/// The codec.
pub(crate) struct OpenAiChat;

#[allow(unused_variables, clippy::unimplemented)]
impl Inbound for OpenAiChat {
    fn decode_request(&self, envelope: &Envelope) -> Result<ir::Request, Refusal> {
        unimplemented!()
    }
    fn wants_usage(&self, envelope: &Envelope) -> bool {
        unimplemented!()
    }
    fn encode_response(&self, response: &ir::Response, context: &StreamContext) -> Encoded {
        unimplemented!()
    }
    fn encode_events(&self, context: &StreamContext) -> Box<dyn EncodeEvents> {
        unimplemented!()
    }
    fn encode_failure(&self, failure: &Failure<'_>) -> Vec<u8> {
        unimplemented!()
    }
    fn encode_failure_event(&self, failure: &Failure<'_>) -> Vec<u8> {
        unimplemented!()
    }
}

#[allow(unused_variables, clippy::unimplemented)]
impl Outbound for OpenAiChat {
    fn encode_request(&self, request: &ir::Request, target: &Target<'_>) -> Result<Encoded, Refusal> {
        unimplemented!()
    }
    fn edit_request(
        &self,
        envelope: &Envelope,
        target: &Target<'_>,
    ) -> Result<(Edits, Vec<String>), Refusal> {
        unimplemented!()
    }
    fn decode_response(&self, body: &Bytes) -> Result<ir::Response, String> {
        unimplemented!()
    }
    fn decode_events(&self) -> Box<dyn DecodeEvents> {
        unimplemented!()
    }
    fn decode_fault(&self, status: u16, body: &Bytes) -> Fault {
        unimplemented!()
    }
    fn glance(&self, event: &sse::Event<'_>, look: Look) -> Glance {
        unimplemented!()
    }
    fn usage(&self, body: &[u8]) -> Option<ir::Usage> {
        unimplemented!()
    }
}
