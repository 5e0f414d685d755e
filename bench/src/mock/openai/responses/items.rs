//! Refuses what OpenAI refuses in the items of the input: each by itself, and their order.

use serde_json::{Map, Value};

use super::super::super::behaviour::Behaviour;
use super::super::super::kept::Account;
use super::super::super::vendor::VendorError;
use super::super::check::{invalid_value, missing, wrong_type};
use super::check::{only, too_long};
use super::{content, seal};

const ROLES: &[&str] = &["assistant", "system", "developer", "user"];
const STATUSES: &[&str] = &["in_progress", "completed", "incomplete"];

/// The longest id of a call.
const CALL_ID_MAX: usize = 64;

/// Checks the input.
pub(super) fn check(
    members: &Map<String, Value>,
    behaviour: &Behaviour,
    account: Account<'_>,
) -> Result<(), VendorError> {
    let items = match members.get("input") {
        Some(Value::String(_)) => return Ok(()),
        Some(Value::Array(items)) => items,
        None | Some(Value::Null) if members.contains_key("prompt") => return Ok(()),
        None | Some(Value::Null) => {
            return Err(VendorError::invalid(
                "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided.",
            )
            .at("input")
            .code("missing_required_parameter"));
        }
        Some(other) => return Err(wrong_type("input", "one of a string or array of input items", other)),
    };
    for (at, item) in items.iter().enumerate() {
        check_item(item, &format!("input[{at}]"), behaviour)?;
        if kind(item) == "reasoning" {
            seal::verify(item, account)?;
        }
    }
    check_calls(items)?;
    check_reasoning(items)
}

fn kind(item: &Value) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or("message")
}

fn check_item(item: &Value, path: &str, behaviour: &Behaviour) -> Result<(), VendorError> {
    let members = item.as_object().ok_or_else(|| wrong_type(path, "an input item", item))?;
    let (known, prefix): (&[&str], &str) = match kind(item) {
        "message" => return check_message(members, path, behaviour),
        "function_call" => {
            (&["type", "id", "call_id", "name", "arguments", "status", "namespace", "caller"], "fc")
        }
        "function_call_output" => {
            (&["type", "id", "call_id", "output", "status", "name", "namespace", "caller"], "fc")
        }
        "reasoning" => (&["type", "id", "summary", "content", "encrypted_content", "status"], "rs"),
        "item_reference" => return seal::is_kept(item),
        other if other.contains("_call") || other.starts_with("mcp_") => {
            return Ok(());
        }
        other => {
            let kinds = ["function_call", "function_call_output", "item_reference", "message", "reasoning"];
            return Err(invalid_value(&format!("{path}.type"), other, &kinds));
        }
    };
    only(members, known, &format!("{path}."))?;
    check_id(members, path, prefix)?;
    check_status(members, path)?;
    let text = |name: &str| {
        let path = format!("{path}.{name}");
        match members.get(name) {
            Some(Value::String(text)) => Ok(text.as_str()),
            None | Some(Value::Null) => Err(missing(&path)),
            Some(other) => Err(wrong_type(&path, "a string", other)),
        }
    };
    if prefix == "fc" {
        let length = text("call_id")?.chars().count();
        if length > CALL_ID_MAX {
            return Err(too_long(&format!("{path}.call_id"), length, CALL_ID_MAX));
        }
    }
    match kind(item) {
        "function_call" => {
            text("name")?;
            text("arguments").map(drop)
        }
        "function_call_output" => {
            let path = format!("{path}.output");
            let output = members.get("output").ok_or_else(|| missing(&path))?;
            content::check(output, &path, content::OUTPUT)
        }
        _ => {
            text("id")?;
            let path = format!("{path}.summary");
            let summary = members.get("summary").ok_or_else(|| missing(&path))?;
            content::check_all(summary, &path, &["summary_text"])
        }
    }
}

fn check_message(members: &Map<String, Value>, path: &str, behaviour: &Behaviour) -> Result<(), VendorError> {
    let role_path = format!("{path}.role");
    let role = members.get("role").and_then(Value::as_str).ok_or_else(|| missing(&role_path))?;
    if !ROLES.contains(&role) || (role == "developer" && behaviour.has("no_developer")) {
        return Err(invalid_value(&role_path, role, ROLES));
    }
    only(members, &["type", "role", "content", "id", "status", "phase"], &format!("{path}."))?;
    check_id(members, path, "msg")?;
    check_status(members, path)?;
    let content_path = format!("{path}.content");
    let content = members.get("content").ok_or_else(|| missing(&content_path))?;
    if content.is_array() && behaviour.has("string_content") {
        return Err(wrong_type(&content_path, "a string", content));
    }
    let kinds = if role == "assistant" { content::SAID } else { content::INPUT };
    content::check(content, &content_path, kinds)
}

/// Ids tell what they are of.
fn check_id(members: &Map<String, Value>, path: &str, prefix: &str) -> Result<(), VendorError> {
    let path = format!("{path}.id");
    match members.get("id") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(id)) if id.chars().count() > CALL_ID_MAX => {
            Err(too_long(&path, id.chars().count(), CALL_ID_MAX))
        }
        Some(Value::String(id)) if id.starts_with(prefix) => Ok(()),
        Some(Value::String(id)) => {
            let what = format!("Invalid '{path}': '{id}'. Expected an ID that begins with '{prefix}'.");
            Err(VendorError::invalid(what).at(path).code("invalid_value"))
        }
        Some(other) => Err(wrong_type(&path, "a string", other)),
    }
}

fn check_status(members: &Map<String, Value>, path: &str) -> Result<(), VendorError> {
    let path = format!("{path}.status");
    match members.get("status") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(status)) if STATUSES.contains(&status.as_str()) => Ok(()),
        Some(Value::String(status)) => Err(invalid_value(&path, status, STATUSES)),
        Some(other) => Err(wrong_type(&path, "a string", other)),
    }
}

/// Every output answers a call before it, and every call has an output.
fn check_calls(items: &[Value]) -> Result<(), VendorError> {
    let mut open: Vec<&str> = Vec::new();
    for item in items {
        let Some(id) = item.get("call_id").and_then(Value::as_str) else { continue };
        match kind(item) {
            "function_call" => open.push(id),
            "function_call_output" => {
                let at = open.iter().position(|call| *call == id).ok_or_else(|| {
                    let what = format!("No tool call found for function call output with call_id {id}.");
                    VendorError::invalid(what).at("input")
                })?;
                open.remove(at);
            }
            _ => {}
        }
    }
    open.first().map_or(Ok(()), |id| {
        let what = format!("No tool output found for function call {id}.");
        Err(VendorError::invalid(what).at("input"))
    })
}

/// What was reasoned comes back with what it led to.
fn check_reasoning(items: &[Value]) -> Result<(), VendorError> {
    for (at, item) in items.iter().enumerate().filter(|(_, item)| kind(item) == "reasoning") {
        let next = items.iter().skip(at + 1).find(|item| kind(item) != "reasoning");
        let led_to = next.is_some_and(|next| {
            kind(next).ends_with("_call") || next.get("role") == Some(&Value::from("assistant"))
        });
        if !led_to {
            let id = item.get("id").and_then(Value::as_str).unwrap_or_default();
            return Err(VendorError::invalid(format!(
                "Item '{id}' of type 'reasoning' was provided without its required following item."
            ))
            .at("input"));
        }
    }
    Ok(())
}
