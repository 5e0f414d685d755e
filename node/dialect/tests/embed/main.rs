//! Embeddings: each form alone, all pairs of them, and what makes no sense.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[path = "../strategies/mod.rs"]
#[allow(dead_code)]
mod strategies;

mod answers;
mod bad_input;
mod bodies;
mod edits;
mod made_up;
mod properties;
mod requests;

use serde_json::Value;
use trestle_dialect::{
    Encoded, Envelope, Quirks, Refusal, StreamContext, Target,
    embed::{Form, Request, Response, codec},
};

/// A model that takes all that its form can say.
fn model(form: Form) -> &'static str {
    match form {
        Form::OpenAi => "text-embedding-3-small",
        Form::Gemini | Form::GeminiBatch => "gemini-embedding-001",
        Form::Cohere => "embed-v4.0",
        Form::CohereOnBedrock => "cohere.embed-v4:0",
        Form::Titan => "amazon.titan-embed-text-v2:0",
        Form::Nova => "amazon.nova-2-multimodal-embeddings-v1:0",
    }
}

fn context() -> StreamContext {
    let (request_id, model) = ("req-1".to_owned(), "chat".to_owned());
    StreamContext { request_id, model, created: 1, include_usage: true }
}

fn try_decode(form: Form, body: &str) -> Result<Request, Refusal> {
    codec(form).decode_request(&Envelope::parse(body.to_owned().into()).unwrap())
}

fn decode(form: Form, body: &Value) -> Request {
    try_decode(form, &body.to_string()).unwrap_or_else(|refusal| panic!("{refusal}: {body}"))
}

fn encode_for(model: &str, form: Form, request: &Request) -> Result<Encoded, Refusal> {
    let quirks = Quirks::default();
    let target = Target { model, quirks: &quirks, params: &[], wants_max_completion_tokens: false };
    codec(form).encode_request(request, &target)
}

fn encode(form: Form, request: &Request) -> Result<Encoded, Refusal> {
    encode_for(model(form), form, request)
}

fn answer(form: Form, body: &Value) -> Response {
    codec(form).decode_response(&body.to_string().into()).unwrap()
}

fn json(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| panic!("not JSON: {}", String::from_utf8_lossy(body)))
}
