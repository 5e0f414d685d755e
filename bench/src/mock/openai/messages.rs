//! Refuses what OpenAI refuses in the messages of a chat request.

use serde_json::{Map, Value};

use super::super::behaviour::Behaviour;
use super::super::vendor::{IMAGE_TYPES, VendorError, decoded};
use super::check::{invalid_value, missing, unknown_parameter, wrong_type};

const ROLES: &[&str] = &["system", "assistant", "user", "function", "tool", "developer"];
const MEMBERS: &[&str] = &[
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "refusal",
    "audio",
    "function_call",
    "annotations",
    "reasoning_content",
];

/// Checks all messages, each by itself and their order.
pub(super) fn check(members: &Map<String, Value>, behaviour: &Behaviour) -> Result<(), VendorError> {
    let messages = match members.get("messages") {
        Some(Value::Array(messages)) => messages,
        None | Some(Value::Null) => return Err(missing("messages")),
        Some(other) => return Err(wrong_type("messages", "an array of objects", other)),
    };
    if messages.is_empty() {
        return Err(VendorError::invalid(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array \
             instead.",
        )
        .at("messages")
        .code("empty_array"));
    }
    for (at, message) in messages.iter().enumerate() {
        check_message(message, &format!("messages[{at}]"), behaviour)?;
    }
    check_order(messages)
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

fn check_message(message: &Value, path: &str, behaviour: &Behaviour) -> Result<(), VendorError> {
    let members = message.as_object().ok_or_else(|| wrong_type(path, "an object", message))?;
    let role_path = format!("{path}.role");
    let role = members.get("role").and_then(Value::as_str).ok_or_else(|| missing(&role_path))?;
    let known = if behaviour.has("no_developer") { &ROLES[..5] } else { ROLES };
    if !known.contains(&role) {
        return Err(invalid_value(&role_path, role, known));
    }
    if let Some(name) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
        return Err(unknown_parameter(&format!("{path}.{name}")));
    }
    let content_path = format!("{path}.content");
    match members.get("content") {
        Some(Value::String(_)) => {}
        None | Some(Value::Null) if role == "assistant" => {
            let other = ["tool_calls", "function_call", "refusal", "audio"];
            if !other.iter().any(|name| members.get(*name).is_some_and(|value| !value.is_null())) {
                return Err(wrong_type(&content_path, "a string", &Value::Null));
            }
        }
        None => return Err(missing(&content_path)),
        Some(Value::Array(_)) if behaviour.has("string_content") => {
            return Err(
                VendorError::invalid(format!("{content_path}: value must be a string")).at(content_path)
            );
        }
        Some(Value::Array(parts)) => {
            for (at, part) in parts.iter().enumerate() {
                check_part(part, &format!("{content_path}[{at}]"), role)?;
            }
        }
        Some(other) => {
            return Err(wrong_type(&content_path, "one of a string or array of objects", other));
        }
    }
    if role == "tool" && members.get("tool_call_id").and_then(Value::as_str).is_none() {
        return Err(missing(&format!("{path}.tool_call_id")));
    }
    check_calls(members, path)
}

fn check_part(part: &Value, path: &str, role: &str) -> Result<(), VendorError> {
    let members = part.as_object().ok_or_else(|| wrong_type(path, "an object", part))?;
    let kinds: &[&str] = match role {
        "user" => &["text", "image_url", "input_audio", "file"],
        "assistant" => &["text", "refusal"],
        _ => &["text"],
    };
    let kind_path = format!("{path}.type");
    let kind = members.get("type").and_then(Value::as_str).ok_or_else(|| missing(&kind_path))?;
    if !kinds.contains(&kind) {
        let all = ["text", "image_url", "input_audio", "refusal", "audio", "file"];
        return Err(invalid_value(&kind_path, kind, &all));
    }
    if let Some(name) = members.keys().find(|name| *name != "type" && *name != kind) {
        return Err(unknown_parameter(&format!("{path}.{name}")));
    }
    let value_path = format!("{path}.{kind}");
    let value = members.get(kind).ok_or_else(|| missing(&value_path))?;
    match kind {
        "text" | "refusal" if !value.is_string() => Err(wrong_type(&value_path, "a string", value)),
        "image_url" => check_image(value, &value_path),
        _ => Ok(()),
    }
}

fn check_image(image: &Value, path: &str) -> Result<(), VendorError> {
    let members = image.as_object().ok_or_else(|| wrong_type(path, "an object", image))?;
    if let Some(name) = members.keys().find(|name| !["url", "detail"].contains(&name.as_str())) {
        return Err(unknown_parameter(&format!("{path}.{name}")));
    }
    let details = ["low", "high", "auto"];
    if let Some(detail) = members.get("detail").and_then(Value::as_str)
        && !details.contains(&detail)
    {
        return Err(invalid_value(&format!("{path}.detail"), detail, &details));
    }
    let url_path = format!("{path}.url");
    let url = members.get("url").and_then(Value::as_str).ok_or_else(|| missing(&url_path))?;
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(());
    }
    let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    if data.is_some_and(|(kind, data)| IMAGE_TYPES.contains(&kind) && decoded(data).is_some()) {
        return Ok(());
    }
    let got = match data {
        None => "a value that is neither a URL nor a base64-encoded data URL",
        Some((kind, _)) if !IMAGE_TYPES.contains(&kind) => "an unsupported MIME type",
        Some((_, "")) => "empty base64-encoded bytes",
        Some(_) => "invalid base64-encoded bytes",
    };
    Err(VendorError::invalid(format!(
        "Invalid '{url_path}'. Expected a base64-encoded data URL with an image MIME type (e.g. \
         'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got {got}."
    ))
    .at(url_path)
    .code("invalid_value"))
}

fn check_calls(members: &Map<String, Value>, path: &str) -> Result<(), VendorError> {
    let calls = match members.get("tool_calls") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(calls)) if !calls.is_empty() => calls,
        Some(other) => return Err(wrong_type(&format!("{path}.tool_calls"), "an array of objects", other)),
    };
    for (at, call) in calls.iter().enumerate() {
        let path = format!("{path}.tool_calls[{at}]");
        let text = |pointer: &str| call.pointer(pointer).and_then(Value::as_str);
        for (pointer, name) in [
            ("/id", "id"),
            ("/type", "type"),
            ("/function/name", "function.name"),
            ("/function/arguments", "function.arguments"),
        ] {
            if text(pointer).is_none() {
                return Err(missing(&format!("{path}.{name}")));
            }
        }
        if let Some(name) = call
            .as_object()
            .into_iter()
            .flat_map(Map::keys)
            .find(|name| !["id", "type", "function"].contains(&name.as_str()))
        {
            return Err(unknown_parameter(&format!("{path}.{name}")));
        }
        if text("/function/arguments") == Some("") {
            let path = format!("{path}.function.arguments");
            return Err(VendorError::invalid(format!(
                "Invalid '{path}': empty string. Expected a string with minimum length 1, but got an empty string \
                 instead."
            ))
            .at(path)
            .code("empty_string"));
        }
    }
    Ok(())
}

/// Every call is answered by a tool message right behind it, and every tool message answers a call.
fn check_order(messages: &[Value]) -> Result<(), VendorError> {
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let answers = message.get("tool_call_id").and_then(Value::as_str);
        if role(message) == "tool" {
            let before = open.len();
            open.retain(|id| Some(*id) != answers);
            if open.len() == before {
                return Err(VendorError::invalid(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with \
                     'tool_calls'.",
                )
                .at(format!("messages.[{at}].role")));
            }
            continue;
        }
        all_answered(&open, at)?;
        let calls = message.get("tool_calls").and_then(Value::as_array);
        open = calls.into_iter().flatten().filter_map(|call| call.get("id")?.as_str()).collect();
    }
    all_answered(&open, messages.len())
}

fn all_answered(open: &[&str], at: usize) -> Result<(), VendorError> {
    if open.is_empty() {
        return Ok(());
    }
    Err(VendorError::invalid(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
         'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    ))
    .at(format!("messages.[{at}].role")))
}
