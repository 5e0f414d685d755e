//! Answers a request: parse, check, compose, write.

use super::super::super::behaviour::Behaviour;
use super::super::super::compose::compose;
use super::super::super::vendor::{Reply, VendorError};
use super::super::chat::parse;
use super::{answer, ask, check, events};

/// `POST /v1/responses`.
pub(crate) fn responses(body: &[u8], behaviour: &Behaviour) -> Result<Reply, VendorError> {
    let body = parse(body)?;
    check::request(&body, behaviour)?;
    let ask = ask::read(&body);
    let answer = compose(&ask, behaviour);
    let shape = answer::Shape::new(&body, &answer, behaviour);
    Ok(if ask.stream {
        Reply::Stream(events::events(&answer, &shape))
    } else {
        Reply::Whole(shape.whole(&answer))
    })
}
