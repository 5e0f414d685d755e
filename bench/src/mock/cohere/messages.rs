//! Refuses what Cohere refuses in the messages of a chat request.

use serde_json::Value;

use super::super::behaviour::Behaviour;
use super::super::vendor::{IMAGE_TYPES, VendorError, decoded, sniffed};
use super::check::{Members, check_document, only};
use super::error::{invalid, wrong_type};

/// Checks all messages, each by itself and their order.
pub(super) fn check(members: &Members, behaviour: &Behaviour) -> Result<(), VendorError> {
    let messages = match members.get("messages") {
        Some(Value::Array(messages)) if !messages.is_empty() => messages,
        None | Some(Value::Null | Value::Array(_)) => {
            return Err(invalid("list of messages must not be empty."));
        }
        Some(other) => return Err(wrong_type("messages", "array", other)),
    };
    for (at, message) in messages.iter().enumerate() {
        check_message(message, &format!("messages[{at}]"), behaviour)?;
    }
    check_order(messages)
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

fn check_message(message: &Value, path: &str, behaviour: &Behaviour) -> Result<(), VendorError> {
    let members = message.as_object().ok_or_else(|| wrong_type(path, "object", message))?;
    let (known, kinds): (&[&str], &[&str]) = match role(message) {
        "user" => (&["role", "content"], &["text", "image_url"]),
        "system" => (&["role", "content"], &["text"]),
        "tool" => (&["role", "content", "tool_call_id"], &["text", "document"]),
        "assistant" => (&["role", "content", "tool_plan", "tool_calls", "citations"], &["text", "thinking"]),
        other => {
            return Err(invalid(format!(
                "{path}: role must be one of user, assistant, system, tool - received '{other}'."
            )));
        }
    };
    only(members, known, "chat")?;
    let content_path = format!("{path}.content");
    match members.get("content") {
        Some(Value::String(text)) if text.is_empty() && role(message) != "tool" => {
            return Err(VendorError::new(400, "", "message must not be empty in a turn"));
        }
        Some(Value::String(_)) => {}
        Some(Value::Array(_)) if behaviour.has("string_content") => {
            return Err(wrong_type(&content_path, "string", &Value::Array(Vec::new())));
        }
        Some(Value::Array(parts)) if parts.is_empty() => {
            return Err(VendorError::new(400, "", "message must not be empty in a turn"));
        }
        Some(Value::Array(parts)) => {
            for (at, part) in parts.iter().enumerate() {
                check_part(part, &format!("{content_path}[{at}]"), kinds)?;
            }
        }
        None | Some(Value::Null) if role(message) == "assistant" && members.contains_key("tool_calls") => {}
        None | Some(Value::Null) => return Err(invalid("all messages must have content.")),
        Some(other) => return Err(wrong_type(&content_path, "string or array", other)),
    }
    if role(message) == "tool" && !members.get("tool_call_id").is_some_and(Value::is_string) {
        return Err(invalid(format!("{path}: tool_call_id is required.")));
    }
    if let Some(plan) = members.get("tool_plan").filter(|plan| !plan.is_null() && !plan.is_string()) {
        return Err(wrong_type(&format!("{path}.tool_plan"), "string", plan));
    }
    check_calls(members, path)
}

fn check_part(part: &Value, path: &str, kinds: &[&str]) -> Result<(), VendorError> {
    let members = part.as_object().ok_or_else(|| wrong_type(path, "object", part))?;
    let kind = members.get("type").and_then(Value::as_str).unwrap_or_default();
    if !kinds.contains(&kind) {
        return Err(invalid(format!(
            "{path}: content type must be one of {} - received '{kind}'.",
            kinds.join(", ")
        )));
    }
    only(members, &["type", kind], "chat")?;
    let value = members.get(kind).unwrap_or(&Value::Null);
    match kind {
        "image_url" => check_image(value, path),
        "document" => check_document(value),
        _ => match value.as_str() {
            Some("") if kind == "text" => {
                Err(VendorError::new(400, "", "message must not be empty in a turn"))
            }
            Some(_) => Ok(()),
            None => Err(wrong_type(&format!("{path}.{kind}"), "string", value)),
        },
    }
}

fn check_image(image: &Value, path: &str) -> Result<(), VendorError> {
    let members =
        image.as_object().ok_or_else(|| wrong_type(&format!("{path}.image_url"), "object", image))?;
    only(members, &["url", "detail"], "chat")?;
    let url = members.get("url").and_then(Value::as_str).unwrap_or_default();
    if let Some(detail) = members.get("detail").and_then(Value::as_str)
        && !["auto", "low", "high"].contains(&detail)
    {
        return Err(invalid("image detail must be one of auto, low, high."));
    }
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(());
    }
    let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let fits = data.is_some_and(|(kind, data)| {
        let real = decoded(data);
        let same = |data: Vec<u8>| sniffed(&data).is_none_or(|real| real == kind);
        IMAGE_TYPES.contains(&kind) && real.is_some_and(same)
    });
    if fits {
        return Ok(());
    }
    Err(invalid(
        "image_url must be a valid URL or a data URI of a base64-encoded image (png, jpeg, webp, gif).",
    ))
}

fn check_calls(members: &Members, path: &str) -> Result<(), VendorError> {
    let calls = match members.get("tool_calls") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(calls)) => calls,
        Some(other) => return Err(wrong_type(&format!("{path}.tool_calls"), "array", other)),
    };
    for call in calls {
        let call =
            call.as_object().ok_or_else(|| wrong_type(&format!("{path}.tool_calls"), "object", call))?;
        only(call, &["id", "type", "function"], "chat")?;
        let function = call.get("function").and_then(Value::as_object);
        let function = function.ok_or_else(|| invalid("a tool call must have a function."))?;
        only(function, &["name", "arguments"], "chat")?;
        let arguments = function.get("arguments").and_then(Value::as_str).unwrap_or_default();
        let parsed = serde_json::from_str::<Value>(arguments).ok();
        if !parsed.is_some_and(|parsed| parsed.is_object()) {
            return Err(invalid("the arguments of a tool call must be a JSON object in a string."));
        }
        if [call.get("id"), function.get("name")].iter().any(|text| !text.is_some_and(Value::is_string)) {
            return Err(invalid("a tool call must have an id and the name of its function."));
        }
    }
    Ok(())
}

/// The system's turn comes first, calls are answered right away, and the last word is not the model's.
fn check_order(messages: &[Value]) -> Result<(), VendorError> {
    let system = messages.iter().position(|message| role(message) != "system").unwrap_or(messages.len());
    if messages.iter().skip(system).any(|message| role(message) == "system") {
        return Err(VendorError::new(400, "", "system turn must be the first in the list"));
    }
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        let answers = message.get("tool_call_id").and_then(Value::as_str);
        if role(message) == "tool" {
            let before = open.len();
            open.retain(|id| Some(*id) != answers);
            if open.len() == before {
                return Err(invalid(format!(
                    "tool_call_id '{}' was not found in the tool calls of the previous turn.",
                    answers.unwrap_or_default()
                )));
            }
            continue;
        }
        all_answered(&open)?;
        let calls = message.get("tool_calls").and_then(Value::as_array);
        open = calls.into_iter().flatten().filter_map(|call| call.get("id")?.as_str()).collect();
    }
    all_answered(&open)?;
    match messages.last().map(role) {
        Some("user" | "tool") => Ok(()),
        _ => Err(invalid("the last message must be of role user or tool.")),
    }
}

fn all_answered(open: &[&str]) -> Result<(), VendorError> {
    if open.is_empty() {
        return Ok(());
    }
    Err(invalid(format!("tool calls without a tool message in the next turn: {}.", open.join(", "))))
}
