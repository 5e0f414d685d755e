//! Pictures, sound, and whether a text is harmful.

use serde_json::{Value, json};

use super::super::vendor::{Reply, VendorError, decoded, quoted, token_count, unix_seconds};
use super::check::{known_members, missing, model as check_model};
use super::other::members;

/// The smallest PNG there is, in base64.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// `POST /v1/images/generations`.
pub(crate) fn images(body: &[u8]) -> Result<Reply, VendorError> {
    let body = super::chat::parse(body)?;
    let members = members(&body)?;
    known_members(
        members,
        &["model", "prompt", "n", "size", "quality", "background", "output_format", "moderation", "user"],
    )?;
    check_model(members)?;
    let prompt = members.get("prompt").and_then(Value::as_str).ok_or_else(|| missing("prompt"))?;
    let count = members.get("n").and_then(Value::as_u64).unwrap_or(1);
    if !(1..=10).contains(&count) {
        return Err(VendorError::invalid("Invalid 'n': integer above maximum value.").at("n"));
    }
    let data: Vec<_> = (0..count).map(|_| json!({ "b64_json": PNG })).collect();
    let (input, output) = (token_count(prompt) as u64, 272 * count);
    let usage = json!({
        "input_tokens": input, "output_tokens": output, "total_tokens": input + output,
        "input_tokens_details": { "text_tokens": input, "image_tokens": 0 },
    });
    Ok(Reply::Whole(json!({ "created": unix_seconds(), "data": data, "usage": usage }).to_string()))
}

/// `POST /v1/audio/speech`: a sound of the text's length.
pub(crate) fn speech(body: &[u8]) -> Result<Reply, VendorError> {
    let body = super::chat::parse(body)?;
    let members = members(&body)?;
    known_members(
        members,
        &["model", "input", "voice", "instructions", "response_format", "speed", "stream_format"],
    )?;
    check_model(members)?;
    let text = members.get("input").and_then(Value::as_str).ok_or_else(|| missing("input"))?;
    members.get("voice").and_then(Value::as_str).ok_or_else(|| missing("voice"))?;
    let sound = [b"ID3\x04".as_slice(), &decoded(PNG).unwrap_or_default(), text.as_bytes()].concat();
    Ok(Reply::Bytes("audio/mpeg", sound))
}

/// `POST /v1/moderations`: what says `harm` is flagged.
pub(crate) fn moderations(body: &[u8]) -> Result<Reply, VendorError> {
    let body = super::chat::parse(body)?;
    let members = members(&body)?;
    known_members(members, &["model", "input"])?;
    check_model(members)?;
    let inputs = match members.get("input") {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(items)) => items.iter().map(ToString::to_string).collect(),
        _ => return Err(missing("input")),
    };
    let results: Vec<_> = inputs
        .iter()
        .map(|text| {
            let flagged = text.contains("harm");
            json!({
                "flagged": flagged, "categories": { "violence": flagged },
                "category_scores": { "violence": if flagged { 0.9 } else { 0.01 } },
            })
        })
        .collect();
    let model = members.get("model").and_then(Value::as_str).unwrap_or_default();
    Ok(Reply::Whole(format!(r#"{{"id":"modr-1","model":{},"results":{}}}"#, quoted(model), json!(results))))
}
