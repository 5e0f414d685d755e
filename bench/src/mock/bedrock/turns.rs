//! Refuses what Bedrock refuses in the order and content of messages.

use serde_json::Value;

use super::super::compose::signature;
use super::super::vendor::{VendorError, decoded, sniffed};
use super::error::{invalid, of_model};

/// The blocks of a message.
pub(super) fn content(message: &Value) -> &[Value] {
    message.get("content").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whose message it is.
pub(super) fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

/// Checks all messages.
pub(super) fn check(messages: &[Value]) -> Result<(), VendorError> {
    if messages.first().is_none_or(|first| role(first) != "user") {
        return Err(invalid(
            "A conversation must start with a user message. Try again with a conversation that starts with a user \
             message.",
        ));
    }
    if messages.windows(2).any(|two| matches!(two, [first, second] if role(first) == role(second))) {
        return Err(invalid(
            "A conversation must alternate between user and assistant roles. Make sure the conversation alternates \
             between user and assistant roles and try again.",
        ));
    }
    let mut names = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let last = at + 1 == messages.len();
        check_message(message, at, last)?;
        check_documents(message, at, &mut names)?;
    }
    check_tool_order(messages)
}

fn check_message(message: &Value, at: usize, last: bool) -> Result<(), VendorError> {
    let blocks = content(message);
    if blocks.is_empty() {
        return Err(invalid(format!(
            "The content field in the Message object at messages.{at} is empty. Add a ContentBlock object to the \
             content field and try again."
        )));
    }
    let user = role(message) == "user";
    let foreign: &[&str] =
        if user { &["toolUse", "reasoningContent"] } else { &["toolResult", "image", "document", "video"] };
    for (number, block) in blocks.iter().enumerate() {
        let path = format!("messages.{at}.content.{number}");
        if let Some(kind) = foreign.iter().find(|kind| block.get(**kind).is_some()) {
            let whose = if user { "assistant" } else { "user" };
            return Err(invalid(format!("{path}: {kind} blocks are only allowed in {whose} messages.")));
        }
        check_block(block, &path)?;
    }
    let text = blocks.last().and_then(|block| block.get("text")?.as_str());
    if !user && last && text.is_some_and(|text| text.ends_with(char::is_whitespace)) {
        return Err(of_model("messages: final assistant content cannot end with trailing whitespace"));
    }
    Ok(())
}

fn check_block(block: &Value, path: &str) -> Result<(), VendorError> {
    if block.get("text").and_then(Value::as_str).is_some_and(|text| text.trim().is_empty()) {
        return Err(invalid(format!(
            "The text field in the ContentBlock object at {path} is blank. Add text to the text field, and try \
             again."
        )));
    }
    if let Some(image) = block.get("image") {
        check_image(image, path)?;
    }
    let name = block.pointer("/toolUse/name").and_then(Value::as_str);
    let legal = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if name.is_some_and(|name| !name.chars().all(legal)) {
        return Err(invalid(format!("{path}.toolUse.name: must satisfy the pattern [a-zA-Z0-9_-]+")));
    }
    for kind in ["toolUse", "toolResult"] {
        let id = block.pointer(&format!("/{kind}/toolUseId")).and_then(Value::as_str);
        if id.is_some_and(|id| !id.chars().all(|letter| legal(letter) || letter == '.' || letter == ':')) {
            return Err(invalid(format!(
                "{path}.{kind}.toolUseId: must satisfy the pattern [a-zA-Z0-9_.:-]+"
            )));
        }
    }
    if let Some(result) = block.get("toolResult") {
        let inner = content(result);
        if inner.is_empty() {
            return Err(invalid(format!(
                "The content field in the ToolResultBlock object at {path}.toolResult is empty."
            )));
        }
        for (number, part) in inner.iter().enumerate() {
            let path = format!("{path}.toolResult.content.{number}");
            if let Some(image) = part.get("image") {
                check_image(image, &path)?;
            }
        }
    }
    check_reasoning(block, path)
}

fn check_image(image: &Value, path: &str) -> Result<(), VendorError> {
    let format = image.get("format").and_then(Value::as_str).unwrap_or_default();
    let Some(bytes) = image.pointer("/source/bytes").and_then(Value::as_str) else { return Ok(()) };
    match decoded(bytes).as_deref().and_then(sniffed) {
        Some(real) if real == format!("image/{format}") => Ok(()),
        Some(real) => Err(of_model(format!(
            "{path}.image.source.base64: The image was specified using the image/{format} media type, but the \
             image appears to be a {real} image"
        ))),
        None => Err(of_model(format!("{path}.image.source.base64: Could not process image"))),
    }
}

fn check_reasoning(block: &Value, path: &str) -> Result<(), VendorError> {
    if let Some(text) = block.pointer("/reasoningContent/reasoningText") {
        let thought = text.get("text").and_then(Value::as_str).unwrap_or_default();
        match text.get("signature").and_then(Value::as_str) {
            None => return Err(of_model(format!("{path}.thinking.signature: Field required"))),
            Some(found) if found != signature(thought) => {
                return Err(of_model(format!("{path}: Invalid `signature` in `thinking` block")));
            }
            Some(_) => {}
        }
    }
    let redacted = block.pointer("/reasoningContent/redactedContent").and_then(Value::as_str);
    if redacted.is_some_and(|data| data != signature("redacted")) {
        return Err(of_model(format!("{path}: Invalid `data` in `redacted_thinking` block")));
    }
    Ok(())
}

/// Documents have names of few letters, no two of a conversation the same, and never stand without a text.
fn check_documents(message: &Value, at: usize, names: &mut Vec<String>) -> Result<(), VendorError> {
    let blocks = content(message);
    let documents = blocks.iter().filter_map(|block| block.get("document"));
    let mut found = false;
    for document in documents {
        found = true;
        let name = document.get("name").and_then(Value::as_str).unwrap_or_default();
        let legal = |letter: char| letter.is_ascii_alphanumeric() || " -()[]".contains(letter);
        if !name.chars().all(legal) || name.contains("  ") {
            return Err(invalid(
                "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, \
                 parentheses, and square brackets. The name can't contain more than one consecutive whitespace \
                 character.",
            ));
        }
        if names.iter().any(|known| known == name) {
            return Err(invalid("Messages contain more than one document with the same name."));
        }
        names.push(name.to_owned());
    }
    if found && !blocks.iter().any(|block| block.get("text").is_some()) {
        return Err(invalid(format!(
            "messages.{at}: Include a text block in a message that holds a document."
        )));
    }
    Ok(())
}

/// Every use of a tool has its result in the next message, and every result its use in the one before.
fn check_tool_order(messages: &[Value]) -> Result<(), VendorError> {
    let ids = |message: &Value, kind: &str| -> Vec<String> {
        let pointer = format!("/{kind}/toolUseId");
        let ids = content(message).iter().filter_map(|block| block.pointer(&pointer)?.as_str());
        ids.map(str::to_owned).collect()
    };
    let mut uses: Vec<String> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let results = ids(message, "toolResult");
        if results.len() > uses.len() {
            return Err(invalid(format!(
                "The number of toolResult blocks at messages.{at}.content exceeds the number of toolUse blocks of \
                 previous turn."
            )));
        }
        let open: Vec<_> = uses.iter().filter(|id| !results.contains(id)).cloned().collect();
        if !open.is_empty() {
            return Err(invalid(format!(
                "Expected toolResult blocks at messages.{at}.content for the following Ids: {}",
                open.join(", ")
            )));
        }
        uses = ids(message, "toolUse");
        let mut distinct = uses.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() < uses.len() {
            return Err(invalid("The toolUse blocks of a message contain duplicate Ids."));
        }
    }
    Ok(())
}

/// Where thinking is on, the assistant's turn that is still running must begin with a thought.
pub(super) fn check_thinking_order(messages: &[Value]) -> Result<(), VendorError> {
    let running = |message: &Value| content(message).iter().any(|block| block.get("toolResult").is_some());
    if !messages.last().is_some_and(running) {
        return Ok(());
    }
    let Some(at) = messages.iter().rposition(|message| role(message) == "assistant") else { return Ok(()) };
    let first = messages.get(at).and_then(|message| content(message).first());
    if first.is_some_and(|block| block.get("reasoningContent").is_some()) {
        return Ok(());
    }
    Err(of_model(format!(
        "messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found another block. When \
         `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the \
         lastmost set of `tool_use` and `tool_result` blocks)."
    )))
}
