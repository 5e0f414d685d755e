//! Refuses what Anthropic refuses in a request, but for its messages.

use serde_json::{Map, Value};

use super::super::vendor::VendorError;
use super::{blocks, messages};

/// Top-level members.
const MEMBERS: &[&str] = &[
    "cache_control",
    "container",
    "inference_geo",
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];
/// Top-level members that need an `anthropic-beta` header.
pub(super) const BETA_MEMBERS: &[&str] = &["context_management", "mcp_servers", "output_format", "speed"];

/// Checks a request; `beta_members` may stand at the top level beside the usual ones.
pub(super) fn request(body: &Value, beta_members: &[&str]) -> Result<(), VendorError> {
    let members = body.as_object().ok_or_else(|| {
        VendorError::invalid("Input should be a valid dictionary or object to extract fields from")
    })?;
    for name in ["model", "max_tokens", "messages"] {
        if !members.contains_key(name) {
            return Err(VendorError::invalid(format!("{name}: Field required")));
        }
    }
    let known = |name: &str| MEMBERS.contains(&name) || beta_members.contains(&name);
    if let Some(name) = members.keys().find(|name| !known(name)) {
        return Err(extra(name));
    }
    if members.get("model").and_then(Value::as_str).is_none_or(str::is_empty) {
        return Err(VendorError::invalid("model: String should have at least 1 character"));
    }
    let max_tokens = integer(members, "max_tokens", 1)?;
    numbers(members)?;
    stops(members)?;
    stream(members)?;
    metadata(members)?;
    system(members)?;
    tools(members)?;
    for format in ["/output_config/format/schema", "/output_format/schema"] {
        if let Some(problem) = body.pointer(format).and_then(schema_problem) {
            return Err(VendorError::invalid(problem));
        }
    }
    let messages = messages::check(members.get("messages"))?;
    if thinking(members, max_tokens)? {
        messages::check_thinking_order(messages)?;
    }
    blocks::check_cache_marks(body)
}

/// What is said of the schema of an answer that is not supported.
pub(crate) fn schema_problem(schema: &Value) -> Option<String> {
    if is_closed(schema) {
        return bound(schema);
    }
    let open = "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false";
    Some(open.to_owned())
}

/// Whether the objects of a schema say that nothing else may stand in them.
fn is_closed(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            let open = members.get("type").and_then(Value::as_str) == Some("object")
                && members.get("additionalProperties") != Some(&Value::Bool(false));
            !open && members.values().all(is_closed)
        }
        Value::Array(elements) => elements.iter().all(is_closed),
        _ => true,
    }
}

/// Bounds that are not supported.
const BOUNDS: [&str; 7] =
    ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"];

/// What is said of the first bound in a schema.
fn bound(schema: &Value) -> Option<String> {
    let Value::Object(members) = schema else { return schema.as_array()?.iter().find_map(bound) };
    let own = BOUNDS.iter().find(|name| members.get(**name).is_some_and(Value::is_number));
    let kind = || members.get("type").and_then(Value::as_str).unwrap_or_default();
    own.map(|name| {
        format!("output_config.format.schema: For '{}' type, property '{name}' is not supported", kind())
    })
    .or_else(|| members.values().find_map(bound))
}

/// The error for a member that must not be there.
pub(super) fn extra(path: &str) -> VendorError {
    VendorError::invalid(format!("{path}: Extra inputs are not permitted"))
}

/// Refuses members outside the list.
pub(super) fn only(members: &Map<String, Value>, known: &[&str], path: &str) -> Result<(), VendorError> {
    let unknown = members.keys().find(|name| !known.contains(&name.as_str()));
    unknown.map_or(Ok(()), |name| Err(extra(&format!("{path}.{name}"))))
}

fn integer(members: &Map<String, Value>, name: &str, least: i64) -> Result<i64, VendorError> {
    let number = members.get(name).and_then(Value::as_i64);
    let number =
        number.ok_or_else(|| VendorError::invalid(format!("{name}: Input should be a valid integer")))?;
    if number < least {
        return Err(VendorError::invalid(format!(
            "{name}: Input should be greater than or equal to {least}"
        )));
    }
    Ok(number)
}

fn numbers(members: &Map<String, Value>) -> Result<(), VendorError> {
    for (name, most) in [("temperature", 1.0), ("top_p", 1.0), ("top_k", f64::MAX)] {
        let Some(value) = members.get(name) else { continue };
        let number = value.as_f64();
        let number =
            number.ok_or_else(|| VendorError::invalid(format!("{name}: Input should be a valid number")))?;
        if !(0.0..=most).contains(&number) {
            return Err(VendorError::invalid(format!("{name}: range: 0..1")));
        }
    }
    Ok(())
}

fn stops(members: &Map<String, Value>) -> Result<(), VendorError> {
    let Some(stops) = members.get("stop_sequences") else { return Ok(()) };
    let stops = stops
        .as_array()
        .ok_or_else(|| VendorError::invalid("stop_sequences: Input should be a valid array"))?;
    for (at, stop) in stops.iter().enumerate() {
        match stop.as_str() {
            None => {
                return Err(VendorError::invalid(format!(
                    "stop_sequences.{at}: Input should be a valid string"
                )));
            }
            Some(stop) if stop.trim().is_empty() => {
                return Err(VendorError::invalid(
                    "stop_sequences: each stop sequence must contain non-whitespace",
                ));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn stream(members: &Map<String, Value>) -> Result<(), VendorError> {
    match members.get("stream") {
        None | Some(Value::Bool(_)) => Ok(()),
        Some(_) => Err(VendorError::invalid("stream: Input should be a valid boolean")),
    }
}

fn metadata(members: &Map<String, Value>) -> Result<(), VendorError> {
    let Some(metadata) = members.get("metadata") else { return Ok(()) };
    let metadata = metadata
        .as_object()
        .ok_or_else(|| VendorError::invalid("metadata: Input should be a valid dictionary"))?;
    only(metadata, &["user_id"], "metadata")
}

fn system(members: &Map<String, Value>) -> Result<(), VendorError> {
    match members.get("system") {
        None | Some(Value::String(_)) => Ok(()),
        Some(Value::Array(parts)) => {
            for (at, part) in parts.iter().enumerate() {
                let path = format!("system.{at}");
                if part.get("type").and_then(Value::as_str) != Some("text") {
                    return Err(VendorError::invalid(format!("{path}.type: Input should be 'text'")));
                }
                blocks::check(part, &path, &["text"])?;
            }
            Ok(())
        }
        Some(_) => Err(VendorError::invalid("system: Input should be a valid string")),
    }
}

/// Members of a tool that the client runs.
const TOOL_MEMBERS: &[&str] = &[
    "type",
    "name",
    "description",
    "input_schema",
    "cache_control",
    "strict",
    "eager_input_streaming",
    "defer_loading",
    "allowed_callers",
    "input_examples",
];

fn tools(members: &Map<String, Value>) -> Result<(), VendorError> {
    let tools = match members.get("tools") {
        None => &[][..],
        Some(Value::Array(tools)) => tools,
        Some(_) => return Err(VendorError::invalid("tools: Input should be a valid array")),
    };
    let mut names = Vec::new();
    for (at, tool) in tools.iter().enumerate() {
        check_tool(tool, at)?;
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        if names.contains(&name) {
            return Err(VendorError::invalid("tools: Tool names must be unique."));
        }
        names.push(name);
    }
    let Some(choice) = members.get("tool_choice") else { return Ok(()) };
    let choice = choice
        .as_object()
        .ok_or_else(|| VendorError::invalid("tool_choice: Input should be a valid dictionary"))?;
    only(choice, &["type", "name", "disable_parallel_tool_use"], "tool_choice")?;
    let name = choice.get("name").and_then(Value::as_str);
    match choice.get("type").and_then(Value::as_str) {
        Some("auto" | "any") if tools.is_empty() => {
            Err(VendorError::invalid("tool_choice may only be specified while providing tools."))
        }
        Some("auto" | "any" | "none") => Ok(()),
        Some("tool") => match name {
            None => Err(VendorError::invalid("tool_choice.tool.name: Field required")),
            Some(name) if names.contains(&name) => Ok(()),
            Some(name) => Err(VendorError::invalid(format!("Tool '{name}' not found in provided tools"))),
        },
        _ => Err(VendorError::invalid(
            "tool_choice: Input tag does not match any of the expected tags: 'auto', 'any', 'tool', 'none'",
        )),
    }
}

fn check_tool(tool: &Value, at: usize) -> Result<(), VendorError> {
    let path = format!("tools.{at}.custom");
    let members = tool
        .as_object()
        .ok_or_else(|| VendorError::invalid(format!("tools.{at}: Input should be a valid dictionary")))?;
    if members.get("type").and_then(Value::as_str).is_some_and(|kind| kind != "custom") {
        return Ok(());
    }
    only(members, TOOL_MEMBERS, &path)?;
    let name = members.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| VendorError::invalid(format!("{path}.name: Field required")))?;
    let legal = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if name.is_empty() || name.len() > 128 || !name.chars().all(legal) {
        return Err(VendorError::invalid(format!(
            "{path}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        )));
    }
    let schema = members.get("input_schema");
    let schema =
        schema.ok_or_else(|| VendorError::invalid(format!("{path}.input_schema: Field required")))?;
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => Ok(()),
        None => Err(VendorError::invalid(format!("{path}.input_schema.type: Field required"))),
        Some(_) => Err(VendorError::invalid(format!("{path}.input_schema.type: Input should be 'object'"))),
    }
}

/// Whether thinking is on.
pub(crate) fn thinking(members: &Map<String, Value>, max_tokens: i64) -> Result<bool, VendorError> {
    let Some(thinking) = members.get("thinking") else { return Ok(false) };
    let settings = thinking
        .as_object()
        .ok_or_else(|| VendorError::invalid("thinking: Input should be a valid dictionary"))?;
    let kind = settings.get("type").and_then(Value::as_str).unwrap_or_default();
    only(settings, &["type", "budget_tokens", "display"], "thinking")?;
    match kind {
        "disabled" => return Ok(false),
        "adaptive" => {}
        "enabled" => {
            let budget = settings.get("budget_tokens").and_then(Value::as_i64);
            let budget = budget
                .ok_or_else(|| VendorError::invalid("thinking.enabled.budget_tokens: Field required"))?;
            if budget < 1024 {
                return Err(VendorError::invalid(
                    "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
                ));
            }
            if budget >= max_tokens {
                return Err(VendorError::invalid(
                    "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation \
                     at https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
                ));
            }
        }
        _ => {
            return Err(VendorError::invalid(format!(
                "thinking: Input tag '{kind}' found using 'type' does not match any of the expected tags: \
                 'adaptive', 'disabled', 'enabled'"
            )));
        }
    }
    if members.get("temperature").and_then(Value::as_f64).is_some_and(|number| number < 1.0) {
        return Err(VendorError::invalid("`temperature` may only be set to 1 when thinking is enabled."));
    }
    if members.contains_key("top_k") {
        return Err(VendorError::invalid("`top_k` must be unset when thinking is enabled."));
    }
    let forced = members.get("tool_choice").and_then(|choice| choice.get("type")?.as_str());
    if matches!(forced, Some("any" | "tool")) {
        return Err(VendorError::invalid("Thinking may not be enabled when tool_choice forces tool use."));
    }
    Ok(true)
}
