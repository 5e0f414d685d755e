//! What a well-formed stream is in each dialect, checked without the codecs.

mod anthropic_messages;
mod bedrock_converse;
mod cohere_chat;
mod gemini;
mod openai_chat;
mod openai_responses;

use serde_json::Value;
use trestle_dialect::Dialect;

/// Checks a whole stream, or the part of one that has no end yet.
pub(crate) fn check(dialect: Dialect, wire: &[u8]) -> Result<(), String> {
    match dialect {
        Dialect::OpenAiChat => sse(wire, openai_chat::check),
        Dialect::OpenAiResponses => sse(wire, openai_responses::check),
        Dialect::AnthropicMessages => sse(wire, anthropic_messages::check),
        Dialect::BedrockConverse => bedrock_converse::check(wire),
        Dialect::Gemini => gemini::check(wire),
        Dialect::CohereChat => sse(wire, cohere_chat::check),
    }
}

/// Server-sent events as we write them: each event's lines, without those of comments.
fn sse(wire: &[u8], check: impl Fn(&[&str]) -> Result<(), String>) -> Result<(), String> {
    let text = std::str::from_utf8(wire).map_err(|error| error.to_string())?;
    // A comment has one line end, so it stands before the first line of an event.
    let text: String = text.split_inclusive('\n').filter(|line| !line.starts_with(':')).collect();
    if !text.is_empty() && !text.ends_with("\n\n") {
        return Err("the last event is not closed".to_owned());
    }
    let events: Vec<&str> = text.split("\n\n").filter(|event| !event.is_empty()).collect();
    check(&events).map_err(|what| format!("{what} in\n{text}"))
}

fn json(data: &str) -> Result<Value, String> {
    serde_json::from_str(data).map_err(|error| format!("{error}: {data}"))
}
