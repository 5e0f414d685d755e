//! Reads a checked chat request into what the answer depends on.

use serde_json::{Value, json};

use super::super::compose::{Ask, Choice, Tool};
use super::super::vendor::token_count;

/// Reads a chat request.
pub(super) fn read(body: &Value) -> Ask {
    let messages = body.get("messages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let role = |message: &Value| message.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
    let user = messages.iter().rev().find(|message| role(message) == "user");
    let results: Vec<_> =
        messages.iter().rev().take_while(|message| role(message) == "tool").map(text_of).collect();
    let number = |name: &str| body.get(name).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    Ask {
        model: body.get("model").and_then(Value::as_str).unwrap_or_default().to_owned(),
        text: user.map(text_of).unwrap_or_default(),
        tool_result: (!results.is_empty())
            .then(|| results.into_iter().rev().collect::<Vec<_>>().join(" and ")),
        images: messages.iter().map(images_of).sum(),
        tools: tools(body),
        choice: choice(body),
        one_call: body.get("parallel_tool_calls") == Some(&json!(false)),
        stops: stops(body.get("stop")),
        max_tokens: number("max_completion_tokens").or(number("max_tokens")),
        schema: schema(body),
        thinking: false,
        input_tokens: messages.iter().map(|message| token_count(&text_of(message)) + 4).sum(),
        stream: body.get("stream") == Some(&json!(true)),
    }
}

/// The text of a message: a string, or all text parts together.
fn text_of(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text")?.as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn images_of(message: &Value) -> usize {
    let parts = message.get("content").and_then(Value::as_array);
    parts.into_iter().flatten().filter(|part| part.get("type") == Some(&json!("image_url"))).count()
}

fn tools(body: &Value) -> Vec<Tool> {
    let tools = body.get("tools").and_then(Value::as_array);
    let functions = tools.into_iter().flatten().filter_map(|tool| tool.get("function"));
    functions
        .map(|function| Tool {
            name: function.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
            schema: function.get("parameters").cloned().unwrap_or_else(|| json!({})),
        })
        .collect()
}

fn choice(body: &Value) -> Choice {
    match body.get("tool_choice") {
        Some(Value::String(word)) if word == "none" => Choice::Never,
        Some(Value::String(word)) if word == "required" => Choice::Any,
        Some(choice) => {
            let name = choice.pointer("/function/name").and_then(Value::as_str);
            name.map_or(Choice::Auto, |name| Choice::Named(name.to_owned()))
        }
        None => Choice::Auto,
    }
}

/// One stop string or several.
pub(super) fn stops(stop: Option<&Value>) -> Vec<String> {
    match stop {
        Some(Value::String(stop)) => vec![stop.clone()],
        Some(Value::Array(stops)) => stops.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

fn schema(body: &Value) -> Option<Value> {
    let format = body.get("response_format")?;
    match format.get("type")?.as_str()? {
        "json_schema" => format.pointer("/json_schema/schema").cloned(),
        "json_object" => Some(json!({})),
        _ => None,
    }
}
