//! Refuses what Anthropic refuses in the order and content of messages.

use serde_json::Value;

use super::super::vendor::VendorError;
use super::blocks;
use super::check::only;

const USER_BLOCKS: &[&str] = &["text", "image", "document", "tool_result", "search_result"];
const ASSISTANT_BLOCKS: &[&str] = &[
    "text",
    "tool_use",
    "thinking",
    "redacted_thinking",
    "server_tool_use",
    "web_search_tool_result",
    "code_execution_tool_result",
];

/// Checks all messages and returns them.
pub(super) fn check(messages: Option<&Value>) -> Result<&[Value], VendorError> {
    let messages = messages
        .and_then(Value::as_array)
        .ok_or_else(|| VendorError::invalid("messages: Input should be a valid array"))?;
    if messages.is_empty() {
        return Err(VendorError::invalid("messages: at least one message is required"));
    }
    for at in 0..messages.len() {
        check_message(messages, at)?;
    }
    if role(&messages[0]) != "user" {
        return Err(VendorError::invalid("messages: first message must use the \"user\" role"));
    }
    check_tool_order(messages)?;
    Ok(messages)
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

fn blocks_of(message: &Value) -> &[Value] {
    message.get("content").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn kind(block: &Value) -> &str {
    block.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn check_message(messages: &[Value], at: usize) -> Result<(), VendorError> {
    let (message, last) = (&messages[at], at + 1 == messages.len());
    let path = format!("messages.{at}");
    let members = message
        .as_object()
        .ok_or_else(|| VendorError::invalid(format!("{path}: Input should be a valid dictionary")))?;
    let role = match members.get("role").and_then(Value::as_str) {
        Some(role @ ("user" | "assistant")) => role,
        Some("system") => {
            return Err(VendorError::invalid(
                "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \
                 \"system\" as an input message role.",
            ));
        }
        Some(_) => {
            return Err(VendorError::invalid(format!("{path}.role: Input should be 'user' or 'assistant'")));
        }
        None => return Err(VendorError::invalid(format!("{path}.role: Field required"))),
    };
    only(members, &["role", "content"], &path)?;
    let last_assistant = last && role == "assistant";
    let empty = || {
        VendorError::invalid(format!(
            "{path}: all messages must have non-empty content except for the optional final assistant message"
        ))
    };
    match members.get("content") {
        None => Err(VendorError::invalid(format!("{path}.content: Field required"))),
        Some(Value::String(text)) if text.is_empty() && !last_assistant => Err(empty()),
        Some(Value::String(text)) if last_assistant && text.ends_with(char::is_whitespace) => {
            Err(VendorError::invalid("messages: final assistant content cannot end with trailing whitespace"))
        }
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(blocks)) if blocks.is_empty() && !last_assistant => Err(empty()),
        Some(Value::Array(blocks)) => {
            let kinds = if role == "user" { USER_BLOCKS } else { ASSISTANT_BLOCKS };
            for (number, block) in blocks.iter().enumerate() {
                blocks::check(block, &format!("{path}.content.{number}"), kinds)?;
            }
            Ok(())
        }
        Some(_) => Err(VendorError::invalid(format!("{path}.content: Input should be a valid array"))),
    }
}

/// Every use of a tool is answered at the start of the next message, all of them in that one.
fn check_tool_order(messages: &[Value]) -> Result<(), VendorError> {
    let id = |block: &Value, name: &str| block.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut uses: Vec<String> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        for (number, block) in blocks_of(message).iter().enumerate() {
            let Some(answers) = id(block, "tool_use_id").filter(|_| kind(block) == "tool_result") else {
                continue;
            };
            if !uses.contains(&answers) {
                return Err(VendorError::invalid(format!(
                    "messages.{at}.content.{number}: unexpected `tool_use_id` found in `tool_result` blocks: \
                     {answers}. Each `tool_result` block must have a corresponding `tool_use` block in the previous \
                     message."
                )));
            }
        }
        let results: Vec<_> = blocks_of(message)
            .iter()
            .take_while(|block| kind(block) == "tool_result")
            .filter_map(|block| id(block, "tool_use_id"))
            .collect();
        let open: Vec<_> = uses.iter().filter(|used| !results.contains(used)).cloned().collect();
        unanswered(&open, at)?;
        let used = blocks_of(message).iter().filter(|block| kind(block) == "tool_use");
        uses = used.filter_map(|block| id(block, "id")).collect();
    }
    unanswered(&uses, messages.len())
}

fn unanswered(open: &[String], at: usize) -> Result<(), VendorError> {
    if open.is_empty() {
        return Ok(());
    }
    Err(VendorError::invalid(format!(
        "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` \
         block must have a corresponding `tool_result` block in the next message.",
        at.saturating_sub(1),
        open.join(", ")
    )))
}

/// Where thinking is on, the assistant's turn that is still running must begin with a thinking block.
pub(super) fn check_thinking_order(messages: &[Value]) -> Result<(), VendorError> {
    let running = |message: &&Value| blocks_of(message).iter().any(|block| kind(block) == "tool_result");
    if !messages.last().as_ref().is_some_and(running) {
        return Ok(());
    }
    let Some(at) = messages.iter().rposition(|message| role(message) == "assistant") else { return Ok(()) };
    match blocks_of(&messages[at]).first().map_or("text", kind) {
        "thinking" | "redacted_thinking" => Ok(()),
        found => Err(VendorError::invalid(format!(
            "messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When \
             `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the \
             lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from \
             previous turns. To avoid this requirement, disable `thinking`."
        ))),
    }
}
