//! Answers a chat request: parse, check, compose, write.

use serde_json::Value;

use super::super::behaviour::Behaviour;
use super::super::compose::compose;
use super::super::kept::Account;
use super::super::vendor::{Reply, VendorError};
use super::{answer, ask, check, files};

/// `POST /v1/chat/completions`.
pub(crate) fn chat(body: &[u8], behaviour: &Behaviour, account: Account<'_>) -> Result<Reply, VendorError> {
    let body = parse(body)?;
    files::check(&body, account)?;
    check::chat(&body, behaviour)?;
    let ask = ask::read(&body);
    let answer = compose(&ask, behaviour);
    let shape = answer::Shape::new(&body, &ask.model, behaviour);
    Ok(if ask.stream {
        Reply::Stream(answer::events(&answer, &shape))
    } else {
        answer::whole(&answer, &shape)
    })
}

/// Parses a body, which must be an object.
pub(super) fn parse(body: &[u8]) -> Result<Value, VendorError> {
    let body: Option<Value> = serde_json::from_slice(body).ok().filter(Value::is_object);
    body.ok_or_else(|| {
        VendorError::invalid(
            "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your \
             HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON. \
             If you have trouble figuring out how to fix this, please contact us through our help center at \
             help.openai.com.)",
        )
    })
}
