//! Reads a checked request into what the answer depends on.

use serde_json::{Value, json};

use super::super::compose::{Ask, Choice, Tool};
use super::super::vendor::token_count;

/// The contents of a request.
pub(super) fn contents(body: &Value) -> &[Value] {
    body.get("contents").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The parts of a content.
pub(super) fn parts(content: &Value) -> &[Value] {
    content.get("parts").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether the model said it.
pub(super) fn is_model(content: &Value) -> bool {
    content.get("role").and_then(Value::as_str) == Some("model")
}

/// Whether it is a model of the third generation or later.
pub(super) fn is_third(model: &str) -> bool {
    let version = model.strip_prefix("gemini-").and_then(|rest| rest.split(['-', '.', '+']).next());
    version.and_then(|number| number.parse::<u32>().ok()).is_some_and(|number| number >= 3)
}

/// Reads a request.
pub(super) fn read(model: &str, body: &Value, stream: bool) -> Ask {
    let contents = contents(body);
    let texts = contents.iter().rev().filter(|content| !is_model(content)).map(text_of);
    let results: Vec<_> =
        contents.last().map(parts).unwrap_or_default().iter().filter_map(result_of).collect();
    let config = |name: &str| body.pointer(&format!("/generationConfig/{name}"));
    let number = |name: &str| config(name).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let system = body.get("systemInstruction").map(text_of).unwrap_or_default();
    Ask {
        model: model.to_owned(),
        text: texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default(),
        tool_result: (!results.is_empty()).then(|| results.join(" and ")),
        images: contents.iter().flat_map(parts).map(images_of).sum(),
        tools: tools(body),
        choice: choice(body),
        one_call: false,
        stops: strings(config("stopSequences")),
        max_tokens: number("maxOutputTokens"),
        schema: schema(body),
        thinking: config("thinkingConfig/includeThoughts") == Some(&json!(true)),
        input_tokens: token_count(&system)
            + contents.iter().map(|content| token_count(&text_of(content)) + 4).sum::<usize>(),
        stream,
    }
}

fn text_of(content: &Value) -> String {
    let texts = parts(content).iter().filter_map(|part| part.get("text")?.as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// What a tool said: the one text of its response, or the whole of it.
fn result_of(part: &Value) -> Option<String> {
    let response = part.pointer("/functionResponse/response")?;
    let mut members = response.as_object()?.values();
    let only = members.next().and_then(Value::as_str).filter(|_| members.next().is_none());
    Some(only.map_or_else(|| response.to_string(), str::to_owned))
}

fn images_of(part: &Value) -> usize {
    let inner = part.pointer("/functionResponse/parts").and_then(Value::as_array);
    let inside = inner.into_iter().flatten();
    let is_image = |part: &Value| {
        let kind = |member: &str| part.pointer(&format!("/{member}/mimeType")).and_then(Value::as_str);
        kind("inlineData").or(kind("fileData")).is_some_and(|kind| kind.starts_with("image/"))
    };
    usize::from(is_image(part)) + inside.filter(|part| is_image(part)).count()
}

fn strings(list: Option<&Value>) -> Vec<String> {
    list.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// The functions that are declared.
pub(super) fn functions(body: &Value) -> impl Iterator<Item = &Value> {
    let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
    tools.filter_map(|tool| tool.get("functionDeclarations")?.as_array()).flatten()
}

fn tools(body: &Value) -> Vec<Tool> {
    let schema = |function: &Value| {
        let own = function.get("parameters").or_else(|| function.get("parametersJsonSchema"));
        own.cloned().unwrap_or_else(|| json!({}))
    };
    functions(body)
        .map(|function| Tool {
            name: function.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
            schema: schema(function),
        })
        .collect()
}

fn choice(body: &Value) -> Choice {
    let config = body.pointer("/toolConfig/functionCallingConfig");
    let allowed = strings(config.and_then(|config| config.get("allowedFunctionNames")));
    match config.and_then(|config| config.get("mode")?.as_str()) {
        Some("NONE") => Choice::Never,
        Some("ANY") => allowed.into_iter().next().map_or(Choice::Any, Choice::Named),
        _ => Choice::Auto,
    }
}

fn schema(body: &Value) -> Option<Value> {
    let config = body.get("generationConfig")?;
    if config.get("responseMimeType") != Some(&json!("application/json")) {
        return None;
    }
    let schema = config.get("responseJsonSchema").or_else(|| config.get("responseSchema"));
    Some(schema.cloned().unwrap_or_else(|| json!({})))
}
