//! Reads a checked request into what the answer depends on.

use serde_json::{Value, json};

use super::super::compose::{Ask, Choice, Tool};
use super::super::vendor::token_count;

/// Reads a request.
pub(super) fn read(body: &Value) -> Ask {
    let messages = body.get("messages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is = |message: &Value, role: &str| message.get("role").and_then(Value::as_str) == Some(role);
    let user = messages.iter().rev().find(|message| is(message, "user"));
    let mut results: Vec<_> =
        messages.iter().rev().take_while(|message| is(message, "tool")).map(text_of).collect();
    results.reverse();
    Ask {
        model: body.get("model").and_then(Value::as_str).unwrap_or_default().to_owned(),
        text: user.map(text_of).unwrap_or_default(),
        tool_result: (!results.is_empty()).then(|| results.join(" and ")),
        images: messages.iter().map(images_of).sum(),
        tools: tools(body),
        choice: match body.get("tool_choice").and_then(Value::as_str) {
            Some("REQUIRED") => Choice::Any,
            Some("NONE") => Choice::Never,
            _ => Choice::Auto,
        },
        one_call: false,
        stops: strings(body.get("stop_sequences")),
        max_tokens: body.get("max_tokens").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok()),
        schema: schema(body),
        thinking: body.pointer("/thinking/type") == Some(&json!("enabled")),
        input_tokens: messages.iter().map(|message| token_count(&text_of(message)) + 4).sum(),
        stream: body.get("stream") == Some(&json!(true)),
    }
}

/// The text of a message: a string, or all text parts and documents together.
fn text_of(message: &Value) -> String {
    let part = |part: &Value| match part.get("document") {
        Some(document) => document.pointer("/data/text").and_then(Value::as_str).map(str::to_owned),
        None => part.get("text").and_then(Value::as_str).map(str::to_owned),
    };
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(part).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

fn images_of(message: &Value) -> usize {
    let parts = message.get("content").and_then(Value::as_array).into_iter().flatten();
    parts.filter(|part| part.get("type") == Some(&json!("image_url"))).count()
}

fn tools(body: &Value) -> Vec<Tool> {
    let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
    let functions = tools.filter_map(|tool| tool.get("function"));
    functions
        .map(|function| Tool {
            name: function.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
            schema: function.get("parameters").cloned().unwrap_or_else(|| json!({})),
        })
        .collect()
}

fn strings(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn schema(body: &Value) -> Option<Value> {
    let format = body.get("response_format")?;
    let schema = || format.get("json_schema").cloned().unwrap_or_else(|| json!({}));
    (format.get("type") == Some(&json!("json_object"))).then(schema)
}
