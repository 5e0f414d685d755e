//! Answers a Converse request: parse, check, compose, write.

use serde_json::Value;

use super::super::behaviour::Behaviour;
use super::super::compose::compose;
use super::super::shape::{Reading, Shape, fit};
use super::super::vendor::{Reply, VendorError};
use super::{answer, ask, check, error, shapes};

/// `POST /model/{model}/converse` and `/converse-stream`.
pub(crate) fn converse(
    (model, stream): (&str, bool),
    body: &[u8],
    behaviour: &Behaviour,
) -> Result<Reply, VendorError> {
    let body: Value = serde_json::from_slice(body)
        .map_err(|_| VendorError::new(400, "SerializationException", "Unexpected end-of-input"))?;
    let body = fit(&body, &Shape::Members(&shapes::REQUEST), Reading::Plain)
        .map_err(|misfit| error::misfit(&misfit))?;
    check::request(model, &body)?;
    let ask = ask::read(model, &body, stream);
    let answer = compose(&ask, behaviour);
    let shape = answer::Shape::new(&body, behaviour);
    Ok(if stream {
        Reply::Stream(answer::events(&answer, model, &shape))
    } else {
        answer::whole(&answer, &shape)
    })
}
