//! Refuses what Gemini refuses in a request that has the right shape.

use serde_json::{Value, json};

use super::super::vendor::VendorError;
use super::ask::{contents, functions, is_third};
use super::contents;
use super::error::{invalid, member};

/// Stop texts that are taken.
const STOPS_MAX: usize = 5;

/// Keywords of JSON Schema that are not taken.
const KEYWORDS_REFUSED: &[&str] = &[
    "$schema",
    "allOf",
    "const",
    "contains",
    "definitions",
    "dependencies",
    "dependentRequired",
    "else",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "if",
    "multipleOf",
    "not",
    "patternProperties",
    "propertyNames",
    "strict",
    "then",
    "unevaluatedProperties",
    "uniqueItems",
];

/// Levels of a schema that are looked at.
const LEVELS_MAX: usize = 64;

/// Checks a request.
pub(super) fn request(model: &str, body: &Value) -> Result<(), VendorError> {
    contents::check(model, contents(body))?;
    if let Some(system) = body.get("systemInstruction") {
        contents::check_content(model, system, "system_instruction")?;
    }
    let named = body.get("model").and_then(Value::as_str);
    if named.is_some_and(|named| named.trim_start_matches("models/") != model) {
        return Err(invalid("Model name in the body does not match the model name in the URL."));
    }
    tools(body)?;
    choice(body)?;
    config(model, body)
}

fn tools(body: &Value) -> Result<(), VendorError> {
    let all = body.get("tools").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (at, tool) in all.iter().enumerate() {
        if tool.as_object().is_some_and(serde_json::Map::is_empty) {
            return Err(member(&format!("tools[{at}]"), "must have one initialized field"));
        }
    }
    let mut names = Vec::new();
    for (at, function) in functions(body).enumerate() {
        let path = format!("tools[0].function_declarations[{at}]");
        let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
        let first = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
        let legal = |letter: char| letter.is_ascii_alphanumeric() || "_.:-".contains(letter);
        if !name.starts_with(first) || !name.chars().all(legal) || name.len() > 128 {
            return Err(member(
                &format!("{path}.name"),
                "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, \
                 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.",
            ));
        }
        if names.contains(&name) {
            return Err(invalid(format!("Duplicate function declaration found: {name}")));
        }
        names.push(name);
        if function.get("parameters").is_some() && function.get("parametersJsonSchema").is_some() {
            return Err(member(&path, "parameters and parameters_json_schema are mutually exclusive"));
        }
        if let Some(parameters) = function.get("parameters") {
            own_schema(parameters, &format!("{path}.parameters"))?;
        }
        if let Some(schema) = function.get("parametersJsonSchema") {
            json_schema(schema, &format!("{path}.parameters_json_schema"), 0)?;
            if schema.get("type").is_some_and(|kind| kind != "object") {
                return Err(member(&format!("{path}.parameters_json_schema.type"), "must be object"));
            }
        }
    }
    Ok(())
}

/// The vendor's own form: an object must have members, an array must say of what.
fn own_schema(schema: &Value, path: &str) -> Result<(), VendorError> {
    let properties = schema.get("properties").and_then(Value::as_object);
    match schema.get("type").and_then(Value::as_str) {
        Some("OBJECT") if properties.is_none_or(serde_json::Map::is_empty) => {
            return Err(member(&format!("{path}.properties"), "should be non-empty for OBJECT type"));
        }
        Some("ARRAY") if schema.get("items").is_none() => {
            return Err(member(&format!("{path}.items"), "missing field."));
        }
        None if schema.get("anyOf").is_none() => return Err(member(path, "type must be specified")),
        _ => {}
    }
    for (name, inner) in properties.into_iter().flatten() {
        own_schema(inner, &format!("{path}.properties[{name}]"))?;
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for (at, name) in required.filter_map(Value::as_str).enumerate() {
        if !properties.is_some_and(|properties| properties.contains_key(name)) {
            return Err(member(&format!("{path}.required[{at}]"), "property is not defined"));
        }
    }
    schema.get("items").map_or(Ok(()), |items| own_schema(items, &format!("{path}.items")))
}

/// JSON Schema, of which a part is taken.
fn json_schema(schema: &Value, path: &str, level: usize) -> Result<(), VendorError> {
    let Some(members) = schema.as_object().filter(|_| level < LEVELS_MAX) else { return Ok(()) };
    if let Some(name) = members.keys().find(|name| KEYWORDS_REFUSED.contains(&name.as_str())) {
        return Err(invalid(format!(
            "Invalid JSON payload received. Unknown name \"{name}\" at '{path}': Cannot find field."
        )));
    }
    for (name, value) in members {
        let path = format!("{path}.{name}");
        match name.as_str() {
            "properties" | "$defs" => {
                let inner = value.as_object().into_iter().flatten();
                for (name, inner) in inner {
                    json_schema(inner, &format!("{path}[{name}]"), level + 1)?;
                }
            }
            "items" | "additionalProperties" => json_schema(value, &path, level + 1)?,
            "anyOf" | "oneOf" | "prefixItems" => {
                for inner in value.as_array().into_iter().flatten() {
                    json_schema(inner, &path, level + 1)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn choice(body: &Value) -> Result<(), VendorError> {
    let Some(config) = body.pointer("/toolConfig/functionCallingConfig") else { return Ok(()) };
    let mode = config.get("mode").and_then(Value::as_str).unwrap_or("AUTO");
    let allowed = config.get("allowedFunctionNames").and_then(Value::as_array);
    if functions(body).next().is_none() && mode == "ANY" {
        return Err(invalid("Function calling config is set without function_declarations."));
    }
    let Some(allowed) = allowed.filter(|allowed| !allowed.is_empty()) else { return Ok(()) };
    if !["ANY", "VALIDATED"].contains(&mode) {
        return Err(invalid("allowed_function_names should only be set when function calling mode is ANY."));
    }
    let declared = |name: &&Value| functions(body).any(|function| function.get("name") == Some(name));
    match allowed.iter().find(|name| !declared(name)) {
        Some(name) => Err(invalid(format!(
            "tool_config.function_calling_config.allowed_function_names contains {name}, which is not in \
             function_declarations"
        ))),
        None => Ok(()),
    }
}

fn config(model: &str, body: &Value) -> Result<(), VendorError> {
    let Some(config) = body.get("generationConfig") else { return Ok(()) };
    let has = |name: &str| config.get(name).is_some();
    let stops = config.get("stopSequences").and_then(Value::as_array);
    if stops.is_some_and(|stops| stops.len() > STOPS_MAX) {
        return Err(invalid("The number of stop_sequences must be at most 5."));
    }
    if has("logprobs") && config.get("responseLogprobs") != Some(&json!(true)) {
        return Err(invalid("logprobs is set without response_logprobs."));
    }
    let is_json = config.get("responseMimeType") == Some(&json!("application/json"));
    if has("responseSchema") && has("responseJsonSchema") {
        return Err(invalid("response_schema and response_json_schema are mutually exclusive."));
    }
    for (name, shown) in
        [("responseSchema", "response_schema"), ("responseJsonSchema", "response_json_schema")]
    {
        if has(name) && !is_json && config.get("responseMimeType") != Some(&json!("text/x.enum")) {
            return Err(member(
                &format!("generation_config.{shown}"),
                "only allowed when response_mime_type is set to a JSON type.",
            ));
        }
    }
    if let Some(schema) = config.get("responseSchema") {
        own_schema(schema, "generation_config.response_schema")?;
    }
    if let Some(schema) = config.get("responseJsonSchema") {
        json_schema(schema, "generation_config.response_json_schema", 0)?;
    }
    if is_json && functions(body).next().is_some() && !is_third(model) {
        return Err(invalid("Function calling with a response mime type: 'application/json' is unsupported"));
    }
    config.get("thinkingConfig").map_or(Ok(()), |thinking| check_thinking(model, thinking))
}

/// Older models are told a budget within bounds; newer ones a level or a budget.
fn check_thinking(model: &str, thinking: &Value) -> Result<(), VendorError> {
    let budget = thinking.get("thinkingBudget").and_then(Value::as_i64);
    let level = thinking.get("thinkingLevel").is_some();
    if budget.is_some() && level {
        return Err(invalid("You can only set only one of thinking budget and thinking level."));
    }
    if is_third(model) {
        return Ok(());
    }
    if level {
        return Err(invalid("Thinking level is not supported for this model."));
    }
    if model.starts_with("gemini-2.0") || model.starts_with("gemini-1") {
        return Err(invalid("Thinking is not supported by this model."));
    }
    let (least, most) = if model.contains("pro") { (128, 32_768) } else { (0, 24_576) };
    match budget.filter(|budget| *budget != -1 && !(least..=most).contains(budget)) {
        Some(budget) => Err(invalid(format!(
            "The thinking budget {budget} is invalid. Please choose a value between {least} and {most}."
        ))),
        None => Ok(()),
    }
}
