//! Refuses what Cohere refuses in a chat request.

use serde_json::{Map, Value};

use super::super::behaviour::Behaviour;
use super::super::vendor::VendorError;
use super::error::{invalid, unknown_field, wrong_type};
use super::messages;

/// Top-level members of a chat request.
const MEMBERS: &[&str] = &[
    "citation_options",
    "documents",
    "frequency_penalty",
    "k",
    "logprobs",
    "max_tokens",
    "messages",
    "model",
    "p",
    "presence_penalty",
    "priority",
    "response_format",
    "safety_mode",
    "seed",
    "stop_sequences",
    "stream",
    "strict_tools",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
];

/// Most stop sequences.
const STOPS_MAX: usize = 5;

pub(super) type Members = Map<String, Value>;

/// Checks a chat request.
pub(super) fn request(body: &Value, behaviour: &Behaviour) -> Result<(), VendorError> {
    let members = body.as_object().ok_or_else(|| wrong_type("body", "object", body))?;
    only(members, MEMBERS, "chat")?;
    model(members)?;
    numbers(members)?;
    words(members)?;
    stops(members)?;
    tools(members)?;
    format(members)?;
    thinking(members)?;
    documents(members)?;
    messages::check(members, behaviour)
}

/// Refuses members that the endpoint does not know.
pub(super) fn only(members: &Members, known: &[&str], endpoint: &str) -> Result<(), VendorError> {
    let unknown = members.keys().find(|name| !known.contains(&name.as_str()));
    unknown.map_or(Ok(()), |name| Err(unknown_field(name, endpoint)))
}

/// Requires a model.
pub(super) fn model(members: &Members) -> Result<(), VendorError> {
    match members.get("model") {
        Some(Value::String(name)) if !name.is_empty() => Ok(()),
        None | Some(Value::Null | Value::String(_)) => Err(invalid("model is required.")),
        Some(other) => Err(wrong_type("model", "string", other)),
    }
}

fn numbers(members: &Members) -> Result<(), VendorError> {
    let ranges = [
        ("temperature", 0.0, 1.0),
        ("p", 0.01, 0.99),
        ("k", 0.0, 500.0),
        ("frequency_penalty", 0.0, 1.0),
        ("presence_penalty", 0.0, 1.0),
        ("max_tokens", 1.0, 100_000_000.0),
        ("seed", 0.0, 18_446_744_073_709_551_615.0),
    ];
    for (name, least, most) in ranges {
        let Some(value) = members.get(name).filter(|value| !value.is_null()) else { continue };
        let whole = matches!(name, "k" | "max_tokens" | "seed");
        let number = value.as_f64().filter(|number| !whole || number.fract() == 0.0);
        let kind = if whole { "int" } else { "number" };
        let number = number.ok_or_else(|| wrong_type(name, kind, value))?;
        if !(least..=most).contains(&number) {
            return Err(invalid(format!("{name} must be between {least} and {most} inclusive.")));
        }
    }
    let weighs = |name: &str| members.get(name).and_then(Value::as_f64).is_some_and(|number| number != 0.0);
    if weighs("frequency_penalty") && weighs("presence_penalty") {
        return Err(invalid("cannot specify both frequency_penalty and presence_penalty."));
    }
    Ok(())
}

fn words(members: &Members) -> Result<(), VendorError> {
    for name in ["stream", "strict_tools", "logprobs"] {
        if let Some(other) = members.get(name).filter(|value| !value.is_null() && !value.is_boolean()) {
            return Err(wrong_type(name, "bool", other));
        }
    }
    let lists: [(&str, &[&str]); 2] =
        [("safety_mode", &["CONTEXTUAL", "STRICT", "OFF", "NONE"]), ("tool_choice", &["REQUIRED", "NONE"])];
    for (name, known) in lists {
        match members.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::String(word)) if known.contains(&word.as_str()) => {}
            Some(Value::String(_)) => {
                return Err(invalid(format!("{name} must be one of {}.", known.join(", "))));
            }
            Some(other) => return Err(wrong_type(name, "string", other)),
        }
    }
    Ok(())
}

fn stops(members: &Members) -> Result<(), VendorError> {
    match members.get("stop_sequences") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Array(stops)) if stops.len() > STOPS_MAX => {
            Err(invalid(format!("stop_sequences must have at most {STOPS_MAX} elements.")))
        }
        Some(Value::Array(stops)) if stops.iter().all(Value::is_string) => Ok(()),
        Some(other) => Err(wrong_type("stop_sequences", "array of strings", other)),
    }
}

fn tools(members: &Members) -> Result<(), VendorError> {
    let offered = match members.get("tools") {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(tools)) if tools.is_empty() => {
            return Err(invalid("list of tools must not be empty."));
        }
        Some(Value::Array(tools)) => tools,
        Some(other) => return Err(wrong_type("tools", "array", other)),
    };
    for (at, tool) in offered.iter().enumerate() {
        check_tool(tool, &format!("tools[{at}]"))?;
    }
    if offered.is_empty() && members.get("tool_choice").is_some_and(|choice| !choice.is_null()) {
        return Err(invalid("tool_choice can only be specified with tools."));
    }
    Ok(())
}

fn check_tool(tool: &Value, path: &str) -> Result<(), VendorError> {
    let members = tool.as_object().ok_or_else(|| wrong_type(path, "object", tool))?;
    only(members, &["type", "function"], "chat")?;
    if members.get("type") != Some(&Value::from("function")) {
        return Err(invalid(format!("{path}.type must be 'function'.")));
    }
    let function = members.get("function").and_then(Value::as_object);
    let function = function.ok_or_else(|| invalid(format!("{path}.function is required.")))?;
    only(function, &["name", "description", "parameters"], "chat")?;
    let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
    let legal = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if name.is_empty() || !name.chars().all(legal) {
        return Err(invalid(format!(
            "tool names can only contain certain characters (A-Za-z0-9_-) and cannot be empty: '{name}'."
        )));
    }
    match function.get("parameters") {
        Some(Value::Object(schema)) if schema.get("type").is_none_or(|kind| kind == "object") => Ok(()),
        Some(Value::Object(_)) => {
            Err(invalid(format!("the parameters of tool '{name}' must be of type object.")))
        }
        None | Some(Value::Null) => Err(invalid(format!("{path}.function.parameters is required."))),
        Some(other) => Err(wrong_type(&format!("{path}.function.parameters"), "object", other)),
    }
}

fn format(members: &Members) -> Result<(), VendorError> {
    let Some(format) = members.get("response_format").filter(|format| !format.is_null()) else {
        return Ok(());
    };
    let inner = format.as_object().ok_or_else(|| wrong_type("response_format", "object", format))?;
    only(inner, &["type", "json_schema"], "chat")?;
    let set = |name: &str| members.get(name).is_some_and(|value| !value.is_null());
    match inner.get("type").and_then(Value::as_str) {
        Some("text") if inner.contains_key("json_schema") => {
            Err(invalid("json_schema can only be specified with type 'json_object'."))
        }
        Some("text") => Ok(()),
        Some("json_object") if set("tools") => Err(invalid("response_format is not supported with tools.")),
        Some("json_object") if set("documents") => Err(invalid("response_format is not supported with RAG.")),
        Some("json_object") => match inner.get("json_schema") {
            None | Some(Value::Null) => Ok(()),
            Some(Value::Object(schema)) if schema.get("type") == Some(&Value::from("object")) => {
                match schema.get("required").and_then(Value::as_array) {
                    Some(required) if !required.is_empty() => Ok(()),
                    _ => Err(invalid("the json_schema must have at least one required field.")),
                }
            }
            Some(Value::Object(_)) => {
                Err(invalid("the json_schema must have type 'object' at its top level."))
            }
            Some(other) => Err(wrong_type("response_format.json_schema", "object", other)),
        },
        _ => Err(invalid("response_format type must be one of text, json_object.")),
    }
}

fn thinking(members: &Members) -> Result<(), VendorError> {
    let Some(thinking) = members.get("thinking").filter(|thinking| !thinking.is_null()) else {
        return Ok(());
    };
    let inner = thinking.as_object().ok_or_else(|| wrong_type("thinking", "object", thinking))?;
    only(inner, &["type", "token_budget"], "chat")?;
    if !["enabled", "disabled"].contains(&inner.get("type").and_then(Value::as_str).unwrap_or_default()) {
        return Err(invalid("thinking type must be one of enabled, disabled."));
    }
    match inner.get("token_budget") {
        None | Some(Value::Null) => Ok(()),
        Some(budget) if budget.as_u64().is_some_and(|budget| budget >= 1) => Ok(()),
        Some(_) => Err(invalid("token_budget must be at least 1.")),
    }
}

fn documents(members: &Members) -> Result<(), VendorError> {
    let documents = match members.get("documents") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(documents)) if documents.is_empty() => {
            return Err(invalid("list of documents must not be empty"));
        }
        Some(Value::Array(documents)) => documents,
        Some(other) => return Err(wrong_type("documents", "array", other)),
    };
    documents.iter().try_for_each(|document| match document {
        Value::String(_) => Ok(()),
        other => check_document(other),
    })
}

/// Checks a document that is no string.
pub(super) fn check_document(document: &Value) -> Result<(), VendorError> {
    let members = document.as_object().ok_or_else(|| wrong_type("document", "object", document))?;
    only(members, &["id", "data"], "chat")?;
    if let Some(id) = members.get("id").filter(|id| !id.is_null() && !id.is_string()) {
        return Err(wrong_type("document.id", "string", id));
    }
    match members.get("data") {
        Some(Value::Object(data)) if !data.is_empty() => Ok(()),
        Some(Value::Object(_)) | None => Err(invalid("the data of a document must not be empty.")),
        Some(other) => Err(wrong_type("document.data", "object", other)),
    }
}
