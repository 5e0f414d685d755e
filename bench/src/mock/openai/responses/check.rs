//! Refuses what OpenAI refuses at the top level of a request.

use serde_json::{Map, Value};

use super::super::super::behaviour::Behaviour;
use super::super::super::kept::Account;
use super::super::super::vendor::VendorError;
use super::super::check::{invalid_value, missing, reasoning_model, unknown_parameter, wrong_type};
use super::{items, tools};

/// Top-level members of a request.
const MEMBERS: &[&str] = &[
    "background",
    "context_management",
    "conversation",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "moderation",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

/// Those that count for the tokens of a request.
const COUNTED: &[&str] = &[
    "conversation",
    "input",
    "instructions",
    "model",
    "parallel_tool_calls",
    "previous_response_id",
    "reasoning",
    "text",
    "tool_choice",
    "tools",
    "truncation",
];

const INCLUDABLE: &[&str] = &[
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
];

const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh"];

type Members = Map<String, Value>;

/// Checks a request.
pub(super) fn request(body: &Value, behaviour: &Behaviour, account: Account<'_>) -> Result<(), VendorError> {
    let members = body.as_object().ok_or_else(|| VendorError::invalid("The body must be an object."))?;
    only(members, MEMBERS, "")?;
    let model = text(members, "model")?.ok_or_else(|| missing("model"))?;
    types(members)?;
    numbers(members)?;
    of_the_model(members, model)?;
    includes(members)?;
    stream(members)?;
    tools::check(members)?;
    format(members)?;
    text(members, "previous_response_id")?;
    items::check(members, behaviour, account)
}

/// Checks a request to count.
pub(super) fn counted(body: &Value) -> Result<(), VendorError> {
    let members = body.as_object().ok_or_else(|| VendorError::invalid("The body must be an object."))?;
    only(members, COUNTED, "")?;
    text(members, "model")?.map(drop).ok_or_else(|| missing("model"))
}

/// Refuses members that an object cannot have; `path` ends with a dot or is empty.
pub(super) fn only(members: &Members, known: &[&str], path: &str) -> Result<(), VendorError> {
    let unknown = members.keys().find(|name| !known.contains(&name.as_str()));
    unknown.map_or(Ok(()), |name| Err(unknown_parameter(&format!("{path}{name}"))))
}

/// A member that is a string, where it is set.
fn text<'a>(members: &'a Members, name: &str) -> Result<Option<&'a str>, VendorError> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong_type(name, "a string", other)),
    }
}

fn types(members: &Members) -> Result<(), VendorError> {
    for name in ["instructions", "user", "safety_identifier", "prompt_cache_key"] {
        let text = text(members, name)?;
        let (length, most) = (text.map_or(0, |text| text.chars().count()), 64);
        if name != "instructions" && length > most {
            return Err(too_long(name, length, most));
        }
    }
    for name in ["background", "parallel_tool_calls", "store", "stream"] {
        if let Some(other) = members.get(name).filter(|value| !value.is_null() && !value.is_boolean()) {
            return Err(wrong_type(name, "a boolean", other));
        }
    }
    let words: [(&str, &[&str]); 2] = [
        ("truncation", &["auto", "disabled"]),
        ("service_tier", &["auto", "default", "flex", "scale", "priority"]),
    ];
    for (name, known) in words {
        if let Some(word) = text(members, name)?.filter(|word| !known.contains(word)) {
            return Err(invalid_value(name, word, known));
        }
    }
    Ok(())
}

/// The error for a string beyond its length.
pub(super) fn too_long(path: &str, length: usize, most: usize) -> VendorError {
    VendorError::invalid(format!(
        "Invalid '{path}': string too long. Expected a string with maximum length {most}, but got a string with \
         length {length} instead."
    ))
    .at(path)
    .code("string_above_max_length")
}

fn numbers(members: &Members) -> Result<(), VendorError> {
    let ranges = [
        ("temperature", "decimal", 0.0, 2.0),
        ("top_p", "decimal", 0.0, 1.0),
        ("top_logprobs", "integer", 0.0, 20.0),
        ("max_output_tokens", "integer", 16.0, f64::MAX),
        ("max_tool_calls", "integer", 1.0, f64::MAX),
    ];
    for (name, kind, least, most) in ranges {
        let Some(value) = members.get(name).filter(|value| !value.is_null()) else { continue };
        let number = value.as_f64().filter(|_| kind == "decimal" || value.is_i64() || value.is_u64());
        let article = if kind == "integer" { "an" } else { "a" };
        let number = number.ok_or_else(|| wrong_type(name, &format!("{article} {kind}"), value))?;
        let (word, code, sign, bound) = if number < least {
            ("below minimum", "below_min_value", ">=", least)
        } else if number > most {
            ("above maximum", "above_max_value", "<=", most)
        } else {
            continue;
        };
        let code = match (kind, code) {
            ("integer", "below_min_value") => "integer_below_min_value",
            ("integer", _) => "integer_above_max_value",
            (_, "below_min_value") => "decimal_below_min_value",
            _ => "decimal_above_max_value",
        };
        return Err(VendorError::invalid(format!(
            "Invalid '{name}': {kind} {word} value. Expected a value {sign} {bound}, but got {value} instead."
        ))
        .at(name)
        .code(code));
    }
    Ok(())
}

/// Models that reason take no sampling, and the others no reasoning.
fn of_the_model(members: &Members, model: &str) -> Result<(), VendorError> {
    let unsupported = |name: &str| {
        VendorError::invalid(format!("Unsupported parameter: '{name}' is not supported with this model."))
            .at(name)
            .code("unsupported_parameter")
    };
    let set = |name: &str| members.get(name).is_some_and(|value| !value.is_null());
    let reasons = reasoning_model(model);
    let unwanted = ["temperature", "top_p", "top_logprobs"].into_iter().find(|name| reasons && set(name));
    if let Some(name) = unwanted {
        return Err(unsupported(name));
    }
    let Some(reasoning) = members.get("reasoning").filter(|reasoning| !reasoning.is_null()) else {
        return Ok(());
    };
    let inner = reasoning.as_object().ok_or_else(|| wrong_type("reasoning", "an object", reasoning))?;
    only(inner, &["effort", "summary", "generate_summary", "context", "mode"], "reasoning.")?;
    let words: [(&str, &[&str]); 2] = [("effort", EFFORTS), ("summary", &["concise", "detailed", "auto"])];
    for (name, known) in words {
        let path = format!("reasoning.{name}");
        match inner.get(name) {
            None | Some(Value::Null) => {}
            Some(_) if !reasons => return Err(unsupported(&path)),
            Some(Value::String(word)) if known.contains(&word.as_str()) => {}
            Some(Value::String(word)) => return Err(invalid_value(&path, word, known)),
            Some(other) => return Err(wrong_type(&path, "a string", other)),
        }
    }
    Ok(())
}

fn includes(members: &Members) -> Result<(), VendorError> {
    let list = match members.get("include") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(list)) => list,
        Some(other) => return Err(wrong_type("include", "an array of strings", other)),
    };
    let model = members.get("model").and_then(Value::as_str).unwrap_or_default();
    for (at, what) in list.iter().enumerate() {
        let path = format!("include[{at}]");
        let word = what.as_str().ok_or_else(|| wrong_type(&path, "a string", what))?;
        if !INCLUDABLE.contains(&word) {
            return Err(invalid_value(&path, word, INCLUDABLE));
        }
        if word == "reasoning.encrypted_content" && !reasoning_model(model) {
            return Err(
                VendorError::invalid("Encrypted content is not supported with this model.").at("include")
            );
        }
    }
    Ok(())
}

fn stream(members: &Members) -> Result<(), VendorError> {
    let options = match members.get("stream_options") {
        None | Some(Value::Null) => return Ok(()),
        Some(options) => options,
    };
    if members.get("stream") != Some(&Value::Bool(true)) {
        return Err(VendorError::invalid(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        )
        .at("stream_options"));
    }
    let options = options.as_object().ok_or_else(|| wrong_type("stream_options", "an object", options))?;
    only(options, &["include_obfuscation"], "stream_options.")
}

/// The form of the answer.
fn format(members: &Members) -> Result<(), VendorError> {
    let Some(text) = members.get("text").filter(|text| !text.is_null()) else { return Ok(()) };
    let text = text.as_object().ok_or_else(|| wrong_type("text", "an object", text))?;
    only(text, &["format", "verbosity"], "text.")?;
    let Some(format) = text.get("format").filter(|format| !format.is_null()) else { return Ok(()) };
    let format = format.as_object().ok_or_else(|| wrong_type("text.format", "an object", format))?;
    match format.get("type").and_then(Value::as_str) {
        Some("text") => only(format, &["type"], "text.format."),
        Some("json_object") => {
            only(format, &["type"], "text.format.")?;
            let input = members.get("input").map(Value::to_string).unwrap_or_default();
            if input.to_lowercase().contains("json") {
                return Ok(());
            }
            Err(VendorError::invalid(
                "Response input messages must contain the word 'json' in some form to use 'text.format' of type \
                 'json_object'.",
            )
            .at("input"))
        }
        Some("json_schema") => {
            only(format, &["type", "name", "description", "schema", "strict"], "text.format.")?;
            let name = format.get("name").ok_or_else(|| missing("text.format.name"))?;
            let schema = format.get("schema").ok_or_else(|| missing("text.format.schema"))?;
            if format.get("strict") != Some(&Value::Bool(true)) || tools::is_strict(schema) {
                return Ok(());
            }
            let name = name.as_str().unwrap_or_default();
            Err(VendorError::invalid(format!(
                "Invalid schema for response_format '{name}': In context=(), 'additionalProperties' is required to \
                 be supplied and to be false."
            ))
            .at("text.format.schema")
            .code("invalid_json_schema"))
        }
        Some(other) => Err(invalid_value("text.format.type", other, &["json_object", "json_schema", "text"])),
        None => Err(missing("text.format.type")),
    }
}
