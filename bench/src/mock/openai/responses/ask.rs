//! Reads a checked request into what the answer depends on.

use serde_json::{Value, json};

use super::super::super::compose::{Ask, Choice, Tool};
use super::super::super::vendor::token_count;

/// Reads a request.
pub(super) fn read(body: &Value) -> Ask {
    let said;
    let items = match body.get("input") {
        Some(Value::Array(items)) => items.as_slice(),
        Some(text) => {
            said = [json!({ "role": "user", "content": text })];
            &said
        }
        None => &[],
    };
    let word = |item: &Value, name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
    let is_output = |item: &&Value| word(item, "type").as_deref() == Some("function_call_output");
    let user = items.iter().rev().find(|item| word(item, "role").as_deref() == Some("user"));
    let mut results: Vec<_> =
        items.iter().rev().take_while(is_output).map(|item| text_of(item.get("output"))).collect();
    results.reverse();
    let contents = || items.iter().flat_map(|item| [item.get("content"), item.get("output")]);
    let effort = body.pointer("/reasoning/effort").and_then(Value::as_str);
    Ask {
        model: word(body, "model").unwrap_or_default(),
        text: user.map(|item| text_of(item.get("content"))).unwrap_or_default(),
        tool_result: (!results.is_empty()).then(|| results.join(" and ")),
        images: contents().map(images_of).sum(),
        tools: tools(body),
        choice: choice(body),
        one_call: body.get("parallel_tool_calls") == Some(&json!(false)),
        stops: Vec::new(),
        max_tokens: body.get("max_output_tokens").and_then(Value::as_u64).and_then(|n| n.try_into().ok()),
        schema: schema(body),
        thinking: effort.is_some_and(|effort| effort != "none"),
        input_tokens: token_count(&text_of(body.get("instructions")))
            + items.len() * 4
            + contents().map(|content| token_count(&text_of(content))).sum::<usize>(),
        stream: body.get("stream") == Some(&json!(true)),
    }
}

/// The text of a content: a string, or all text parts together.
fn text_of(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text")?.as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn images_of(content: Option<&Value>) -> usize {
    let parts = content.and_then(Value::as_array).into_iter().flatten();
    parts.filter(|part| part.get("type") == Some(&json!("input_image"))).count()
}

fn tools(body: &Value) -> Vec<Tool> {
    let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
    let functions = tools.filter(|tool| tool.get("type") == Some(&json!("function")));
    functions
        .map(|tool| Tool {
            name: tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
            schema: tool.get("parameters").cloned().unwrap_or_else(|| json!({})),
        })
        .collect()
}

fn choice(body: &Value) -> Choice {
    match body.get("tool_choice") {
        Some(Value::String(word)) if word == "none" => Choice::Never,
        Some(Value::String(word)) if word == "required" => Choice::Any,
        Some(choice) => {
            let name = choice.get("name").and_then(Value::as_str);
            name.map_or(Choice::Auto, |name| Choice::Named(name.to_owned()))
        }
        None => Choice::Auto,
    }
}

fn schema(body: &Value) -> Option<Value> {
    let format = body.pointer("/text/format")?;
    match format.get("type")?.as_str()? {
        "json_schema" => format.get("schema").cloned(),
        "json_object" => Some(json!({})),
        _ => None,
    }
}
