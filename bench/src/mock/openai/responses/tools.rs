//! Refuses what OpenAI refuses in tools and the choice among them.

use serde_json::{Map, Value};

use super::super::super::vendor::VendorError;
use super::super::check::{invalid_value, missing, wrong_type};
use super::check::only;

/// Types of tools that the vendor runs, or that have a form of their own.
const OTHER_TYPES: &[&str] = &[
    "file_search",
    "web_search",
    "web_search_preview",
    "computer_use_preview",
    "mcp",
    "code_interpreter",
    "image_generation",
    "local_shell",
    "custom",
];

const FUNCTION_MEMBERS: &[&str] = &[
    "type",
    "name",
    "description",
    "parameters",
    "strict",
    "allowed_callers",
    "defer_loading",
    "output_schema",
];

/// Checks the tools and the choice.
pub(super) fn check(members: &Map<String, Value>) -> Result<(), VendorError> {
    let offered = match members.get("tools") {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(tools)) => tools,
        Some(other) => return Err(wrong_type("tools", "an array of objects", other)),
    };
    for (at, tool) in offered.iter().enumerate() {
        check_tool(tool, &format!("tools[{at}]"))?;
    }
    let words = ["none", "auto", "required"];
    match members.get("tool_choice") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(word)) if word == "required" && offered.is_empty() => {
            Err(VendorError::invalid("Tool choice 'required' must be specified with 'tools' parameter.")
                .at("tool_choice"))
        }
        Some(Value::String(word)) if words.contains(&word.as_str()) => Ok(()),
        Some(Value::String(word)) => Err(invalid_value("tool_choice", word, &words)),
        Some(Value::Object(choice)) if choice.get("type") == Some(&"function".into()) => {
            only(choice, &["type", "name"], "tool_choice.")?;
            let name = choice.get("name").ok_or_else(|| missing("tool_choice.name"))?;
            if offered.iter().any(|tool| tool.get("name") == Some(name)) {
                return Ok(());
            }
            Err(VendorError::invalid(format!(
                "Tool choice 'function' not found in 'tools' parameter: {name}."
            ))
            .at("tool_choice"))
        }
        Some(Value::Object(choice)) if choice.contains_key("type") => Ok(()),
        Some(Value::Object(_)) => Err(missing("tool_choice.type")),
        Some(other) => Err(wrong_type("tool_choice", "one of a string or an object", other)),
    }
}

fn check_tool(tool: &Value, path: &str) -> Result<(), VendorError> {
    let members = tool.as_object().ok_or_else(|| wrong_type(path, "an object", tool))?;
    match members.get("type").and_then(Value::as_str) {
        Some("function") => {}
        Some(kind) if OTHER_TYPES.contains(&kind) => return Ok(()),
        Some(other) => {
            let known: Vec<_> = [&["function"], OTHER_TYPES].concat();
            return Err(invalid_value(&format!("{path}.type"), other, &known));
        }
        None => return Err(missing(&format!("{path}.type"))),
    }
    only(members, FUNCTION_MEMBERS, &format!("{path}."))?;
    let name_path = format!("{path}.name");
    let name = members.get("name").and_then(Value::as_str).ok_or_else(|| missing(&name_path))?;
    let legal = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if name.is_empty() || !name.chars().all(legal) {
        return Err(VendorError::invalid(format!(
            "Invalid '{name_path}': string does not match pattern. Expected a string that matches the pattern \
             '^[a-zA-Z0-9_-]+$'."
        ))
        .at(name_path)
        .code("invalid_value"));
    }
    let schema_path = format!("{path}.parameters");
    match members.get("parameters") {
        None => Err(missing(&schema_path)),
        Some(schema @ Value::Object(_)) => {
            if members.get("strict") != Some(&Value::Bool(true)) || is_strict(schema) {
                return Ok(());
            }
            Err(VendorError::invalid(format!(
                "Invalid schema for function '{name}': In context=(), 'additionalProperties' is required to be \
                 supplied and to be false."
            ))
            .at(schema_path)
            .code("invalid_function_parameters"))
        }
        Some(Value::Null) => Ok(()),
        Some(other) => Err(wrong_type(&schema_path, "an object", other)),
    }
}

/// Whether a schema can be held to strictly: at the top, no other members are allowed.
pub(super) fn is_strict(schema: &Value) -> bool {
    schema.get("additionalProperties") == Some(&Value::Bool(false))
}
