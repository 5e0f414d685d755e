//! Answers a request to generate (parse, check, compose, write), and counts its tokens.

use serde_json::Value;

use super::super::behaviour::Behaviour;
use super::super::compose::compose;
use super::super::shape::{Members, Reading, Shape, fit};
use super::super::vendor::{Framing, Reply, VendorError};
use super::{answer, ask, check, error, shapes};

/// `POST /v1beta/models/{model}:generateContent`, or `:streamGenerateContent` with the framing of its events.
pub(crate) fn generate(
    (model, stream): (&str, Option<Framing>),
    body: &[u8],
    behaviour: &Behaviour,
) -> Result<Reply, VendorError> {
    let body = parse(body, &shapes::GENERATE)?;
    check::request(model, &body)?;
    let ask = ask::read(model, &body, stream.is_some());
    let answer = compose(&ask, behaviour);
    let shape = answer::Shape::new(model, &ask, behaviour);
    Ok(match stream {
        Some(framing) => Reply::Stream(answer::events(&answer, &shape, framing)),
        None => answer::whole(&answer, &shape),
    })
}

/// `POST /v1beta/models/{model}:countTokens`.
pub(crate) fn count_tokens(model: &str, body: &[u8]) -> Result<Reply, VendorError> {
    let body = parse(body, &shapes::COUNT_TOKENS)?;
    let request = body.get("generateContentRequest").unwrap_or(&body);
    if request.get("contents").is_none() {
        return Err(error::invalid("* CountTokensRequest.contents: contents is not specified\n"));
    }
    let tokens = ask::read(model, request, false).input_tokens;
    let details = format!(r#"[{{"modality":"TEXT","tokenCount":{tokens}}}]"#);
    Ok(Reply::Whole(format!(r#"{{"totalTokens":{tokens},"promptTokensDetails":{details}}}"#)))
}

/// Parses a body, and reads it as the vendor does.
pub(super) fn parse(body: &[u8], members: &'static Members) -> Result<Value, VendorError> {
    let body: Value = serde_json::from_slice(body)
        .map_err(|error| error::invalid(format!("Invalid JSON payload received. {error}")))?;
    fit(&body, &Shape::Members(members), Reading::Proto).map_err(|misfit| error::misfit(&misfit))
}
