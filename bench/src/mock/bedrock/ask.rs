//! Reads a checked request into what the answer depends on.

use serde_json::{Value, json};

use super::super::compose::{Ask, Choice, Tool};
use super::super::vendor::{decoded, token_count};
use super::turns::{content, role};

/// What the models of a vendor take beyond what Converse defines.
pub(super) const FIELDS: &str = "/additionalModelRequestFields";

/// Reads a request.
pub(super) fn read(model: &str, body: &Value, stream: bool) -> Ask {
    let messages = body.get("messages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let texts = messages.iter().rev().filter(|message| role(message) == "user");
    let text = texts.map(|message| text_of(content(message))).find(|text| !text.is_empty());
    let results = messages.last().map(results_of).unwrap_or_default();
    let (choice, one_call) = choice(body);
    let number = |pointer: &str| body.pointer(pointer).and_then(Value::as_u64);
    let system = body.get("system").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    Ask {
        model: model.to_owned(),
        text: text.unwrap_or_default(),
        tool_result: (!results.is_empty()).then(|| results.join(" and ")),
        images: messages.iter().flat_map(content).map(images_of).sum(),
        tools: tools(body),
        choice,
        one_call,
        stops: strings(body.pointer("/inferenceConfig/stopSequences")),
        max_tokens: number("/inferenceConfig/maxTokens").and_then(|number| usize::try_from(number).ok()),
        schema: schema(body),
        thinking: thinks(body),
        input_tokens: token_count(&text_of(system))
            + messages.iter().map(|message| token_count(&text_of(content(message))) + 4).sum::<usize>(),
        stream,
    }
}

/// Whether thinking is on, in the words of any vendor.
pub(super) fn thinks(body: &Value) -> bool {
    let word = |name: &str| body.pointer(&format!("{FIELDS}/{name}")).and_then(Value::as_str);
    ["thinking/type", "reasoning_config/type", "reasoningConfig/type"]
        .into_iter()
        .filter_map(word)
        .any(|kind| kind != "disabled")
        || word("reasoning_effort").is_some()
}

fn text_of(blocks: &[Value]) -> String {
    blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect::<Vec<_>>().join("\n")
}

/// The text of a document that is one.
fn text_in(document: &Value) -> Option<String> {
    let source = document.get("source")?;
    match source.get("bytes") {
        Some(bytes) => String::from_utf8(decoded(bytes.as_str()?)?).ok(),
        None => source.get("text")?.as_str().map(str::to_owned),
    }
}

/// The texts of the tool results, one for each.
fn results_of(message: &Value) -> Vec<String> {
    let results = content(message).iter().filter_map(|block| block.pointer("/toolResult/content"));
    results
        .map(|content| {
            let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
            let texts = blocks.iter().filter_map(|block| match (block.get("json"), block.get("document")) {
                (Some(json), _) => Some(json.to_string()),
                (None, Some(document)) => text_in(document),
                _ => block.get("text")?.as_str().map(str::to_owned),
            });
            texts.collect::<Vec<_>>().join("\n")
        })
        .collect()
}

fn images_of(block: &Value) -> usize {
    let inner = block.pointer("/toolResult/content").and_then(Value::as_array);
    let inside = inner.into_iter().flatten().filter(|part| part.get("image").is_some()).count();
    usize::from(block.get("image").is_some()) + inside
}

fn strings(list: Option<&Value>) -> Vec<String> {
    list.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn tools(body: &Value) -> Vec<Tool> {
    let tools = body.pointer("/toolConfig/tools").and_then(Value::as_array);
    let specs = tools.into_iter().flatten().filter_map(|tool| tool.get("toolSpec"));
    specs
        .map(|spec| Tool {
            name: spec.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
            schema: spec.pointer("/inputSchema/json").cloned().unwrap_or_else(|| json!({})),
        })
        .collect()
}

/// The choice, and whether one tool may be called at most: as Converse says it, or as models of Anthropic do.
fn choice(body: &Value) -> (Choice, bool) {
    let named = |choice: &Value| Choice::Named(choice.as_str().unwrap_or_default().to_owned());
    let theirs = body.pointer(&format!("{FIELDS}/tool_choice"));
    let one_call = theirs.and_then(|choice| choice.get("disable_parallel_tool_use")) == Some(&json!(true));
    let choice = match theirs.and_then(|choice| choice.get("type")?.as_str()) {
        Some("none") => Choice::Never,
        Some("any") => Choice::Any,
        Some("tool") => theirs.and_then(|choice| choice.get("name")).map(named).unwrap_or_default(),
        _ => match body.pointer("/toolConfig/toolChoice") {
            Some(choice) if choice.get("any").is_some() => Choice::Any,
            Some(choice) => choice.pointer("/tool/name").map(named).unwrap_or_default(),
            None => Choice::Auto,
        },
    };
    (choice, one_call)
}

/// The schema, which is a text.
fn schema(body: &Value) -> Option<Value> {
    let text = body.pointer("/outputConfig/textFormat/structure/jsonSchema/schema")?.as_str()?;
    serde_json::from_str(text).ok()
}
