//! Texts and JSON made up at random.

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};
use trestle_dialect::ir::{Json, Text};

/// A text that holds more than white space.
pub(crate) fn text() -> impl Strategy<Value = Text> {
    prop_oneof![
        "[a-z\"\\\\/{}:\n\u{e9}\u{65e5}\u{1f600}]{0,12}[a-z]".prop_map(|plain| Text::new(&plain)),
        // Escapes that the writer would not choose.
        select(vec![r"\u0041", r"a\/b", r"\ud83d\ude00", r"\b\f"])
            .prop_map(|escaped| Text::from_escaped(escaped.as_bytes().into())),
    ]
}

/// An identifier.
pub(crate) fn word() -> impl Strategy<Value = Text> {
    "[a-zA-Z0-9_-]{1,8}".prop_map(|plain| Text::new(&plain))
}

/// A number, as it may be written.
pub(crate) fn number(numbers: &'static [&'static str]) -> impl Strategy<Value = Option<Json>> {
    proptest::option::of(select(numbers).prop_map(Json::fixed))
}

/// A JSON object with a `type`.
pub(crate) fn schema() -> impl Strategy<Value = Json> {
    select(vec![
        r#"{"type":"object"}"#,
        r#"{"type": "object", "properties": {"a": {"type": "string"}}}"#,
        r#"{"properties":{},"type":"object","additionalProperties":false}"#,
    ])
    .prop_map(Json::fixed)
}

/// One of an answer of models of Anthropic: nothing else may stand in its objects.
pub(crate) fn closed_schema() -> impl Strategy<Value = Json> {
    select(vec![
        r#"{"type":"object","additionalProperties": false}"#,
        r#"{"type": "string"}"#,
        r#"{"properties":{"a":{"type":["object","null"],"additionalProperties":false}}}"#,
    ])
    .prop_map(Json::fixed)
}

/// A cache mark, or none.
pub(crate) fn mark() -> impl Strategy<Value = Option<Json>> {
    let marks = [r#"{"type":"ephemeral"}"#, r#"{"type":"ephemeral","ttl":"1h"}"#];
    proptest::option::weighted(0.2, select(marks.to_vec()).prop_map(Json::fixed))
}

const NAMES: &[&str] = &[
    "type",
    "role",
    "content",
    "text",
    "messages",
    "model",
    "tools",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "id",
    "index",
    "delta",
    "choices",
    "message",
    "finish_reason",
    "usage",
    "prompt_tokens",
    "completion_tokens",
    "input_tokens",
    "output_tokens",
    "error",
    "system",
    "thinking",
    "signature",
    "thinking_blocks",
    "reasoning_content",
    "reasoning",
    "source",
    "image_url",
    "url",
    "file",
    "file_data",
    "input",
    "tool_use_id",
    "tool_call_id",
    "max_tokens",
    "stream",
    "stream_options",
    "include_usage",
    "stop",
    "temperature",
    "tool_choice",
    "response_format",
    "json_schema",
    "schema",
    "content_block",
    "stop_reason",
    "refusal",
    "function_call",
    "cache_control",
    "data",
    "media_type",
    "budget_tokens",
    "reasoning_effort",
    "output_config",
    "effort",
    "format",
    "metadata",
    "user_id",
    "input_schema",
    "code",
    "functions",
    "input_audio",
    "partial_json",
    "toolUse",
    "toolResult",
    "toolUseId",
    "reasoningContent",
    "cachePoint",
    "bytes",
    "stopReason",
    "instructions",
    "output",
    "call_id",
    "item",
    "part",
    "summary",
    "annotations",
    "annotation",
    "logprobs",
    "encrypted_content",
    "output_index",
    "content_index",
    "response",
    "status",
    "incomplete_details",
    "include",
    "tool_plan",
    "citations",
    "sources",
    "document",
    "documents",
    "content_index",
    "billed_units",
    "tokens",
    "logprobs",
    "strict_tools",
    "stop_sequences",
    "token_budget",
    "redacted",
    "p",
    "k",
    "x_new",
    "n",
    "contents",
    "parts",
    "systemInstruction",
    "generationConfig",
    "generation_config",
    "functionDeclarations",
    "parameters",
    "parametersJsonSchema",
    "responseSchema",
    "responseMimeType",
    "properties",
    "items",
    "anyOf",
    "allOf",
    "$ref",
    "$defs",
    "required",
    "enum",
    "nullable",
    "functionCall",
    "functionResponse",
    "response",
    "args",
    "inlineData",
    "fileData",
    "fileUri",
    "mimeType",
    "thought",
    "thoughtSignature",
    "thinkingConfig",
    "thinkingBudget",
    "toolConfig",
    "functionCallingConfig",
    "mode",
    "candidates",
    "finishReason",
    "promptFeedback",
    "blockReason",
    "usageMetadata",
    "promptTokenCount",
    "groundingMetadata",
    "groundingChunks",
    "groundingSupports",
    "groundingChunkIndices",
    "segment",
    "startIndex",
    "endIndex",
    "partIndex",
    "logprobsResult",
    "chosenCandidates",
    "status",
    "details",
    "a.b",
    "",
];

const WORDS: &[&str] = &[
    "text",
    "user",
    "assistant",
    "system",
    "developer",
    "tool",
    "function",
    "image_url",
    "image",
    "file",
    "document",
    "base64",
    "url",
    "input_audio",
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
    "auto",
    "none",
    "required",
    "any",
    "enabled",
    "adaptive",
    "disabled",
    "json_schema",
    "json_object",
    "stop",
    "length",
    "tool_calls",
    "content_filter",
    "end_turn",
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
    "ping",
    "text_delta",
    "thinking_delta",
    "signature_delta",
    "input_json_delta",
    "citations_delta",
    "message-start",
    "content-start",
    "content-delta",
    "content-end",
    "tool-plan-delta",
    "tool-call-start",
    "tool-call-delta",
    "tool-call-end",
    "citation-start",
    "message-end",
    "COMPLETE",
    "ERROR",
    "TIMEOUT",
    "REQUIRED",
    "PLAN",
    "null",
    "custom",
    "message",
    "input_text",
    "output_text",
    "input_image",
    "input_file",
    "function_call",
    "function_call_output",
    "reasoning",
    "item_reference",
    "completed",
    "incomplete",
    "response.created",
    "response.output_item.added",
    "response.output_item.done",
    "response.output_text.delta",
    "response.content_part.done",
    "response.completed",
    "response.failed",
    "trestle:anthropic-messages:x",
    "data:image/png;base64,iVBORw0=",
    "data:,",
    "{}",
    "{\"a\":1}",
    "{",
    "",
    " ",
    "high",
    "a.b:c",
    "model",
    "STOP",
    "SAFETY",
    "ANY",
    "OBJECT",
    "object",
    "application/json",
    "image/png",
    "gs://a/b",
    "#/$defs/a",
    "#",
    "dHJlc3RsZTpvcGVuYWktY2hhdDp4",
    "RESOURCE_EXHAUSTED",
];

/// Any JSON, in the vendors' words, so that much of it is nearly right.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        select(vec![json!(0), json!(1), json!(2), json!(-1), json!(0.5), json!(1e300), json!(u64::MAX)]),
        select(WORDS).prop_map(|word| Value::String(word.to_owned())),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..4).prop_map(Value::Array),
            3 => vec((select(NAMES), inner), 0..6).prop_map(|members| {
                Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
            }),
        ]
    })
}

/// A valid document with one value in it replaced by any JSON.
pub(crate) fn mutated(seed: Value) -> impl Strategy<Value = Value> {
    (any_json(), any::<u32>()).prop_map(move |(value, at)| {
        let mut seed = seed.clone();
        let places = count(&seed);
        let mut at = at as usize % places;
        replace(&mut seed, &mut at, &value);
        seed
    })
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(elements) => elements.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

fn replace(value: &mut Value, at: &mut usize, with: &Value) {
    if *at == 0 {
        *value = with.clone();
        *at = usize::MAX;
        return;
    }
    *at -= 1;
    let children: Box<dyn Iterator<Item = &mut Value>> = match value {
        Value::Array(elements) => Box::new(elements.iter_mut()),
        Value::Object(members) => Box::new(Map::values_mut(members)),
        _ => return,
    };
    for child in children {
        replace(child, at, with);
        if *at > usize::MAX / 2 {
            return;
        }
    }
}
