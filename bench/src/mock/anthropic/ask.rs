//! Reads a checked request into what the answer depends on.

use serde_json::{Value, json};

use super::super::compose::{Ask, Choice, Tool};
use super::super::vendor::token_count;

/// Reads a request.
pub(super) fn read(body: &Value) -> Ask {
    let messages = body.get("messages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let texts = messages.iter().rev().filter(|message| message.get("role") == Some(&json!("user")));
    let text = texts.map(|message| text_of(message.get("content"))).find(|text| !text.is_empty());
    let results = messages.last().map(results_of).unwrap_or_default();
    let choice = body.get("tool_choice");
    let size = |value: Option<&Value>| token_count(&text_of(value));
    Ask {
        model: body.get("model").and_then(Value::as_str).unwrap_or_default().to_owned(),
        text: text.unwrap_or_default(),
        tool_result: (!results.is_empty()).then(|| results.join(" and ")),
        images: messages.iter().map(images_of).sum(),
        tools: tools(body),
        choice: read_choice(choice),
        one_call: choice.and_then(|choice| choice.get("disable_parallel_tool_use")) == Some(&json!(true)),
        stops: strings(body.get("stop_sequences")),
        max_tokens: body.get("max_tokens").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok()),
        schema: schema(body),
        thinking: body
            .pointer("/thinking/type")
            .and_then(Value::as_str)
            .is_some_and(|kind| kind != "disabled"),
        input_tokens: size(body.get("system"))
            + messages.iter().map(|message| size(message.get("content")) + 4).sum::<usize>(),
        stream: body.get("stream") == Some(&json!(true)),
    }
}

/// The text of a content: a string, or all text blocks and plain documents together.
fn text_of(content: Option<&Value>) -> String {
    let text = |part: &Value| {
        let plain = part.pointer("/source/type") == Some(&json!("text"));
        let text = if plain { part.pointer("/source/data") } else { part.get("text") };
        text.and_then(Value::as_str).map(str::to_owned)
    };
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(text).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

fn blocks_of(message: &Value) -> impl Iterator<Item = &Value> {
    message.get("content").and_then(Value::as_array).into_iter().flatten()
}

fn is(block: &Value, kind: &str) -> bool {
    block.get("type").and_then(Value::as_str) == Some(kind)
}

fn results_of(message: &Value) -> Vec<String> {
    let results = blocks_of(message).filter(|block| is(block, "tool_result"));
    results.map(|block| text_of(block.get("content"))).collect()
}

/// Images in a message and in its tool results.
fn images_of(message: &Value) -> usize {
    let count = |block: &Value| {
        if is(block, "tool_result") {
            blocks_of(block).filter(|part| is(part, "image")).count()
        } else {
            usize::from(is(block, "image"))
        }
    };
    blocks_of(message).map(count).sum()
}

fn tools(body: &Value) -> Vec<Tool> {
    let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
    tools
        .map(|tool| Tool {
            name: tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
            schema: tool.get("input_schema").cloned().unwrap_or_else(|| json!({})),
        })
        .collect()
}

fn read_choice(choice: Option<&Value>) -> Choice {
    let word = |name: &str| choice.and_then(|choice| choice.get(name)?.as_str());
    match word("type") {
        Some("none") => Choice::Never,
        Some("any") => Choice::Any,
        Some("tool") => Choice::Named(word("name").unwrap_or_default().to_owned()),
        _ => Choice::Auto,
    }
}

fn strings(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn schema(body: &Value) -> Option<Value> {
    let format = body.pointer("/output_config/format").or_else(|| body.get("output_format"))?;
    format.get("schema").cloned()
}
