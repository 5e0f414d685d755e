//! Refuses what Bedrock refuses in a request that has the right shape.

use serde_json::{Map, Value, json};

use super::super::anthropic;
use super::super::vendor::VendorError;
use super::ask::{FIELDS, thinks};
use super::error::{invalid, of_model};
use super::turns;

/// Members of Anthropic's own API that may stand among the fields of the model.
const CLAUDE_FIELDS: &[&str] = &[
    "anthropic_beta",
    "context_management",
    "metadata",
    "output_config",
    "reasoning_config",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
];

/// Stop texts that are taken.
const STOPS_MAX: usize = 2500;

/// Checks a request.
pub(super) fn request(model: &str, body: &Value) -> Result<(), VendorError> {
    let messages = body.get("messages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if model.is_empty() || model.contains(char::is_whitespace) {
        return Err(invalid("The provided model identifier is invalid."));
    }
    turns::check(messages)?;
    tools(body, messages)?;
    let stops = body.pointer("/inferenceConfig/stopSequences").and_then(Value::as_array);
    if stops.is_some_and(|stops| stops.len() > STOPS_MAX) {
        return Err(invalid(
            "inferenceConfig.stopSequences: Member must have length less than or equal to 2500",
        ));
    }
    paths(body)?;
    schema(body)?;
    if model.contains("anthropic") || model.contains("claude") {
        claude(body)?;
        if thinks(body) {
            turns::check_thinking_order(messages)?;
        }
    }
    Ok(())
}

fn tools(body: &Value, messages: &[Value]) -> Result<(), VendorError> {
    let mut blocks = messages.iter().flat_map(turns::content);
    let Some(tools) = body.pointer("/toolConfig/tools").and_then(Value::as_array) else {
        let uses = |block: &Value| block.get("toolUse").is_some() || block.get("toolResult").is_some();
        if blocks.any(uses) {
            return Err(invalid(
                "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
            ));
        }
        return Ok(());
    };
    if tools.is_empty() {
        return Err(invalid(
            "1 validation error detected: Value at 'toolConfig.tools' failed to satisfy constraint: Member must \
             have length greater than or equal to 1",
        ));
    }
    let mut names = Vec::new();
    for (at, spec) in tools.iter().enumerate().filter_map(|(at, tool)| Some((at, tool.get("toolSpec")?))) {
        let name = spec.get("name").and_then(Value::as_str).unwrap_or_default();
        let legal = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        if !name.chars().all(legal) {
            return Err(invalid(format!(
                "1 validation error detected: Value '{name}' at 'toolConfig.tools.{at}.member.toolSpec.name' failed \
                 to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+"
            )));
        }
        if names.contains(&name) {
            return Err(invalid("The tool names in toolConfig must be unique."));
        }
        names.push(name);
        if spec.pointer("/inputSchema/json/type") != Some(&json!("object")) {
            return Err(invalid(format!(
                "The value at toolConfig.tools.{at}.toolSpec.inputSchema.json.type must be one of the following: \
                 object."
            )));
        }
    }
    match body.pointer("/toolConfig/toolChoice/tool/name").and_then(Value::as_str) {
        Some(name) if !names.contains(&name) => {
            Err(invalid(format!("The tool {name} in toolChoice is not among the tools of toolConfig.")))
        }
        _ => Ok(()),
    }
}

fn paths(body: &Value) -> Result<(), VendorError> {
    let paths = body.get("additionalModelResponseFieldPaths").and_then(Value::as_array);
    let paths = paths.map_or(&[][..], Vec::as_slice);
    if paths.len() > 10 || paths.iter().any(|path| !path.as_str().is_some_and(|path| path.starts_with('/'))) {
        return Err(invalid("additionalModelResponseFieldPaths: up to 10 JSON pointers are allowed."));
    }
    Ok(())
}

/// The schema of an answer, as models of Anthropic take it.
fn schema(body: &Value) -> Result<(), VendorError> {
    let text = body.pointer("/outputConfig/textFormat/structure/jsonSchema/schema").and_then(Value::as_str);
    let Some(text) = text else { return Ok(()) };
    let schema: Value = serde_json::from_str(text)
        .map_err(|_| invalid("outputConfig.textFormat.structure.jsonSchema.schema: is not valid JSON"))?;
    anthropic::schema_problem(&schema).map_or(Ok(()), |problem| Err(of_model(&problem)))
}

/// What models of Anthropic refuse among their own fields.
fn claude(body: &Value) -> Result<(), VendorError> {
    let empty = Map::new();
    let fields = body.pointer(FIELDS).and_then(Value::as_object).unwrap_or(&empty);
    if let Some(name) = fields.keys().find(|name| !CLAUDE_FIELDS.contains(&name.as_str())) {
        return Err(of_model(format!("{name}: Extra inputs are not permitted")));
    }
    let mut members = Map::new();
    for name in ["thinking", "top_k", "tool_choice"] {
        members.extend(fields.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    let temperature = body.pointer("/inferenceConfig/temperature");
    members.extend(temperature.map(|value| ("temperature".to_owned(), value.clone())));
    let choice = body.pointer("/toolConfig/toolChoice").and_then(Value::as_object);
    if let Some(kind) = choice.and_then(|choice| choice.keys().next()) {
        members.insert("tool_choice".to_owned(), json!({ "type": kind }));
    }
    let max_tokens = body.pointer("/inferenceConfig/maxTokens").and_then(Value::as_i64).unwrap_or(i64::MAX);
    match anthropic::check_thinking(&members, max_tokens) {
        Ok(_) => Ok(()),
        Err(error) => Err(of_model(error.message)),
    }
}
