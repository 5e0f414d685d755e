//! Answers a chat request: parse, check, compose, write.

use serde_json::Value;

use super::super::behaviour::Behaviour;
use super::super::compose::compose;
use super::super::vendor::{Reply, VendorError};
use super::{answer, ask, check, error, events};

/// `POST /v2/chat`.
pub(crate) fn chat(body: &[u8], behaviour: &Behaviour) -> Result<Reply, VendorError> {
    let body = parse(body)?;
    check::request(&body, behaviour)?;
    let ask = ask::read(&body);
    let answer = compose(&ask, behaviour);
    let shape = answer::Shape::new(&body, &ask, behaviour);
    Ok(if ask.stream {
        Reply::Stream(events::events(&answer, &shape))
    } else {
        Reply::Whole(answer::whole(&answer, &shape))
    })
}

/// Parses a body, which must be an object.
pub(super) fn parse(body: &[u8]) -> Result<Value, VendorError> {
    let body: Value = serde_json::from_slice(body)
        .map_err(|problem| VendorError::new(400, "", format!("invalid json syntax: {problem}")))?;
    if body.is_object() { Ok(body) } else { Err(error::wrong_type("body", "object", &body)) }
}
