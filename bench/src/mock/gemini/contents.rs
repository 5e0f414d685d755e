//! Refuses what Gemini refuses in the order and content of turns.

use serde_json::Value;

use super::super::compose::signature;
use super::super::vendor::{VendorError, decoded, sniffed};
use super::ask::{is_model, is_third, parts};
use super::error::{invalid, member};
use super::shapes::DATA;

/// What may stand in the place of a signature that nobody has.
const UNSIGNED: [&str; 2] = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

/// How the mock's own signatures begin.
const OWN: &str = "ErQCbW9ja";

/// Checks all contents.
pub(super) fn check(model: &str, contents: &[Value]) -> Result<(), VendorError> {
    if contents.is_empty() {
        return Err(member("contents", "contents is not specified"));
    }
    for (at, content) in contents.iter().enumerate() {
        check_content(model, content, &format!("contents[{at}]"))?;
    }
    check_order(contents)?;
    if is_third(model) { check_signatures(contents) } else { Ok(()) }
}

/// Checks one content.
pub(super) fn check_content(model: &str, content: &Value, path: &str) -> Result<(), VendorError> {
    let role = content.get("role").and_then(Value::as_str).unwrap_or_default();
    if !["", "user", "model", "function", "tool", "system"].contains(&role) {
        return Err(invalid("Please use a valid role: user, model."));
    }
    if parts(content).is_empty() {
        return Err(member(&format!("{path}.parts"), "contents.parts must not be empty."));
    }
    for (at, part) in parts(content).iter().enumerate() {
        check_part(model, part, &format!("{path}.parts[{at}]"))?;
    }
    Ok(())
}

fn check_part(model: &str, part: &Value, path: &str) -> Result<(), VendorError> {
    let data: Vec<_> = DATA.iter().filter(|name| part.get(**name).is_some()).collect();
    let signed = part.get("thoughtSignature").and_then(Value::as_str);
    match data.as_slice() {
        [] if signed.is_none() => return Err(no_data(path)),
        [] | [_] => {}
        [_, second, ..] => {
            return Err(invalid(format!(
                "Invalid value at '{path}' (oneof), oneof field 'data' is already set. Cannot set '{second}'"
            )));
        }
    }
    if let Some(blob) = part.get("inlineData") {
        check_blob(blob)?;
    }
    if let Some(parts) = part.pointer("/functionResponse/parts").and_then(Value::as_array) {
        if !is_third(model) {
            return Err(invalid("Multimodal function responses are not supported for this model."));
        }
        parts.iter().filter_map(|part| part.get("inlineData")).try_for_each(check_blob)?;
    }
    match signed {
        Some(found) if !is_known(part, found) => Err(invalid("Corrupted thought signature.")),
        _ => Ok(()),
    }
}

fn no_data(path: &str) -> VendorError {
    member(&format!("{path}.data"), "required oneof field 'data' must have one initialized field")
}

fn check_blob(blob: &Value) -> Result<(), VendorError> {
    let text = |name: &str| blob.get(name).and_then(Value::as_str).unwrap_or_default();
    let media_type = text("mimeType");
    if !media_type.contains('/') {
        return Err(invalid(format!("Unsupported MIME type: {media_type}")));
    }
    let fits = |data: Vec<u8>| sniffed(&data) == Some(media_type);
    if media_type.starts_with("image/") && !decoded(text("data")).is_some_and(fits) {
        return Err(invalid("Unable to process input image. Please retry or report."));
    }
    Ok(())
}

/// The signature of a call: it depends on the name and the arguments.
pub(super) fn signature_of_call(name: &str, arguments: &Value) -> String {
    signature(&format!("{name}({arguments})"))
}

fn is_known(part: &Value, found: &str) -> bool {
    if let Some(call) = part.get("functionCall") {
        let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
        let none = Value::Object(serde_json::Map::new());
        let own = signature_of_call(name, call.get("args").unwrap_or(&none));
        return found == own || UNSIGNED.iter().any(|word| found == standard(word));
    }
    found.starts_with(OWN) || UNSIGNED.iter().any(|word| found == standard(word))
}

/// A word that is read as base64 for URLs, in the usual alphabet.
fn standard(word: &str) -> String {
    let padding = "=".repeat((4 - word.len() % 4) % 4);
    format!("{}{padding}", word.replace('-', "+").replace('_', "/"))
}

fn calls(content: &Value, name: &str) -> usize {
    parts(content).iter().filter(|part| part.get(name).is_some()).count()
}

/// Calls follow the user, and are answered at once and all together.
fn check_order(contents: &[Value]) -> Result<(), VendorError> {
    let mut open = 0;
    let mut before: Option<&Value> = None;
    for content in contents {
        let (made, answered) = (calls(content, "functionCall"), calls(content, "functionResponse"));
        if made > 0 && (!is_model(content) || before.is_none_or(is_model)) {
            return Err(invalid(
                "Please ensure that function call turn comes immediately after a user turn or after a function \
                 response turn.",
            ));
        }
        if answered > 0 && (open == 0 || is_model(content)) {
            return Err(invalid(
                "Please ensure that function response turn comes immediately after a function call turn.",
            ));
        }
        if answered != open {
            return Err(invalid(
                "Please ensure that the number of function response parts is equal to the number of function call \
                 parts of the function call turn.",
            ));
        }
        if answered > 0 {
            check_answers(before, content)?;
        }
        open = made;
        before = Some(content);
    }
    if open > 0 {
        return Err(invalid(
            "Please ensure that multiturn requests end with a user role or a function response.",
        ));
    }
    Ok(())
}

/// Every response has the name of a call that it answers, and its id where that has one.
fn check_answers(before: Option<&Value>, content: &Value) -> Result<(), VendorError> {
    let named = |part: &Value, kind: &str, member: &str| -> Option<String> {
        part.pointer(&format!("/{kind}/{member}")).and_then(Value::as_str).map(str::to_owned)
    };
    let calls: Vec<_> = before
        .map(parts)
        .unwrap_or_default()
        .iter()
        .filter(|part| part.get("functionCall").is_some())
        .map(|part| (named(part, "functionCall", "name"), named(part, "functionCall", "id")))
        .collect();
    for part in parts(content).iter().filter(|part| part.get("functionResponse").is_some()) {
        let (name, id) = (named(part, "functionResponse", "name"), named(part, "functionResponse", "id"));
        let fits = |(called, called_id): &&(Option<String>, Option<String>)| {
            *called == name && (id.is_none() || called_id.is_none() || *called_id == id)
        };
        if !calls.iter().any(|call| fits(&call)) {
            return Err(invalid(format!(
                "Please ensure that function response parts match the function call parts: {} was not called.",
                name.unwrap_or_default()
            )));
        }
    }
    Ok(())
}

/// Since the user's last words, the first call of each turn must be signed.
fn check_signatures(contents: &[Value]) -> Result<(), VendorError> {
    let said = |content: &Value| !is_model(content) && calls(content, "functionResponse") == 0;
    let from = contents.iter().rposition(said).unwrap_or(0);
    for (at, content) in contents.iter().enumerate().skip(from) {
        let first = parts(content).iter().find(|part| part.get("functionCall").is_some());
        let Some(first) = first.filter(|part| part.get("thoughtSignature").is_none()) else { continue };
        let name = first.pointer("/functionCall/name").and_then(Value::as_str).unwrap_or_default();
        return Err(invalid(format!(
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work \
             correctly, and missing thought_signature may lead to degraded model performance. Additional data, \
             function call `default_api:{name}` , position {at}. Please refer to \
             https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_begin_alike() {
        assert!(signature("x").starts_with(OWN), "{}", signature("x"));
        assert_eq!(standard("skip_thought_signature_validator"), "skip/thought/signature/validator");
    }
}
