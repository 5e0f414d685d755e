//! Refuses what OpenAI refuses in a chat request.

use serde_json::{Map, Value};

use super::super::behaviour::Behaviour;
use super::super::vendor::VendorError;
use super::messages;

/// Top-level members of a chat request.
const MEMBERS: &[&str] = &[
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "moderation",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];

/// Checks a chat request.
pub(super) fn chat(body: &Value, behaviour: &Behaviour) -> Result<(), VendorError> {
    let members = body.as_object().ok_or_else(|| VendorError::invalid("The body must be an object."))?;
    known_members(members, MEMBERS)?;
    model(members)?;
    lengths(members, behaviour)?;
    numbers(members)?;
    stop(members)?;
    stream(members)?;
    tools(members)?;
    response_format(members)?;
    messages::check(members, behaviour)
}

/// Refuses members that the endpoint does not know.
pub(super) fn known_members(members: &Map<String, Value>, known: &[&str]) -> Result<(), VendorError> {
    let unknown: Vec<_> = members.keys().map(String::as_str).filter(|name| !known.contains(name)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let plural = if unknown.len() > 1 { "s" } else { "" };
    Err(VendorError::invalid(format!(
        "Unrecognized request argument{plural} supplied: {}",
        unknown.join(", ")
    )))
}

/// Requires a model.
pub(super) fn model(members: &Map<String, Value>) -> Result<(), VendorError> {
    match members.get("model") {
        Some(Value::String(name)) if !name.is_empty() => Ok(()),
        None | Some(Value::Null | Value::String(_)) => {
            Err(VendorError::invalid("you must provide a model parameter"))
        }
        Some(other) => Err(wrong_type("model", "a string", other)),
    }
}

/// The error for a value of the wrong type.
pub(super) fn wrong_type(path: &str, expected: &str, got: &Value) -> VendorError {
    let got = match got {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a decimal number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    VendorError::invalid(format!("Invalid type for '{path}': expected {expected}, but got {got} instead."))
        .at(path)
        .code("invalid_type")
}

/// Whether a model reasons before it answers.
pub(super) fn reasoning_model(model: &str) -> bool {
    let digit = |rest: &str| rest.starts_with(|letter: char| letter.is_ascii_digit());
    model.starts_with("gpt-5") || model.strip_prefix('o').is_some_and(digit)
}

fn lengths(members: &Map<String, Value>, behaviour: &Behaviour) -> Result<(), VendorError> {
    for name in ["max_tokens", "max_completion_tokens"] {
        let Some(value) = members.get(name).filter(|value| !value.is_null()) else { continue };
        let count = value.as_i64().ok_or_else(|| wrong_type(name, "an integer", value))?;
        if count < 1 {
            return Err(VendorError::invalid(format!(
                "Invalid '{name}': integer below minimum value. Expected a value >= 1, but got {count} instead."
            ))
            .at(name)
            .code("integer_below_min_value"));
        }
    }
    let set = |name: &str| members.get(name).is_some_and(|value| !value.is_null());
    if set("max_tokens") && set("max_completion_tokens") {
        return Err(VendorError::invalid(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
        )
        .at("max_tokens")
        .code("invalid_parameter_combination"));
    }
    let unsupported = |name: &str, instead: &str| {
        VendorError::invalid(format!(
            "Unsupported parameter: '{name}' is not supported with this model. Use '{instead}' instead."
        ))
        .at(name)
        .code("unsupported_parameter")
    };
    let model = members.get("model").and_then(Value::as_str).unwrap_or_default();
    if set("max_tokens") && reasoning_model(model) {
        return Err(unsupported("max_tokens", "max_completion_tokens"));
    }
    if set("max_completion_tokens") && behaviour.has("no_max_completion_tokens") {
        return Err(unsupported("max_completion_tokens", "max_tokens"));
    }
    Ok(())
}

fn numbers(members: &Map<String, Value>) -> Result<(), VendorError> {
    let ranges = [
        ("temperature", 0.0, 2.0),
        ("top_p", 0.0, 1.0),
        ("frequency_penalty", -2.0, 2.0),
        ("presence_penalty", -2.0, 2.0),
        ("n", 1.0, 128.0),
        ("top_logprobs", 0.0, 20.0),
    ];
    for (name, least, most) in ranges {
        let Some(value) = members.get(name).filter(|value| !value.is_null()) else { continue };
        let number = value.as_f64().ok_or_else(|| wrong_type(name, "a decimal", value))?;
        let (word, code, sign, bound) = if number < least {
            ("below minimum", "decimal_below_min_value", ">=", least)
        } else if number > most {
            ("above maximum", "decimal_above_max_value", "<=", most)
        } else {
            continue;
        };
        return Err(VendorError::invalid(format!(
            "Invalid '{name}': decimal {word} value. Expected a value {sign} {bound}, but got {value} instead."
        ))
        .at(name)
        .code(code));
    }
    Ok(())
}

fn stop(members: &Map<String, Value>) -> Result<(), VendorError> {
    match members.get("stop") {
        None | Some(Value::Null | Value::String(_)) => Ok(()),
        Some(Value::Array(stops)) if stops.len() > 4 => Err(VendorError::invalid(format!(
            "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length \
             {} instead.",
            stops.len()
        ))
        .at("stop")
        .code("array_above_max_length")),
        Some(Value::Array(stops)) if stops.iter().all(Value::is_string) => Ok(()),
        Some(other) => Err(wrong_type("stop", "one of a string or array of strings", other)),
    }
}

pub(super) fn stream(members: &Map<String, Value>) -> Result<(), VendorError> {
    let stream = match members.get("stream") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(stream)) => *stream,
        Some(other) => return Err(wrong_type("stream", "a boolean", other)),
    };
    match members.get("stream_options") {
        None | Some(Value::Null) => Ok(()),
        Some(_) if !stream => Err(VendorError::invalid(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        )
        .at("stream_options")),
        Some(Value::Object(options)) => {
            let known = ["include_usage", "include_obfuscation"];
            let unknown = options.keys().find(|name| !known.contains(&name.as_str()));
            unknown.map_or(Ok(()), |name| Err(unknown_parameter(&format!("stream_options.{name}"))))
        }
        Some(other) => Err(wrong_type("stream_options", "an object", other)),
    }
}

/// The error for an unknown member below the top level.
pub(super) fn unknown_parameter(path: &str) -> VendorError {
    VendorError::invalid(format!("Unknown parameter: '{path}'.")).at(path).code("unknown_parameter")
}

/// The error for a required member that is absent.
pub(super) fn missing(path: &str) -> VendorError {
    VendorError::invalid(format!("Missing required parameter: '{path}'."))
        .at(path)
        .code("missing_required_parameter")
}

/// The error for a word outside its list.
pub(super) fn invalid_value(path: &str, got: &str, supported: &[&str]) -> VendorError {
    let supported: Vec<_> = supported.iter().map(|word| format!("'{word}'")).collect();
    let (last, rest) = supported.split_last().map_or(("", &[][..]), |(last, rest)| (last, rest));
    VendorError::invalid(format!(
        "Invalid value: '{got}'. Supported values are: {}, and {last}.",
        rest.join(", ")
    ))
    .at(path)
    .code("invalid_value")
}

fn tools(members: &Map<String, Value>) -> Result<(), VendorError> {
    let offered = match members.get("tools") {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(tools)) if tools.is_empty() => {
            return Err(VendorError::invalid(
                "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array \
                 instead.",
            )
            .at("tools")
            .code("empty_array"));
        }
        Some(Value::Array(tools)) => tools,
        Some(other) => return Err(wrong_type("tools", "an array of objects", other)),
    };
    for (at, tool) in offered.iter().enumerate() {
        check_tool(tool, &format!("tools[{at}]"))?;
    }
    for name in ["tool_choice", "parallel_tool_calls"] {
        let set = members.get(name).is_some_and(|value| !value.is_null() && value != "none");
        if set && offered.is_empty() {
            return Err(VendorError::invalid(format!(
                "Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified."
            ))
            .at(name));
        }
    }
    match members.get("tool_choice") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(word)) if ["none", "auto", "required"].contains(&word.as_str()) => Ok(()),
        Some(Value::String(word)) => Err(invalid_value("tool_choice", word, &["none", "auto", "required"])),
        Some(choice) => {
            let name = choice.pointer("/function/name").and_then(Value::as_str);
            let name = name.ok_or_else(|| missing("tool_choice.function"))?;
            let offered = offered.iter().any(|tool| tool.pointer("/function/name") == Some(&name.into()));
            if offered {
                return Ok(());
            }
            Err(VendorError::invalid(format!("Tool choice '{name}' not found in 'tools' parameter."))
                .at("tool_choice"))
        }
    }
}

fn check_tool(tool: &Value, path: &str) -> Result<(), VendorError> {
    let members = tool.as_object().ok_or_else(|| wrong_type(path, "an object", tool))?;
    match members.get("type").and_then(Value::as_str) {
        Some("function") => {}
        Some("custom") => return Ok(()),
        Some(other) => {
            return Err(invalid_value(&format!("{path}.type"), other, &["function", "custom"]));
        }
        None => return Err(missing(&format!("{path}.type"))),
    }
    if let Some(name) = members.keys().find(|name| !["type", "function"].contains(&name.as_str())) {
        return Err(unknown_parameter(&format!("{path}.{name}")));
    }
    let function = members.get("function").and_then(Value::as_object);
    let function = function.ok_or_else(|| missing(&format!("{path}.function")))?;
    let known = ["name", "description", "parameters", "strict"];
    if let Some(name) = function.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(unknown_parameter(&format!("{path}.function.{name}")));
    }
    let name_path = format!("{path}.function.name");
    let name = function.get("name").and_then(Value::as_str).ok_or_else(|| missing(&name_path))?;
    let legal = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if name.is_empty() || !name.chars().all(legal) {
        return Err(VendorError::invalid(format!(
            "Invalid '{name_path}': string does not match pattern. Expected a string that matches the pattern \
             '^[a-zA-Z0-9_-]+$'."
        ))
        .at(name_path)
        .code("invalid_value"));
    }
    match function.get("parameters") {
        None | Some(Value::Null | Value::Object(_)) => Ok(()),
        Some(other) => Err(wrong_type(&format!("{path}.function.parameters"), "an object", other)),
    }
}

fn response_format(members: &Map<String, Value>) -> Result<(), VendorError> {
    let Some(format) = members.get("response_format").filter(|format| !format.is_null()) else {
        return Ok(());
    };
    match format.get("type").and_then(Value::as_str) {
        Some("text") => Ok(()),
        Some("json_object") => {
            let messages = members.get("messages").map(Value::to_string).unwrap_or_default();
            if messages.to_lowercase().contains("json") {
                return Ok(());
            }
            Err(VendorError::invalid(
                "'messages' must contain the word 'json' in some form, to use 'response_format' of type \
                 'json_object'.",
            )
            .at("messages"))
        }
        Some("json_schema") => {
            for member in ["name", "schema"] {
                if format.pointer(&format!("/json_schema/{member}")).is_none() {
                    return Err(missing(&format!("response_format.json_schema.{member}")));
                }
            }
            Ok(())
        }
        Some(other) => {
            Err(invalid_value("response_format.type", other, &["json_object", "json_schema", "text"]))
        }
        None => Err(missing("response_format.type")),
    }
}
