//! Writes answers as Bedrock does, whole and as a stream of events.

use serde_json::{Value, json};

use super::super::behaviour::Behaviour;
use super::super::compose::{Answer, Part, Stop};
use super::super::vendor::{Event, Events, Framing, Reply, Vendor as _, forced_error, fresh_id};
use super::{Bedrock, error};

/// What the request says of the answer's form.
pub(super) struct Shape<'a> {
    /// The fields of the model's own answer that are asked for.
    paths: Vec<String>,
    behaviour: &'a Behaviour,
}

impl<'a> Shape<'a> {
    pub(super) fn new(body: &Value, behaviour: &'a Behaviour) -> Self {
        let paths = body.get("additionalModelResponseFieldPaths").and_then(Value::as_array);
        let paths = paths.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        Self { paths, behaviour }
    }

    /// The stop text that was hit, if it is asked for where the model's own answer has it.
    fn fields(&self, stop: &Stop, path: &str) -> Option<Value> {
        let Stop::Sequence(sequence) = stop else { return None };
        if !self.paths.iter().any(|asked| asked == path) {
            return None;
        }
        let mut steps = path.split('/').filter(|step| !step.is_empty()).rev();
        let inner = json!({ steps.next()?: sequence });
        Some(steps.fold(inner, |inner, step| json!({ step: inner })))
    }
}

fn stop_reason(stop: &Stop) -> &'static str {
    match stop {
        Stop::End => "end_turn",
        Stop::Length => "max_tokens",
        Stop::Sequence(_) => "stop_sequence",
        Stop::Tool => "tool_use",
        Stop::Refusal => "content_filtered",
    }
}

/// Usage with the cached input beside `inputTokens`, and both in the sum.
fn usage(answer: &Answer) -> Value {
    let input = answer.input_tokens - answer.cached_tokens;
    json!({
        "inputTokens": input,
        "outputTokens": answer.output_tokens,
        "totalTokens": answer.input_tokens + answer.output_tokens,
        "cacheReadInputTokens": answer.cached_tokens,
        "cacheWriteInputTokens": 0,
    })
}

/// A whole answer.
pub(super) fn whole(answer: &Answer, shape: &Shape<'_>) -> Reply {
    let content: Vec<_> = answer.parts.iter().map(block).collect();
    let mut body = json!({
        "metrics": { "latencyMs": 412 },
        "output": { "message": { "content": content, "role": "assistant" } },
        "stopReason": stop_reason(&answer.stop),
    });
    if !shape.behaviour.has("no_usage") {
        body["usage"] = usage(answer);
    }
    if let Some(fields) = shape.fields(&answer.stop, "/stop_sequence") {
        body["additionalModelResponseFields"] = fields;
    }
    Reply::Whole(body.to_string())
}

fn block(part: &Part) -> Value {
    match part {
        Part::Thinking { pieces, signature } => json!({
            "reasoningContent": { "reasoningText": { "text": pieces.concat(), "signature": signature } }
        }),
        Part::Redacted { data } => json!({ "reasoningContent": { "redactedContent": data } }),
        Part::Text(pieces) => json!({ "text": pieces.concat() }),
        Part::Tool { name, input, .. } => {
            let input: Value = serde_json::from_str(input).unwrap_or_default();
            json!({ "toolUse": { "toolUseId": fresh_id("tooluse_"), "name": name, "input": input } })
        }
    }
}

/// An event; the vendor pads them all against those who measure their lengths.
fn event(name: &'static str, mut data: Value) -> Event {
    data["p"] = Value::from("abcdefghijklmno");
    Event::named(name, data.to_string())
}

/// A stream: the role, the blocks, the stop reason, the metadata.
pub(super) fn events(answer: &Answer, model: &str, shape: &Shape<'_>) -> Events {
    let mut content = Vec::new();
    for (index, part) in answer.parts.iter().enumerate() {
        block_events(index, part, &mut content);
    }
    let mut stop = json!({ "stopReason": stop_reason(&answer.stop) });
    if let Some(fields) = shape.fields(&answer.stop, "/delta/stop_sequence") {
        stop["additionalModelResponseFields"] = fields;
    }
    let mut metadata = json!({ "metrics": { "latencyMs": 412 } });
    if !shape.behaviour.has("no_usage") {
        metadata["usage"] = usage(answer);
    }
    let forced = forced_error(&Bedrock, shape.behaviour, model);
    let fault = forced.unwrap_or_else(|| error::forced_error(Some("overloaded"), None, model));
    Events {
        framing: Framing::EventStream,
        start: vec![event("messageStart", json!({ "role": "assistant" }))],
        content,
        end: vec![event("messageStop", stop), event("metadata", metadata)],
        error: vec![Event::named(error::exception(&fault), Bedrock.render(&fault, ""))],
        // The vendor has none.
        keepalive: "",
    }
}

fn block_events(index: usize, part: &Part, out: &mut Vec<Event>) {
    let delta =
        |delta: Value| event("contentBlockDelta", json!({ "contentBlockIndex": index, "delta": delta }));
    match part {
        Part::Thinking { pieces, signature } => {
            out.extend(pieces.iter().map(|piece| delta(json!({ "reasoningContent": { "text": piece } }))));
            out.push(delta(json!({ "reasoningContent": { "signature": signature } })));
        }
        Part::Redacted { data } => {
            out.push(delta(json!({ "reasoningContent": { "redactedContent": data } })))
        }
        Part::Text(pieces) => out.extend(pieces.iter().map(|piece| delta(json!({ "text": piece })))),
        Part::Tool { name, input, pieces } => {
            let start = json!({ "toolUse": { "toolUseId": fresh_id("tooluse_"), "name": name } });
            out.push(event("contentBlockStart", json!({ "contentBlockIndex": index, "start": start })));
            // A tool without arguments gets one empty delta and nothing else.
            let pieces = if input == "{}" { &[] } else { pieces.as_slice() };
            let input = |text: &str| delta(json!({ "toolUse": { "input": text } }));
            out.push(input(""));
            out.extend(pieces.iter().map(|piece| input(piece)));
        }
    }
    out.push(event("contentBlockStop", json!({ "contentBlockIndex": index })));
}
