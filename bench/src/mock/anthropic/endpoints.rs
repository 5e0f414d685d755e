//! Answers a messages request (parse, check, compose, write) and lists models.

use http::HeaderMap;
use serde_json::Value;

use super::super::behaviour::Behaviour;
use super::super::compose::compose;
use super::super::vendor::{Reply, VendorError, quoted};
use super::{answer, ask, check};

/// `POST /v1/messages`.
pub(crate) fn messages(
    body: &[u8],
    headers: &HeaderMap,
    behaviour: &Behaviour,
) -> Result<Reply, VendorError> {
    if !headers.contains_key("anthropic-version") {
        return Err(VendorError::invalid("anthropic-version: header is required"));
    }
    let body: Value = serde_json::from_slice(body)
        .map_err(|error| VendorError::invalid(format!("The request body is not valid JSON: {error}")))?;
    let beta = headers.contains_key("anthropic-beta");
    check::request(&body, if beta { check::BETA_MEMBERS } else { &[] })?;
    let ask = ask::read(&body);
    let answer = compose(&ask, behaviour);
    Ok(if ask.stream {
        Reply::Stream(answer::events(&answer, &ask.model, behaviour))
    } else {
        answer::whole(&answer, &ask.model, behaviour)
    })
}

/// `POST /v1/messages/count_tokens`.
pub(crate) fn count_tokens(body: &[u8]) -> Result<Reply, VendorError> {
    let body: Value = serde_json::from_slice(body)
        .map_err(|error| VendorError::invalid(format!("The request body is not valid JSON: {error}")))?;
    for name in ["max_tokens", "stream"] {
        if body.get(name).is_some() {
            return Err(VendorError::invalid(format!("{name}: Extra inputs are not permitted")));
        }
    }
    Ok(Reply::Whole(format!(r#"{{"input_tokens":{}}}"#, ask::read(&body).input_tokens)))
}

/// `GET /v1/models`, as Anthropic lists them.
pub(crate) fn models() -> String {
    let id = quoted("claude-sonnet-4-5");
    format!(r#"{{"data":[{}],"has_more":false,"first_id":{id},"last_id":{id}}}"#, model("claude-sonnet-4-5"))
}

/// `GET /v1/models/{id}`.
pub(crate) fn model(id: &str) -> String {
    let id = quoted(id);
    format!(r#"{{"type":"model","id":{id},"display_name":{id},"created_at":"2025-09-29T00:00:00Z"}}"#)
}
