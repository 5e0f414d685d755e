//! Writes answers as Gemini does, whole and as a stream of responses.

use serde_json::{Value, json};

use super::super::behaviour::Behaviour;
use super::super::compose::{Answer, Ask, Part, Stop, signature};
use super::super::vendor::{Event, Events, Framing, Reply, Vendor as _, forced_error, fresh_id};
use super::{Gemini, ask::is_third, contents::signature_of_call, error};

/// What every response of one answer repeats, and how it is to be written.
pub(super) struct Shape<'a> {
    model: &'a str,
    id: String,
    /// The model signs what it has thought.
    signs: bool,
    behaviour: &'a Behaviour,
}

impl<'a> Shape<'a> {
    pub(super) fn new(model: &'a str, ask: &Ask, behaviour: &'a Behaviour) -> Self {
        Self { model, id: fresh_id("mock"), signs: is_third(model) || ask.thinking, behaviour }
    }

    fn response(&self, parts: &[Value], finish: Option<&str>, usage: Option<Value>) -> Value {
        let mut candidate = json!({ "content": { "parts": parts, "role": "model" }, "index": 0 });
        if let Some(finish) = finish {
            candidate["finishReason"] = Value::from(finish);
        }
        let mut response =
            json!({ "candidates": [candidate], "modelVersion": self.model, "responseId": self.id });
        if let Some(usage) = usage.filter(|_| !self.behaviour.has("no_usage")) {
            response["usageMetadata"] = usage;
        }
        response
    }

    /// A call; only the first of an answer is signed.
    fn call(&self, name: &str, input: &str, first: bool) -> Value {
        let arguments: Value = serde_json::from_str(input).unwrap_or_default();
        let mut part = json!({ "functionCall": { "name": name, "args": arguments } });
        if is_third(self.model) {
            part["functionCall"]["id"] = Value::from(fresh_id("call"));
        }
        if first && self.signs {
            part["thoughtSignature"] = Value::from(signature_of_call(name, &arguments));
        }
        part
    }
}

fn finish_reason(stop: &Stop) -> &'static str {
    match stop {
        Stop::End | Stop::Sequence(_) | Stop::Tool => "STOP",
        Stop::Length => "MAX_TOKENS",
        Stop::Refusal => "SAFETY",
    }
}

/// Usage with the cached input within the prompt, and thoughts beside the candidates.
fn usage(answer: &Answer, output: usize) -> Value {
    let (input, thoughts) = (answer.input_tokens, answer.thinking_tokens.min(output));
    let mut usage = json!({
        "promptTokenCount": input,
        "candidatesTokenCount": output - thoughts,
        "totalTokenCount": input + output,
        "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": input }],
    });
    if thoughts > 0 {
        usage["thoughtsTokenCount"] = Value::from(thoughts);
    }
    if answer.cached_tokens > 0 {
        usage["cachedContentTokenCount"] = Value::from(answer.cached_tokens);
    }
    usage
}

/// A whole answer.
pub(super) fn whole(answer: &Answer, shape: &Shape<'_>) -> Reply {
    let with_calls = answer.parts.iter().any(|part| matches!(part, Part::Tool { .. }));
    let mut parts = Vec::new();
    let mut first = true;
    for part in &answer.parts {
        match part {
            Part::Thinking { pieces, .. } => parts.push(json!({ "text": pieces.concat(), "thought": true })),
            Part::Text(pieces) => {
                let mut part = json!({ "text": pieces.concat() });
                if shape.signs && !with_calls {
                    part["thoughtSignature"] = Value::from(signature("text"));
                }
                parts.push(part);
            }
            Part::Tool { name, input, .. } => {
                parts.push(shape.call(name, input, std::mem::take(&mut first)));
            }
            // The vendor has none.
            Part::Redacted { .. } => {}
        }
    }
    let usage = usage(answer, answer.output_tokens);
    Reply::Whole(shape.response(&parts, Some(finish_reason(&answer.stop)), Some(usage)).to_string())
}

/// A stream of responses, each with a piece and the usage so far; calls come whole. It has no other end than the
/// response with the reason, which is that of the last call where there is one.
pub(super) fn events(answer: &Answer, shape: &Shape<'_>, framing: Framing) -> Events {
    let mut content = Vec::new();
    let (mut first, mut said, mut last_call) = (true, 0, None);
    let mut push = |part: Value| {
        said += 1;
        let usage = usage(answer, said.min(answer.output_tokens));
        content.push(Event::data(shape.response(&[part], None, Some(usage)).to_string()));
    };
    for part in &answer.parts {
        match part {
            Part::Thinking { pieces, .. } => {
                pieces.iter().for_each(|piece| push(json!({ "text": piece, "thought": true })));
            }
            Part::Text(pieces) => pieces.iter().for_each(|piece| push(json!({ "text": piece }))),
            Part::Tool { name, input, .. } => {
                let call = shape.call(name, input, std::mem::take(&mut first));
                last_call.replace(call).into_iter().for_each(&mut push);
            }
            Part::Redacted { .. } => {}
        }
    }
    let (usage, finish) = (usage(answer, answer.output_tokens), finish_reason(&answer.stop));
    let mut last = json!({ "text": "" });
    if let Some(call) = last_call {
        last = call;
    } else if shape.signs {
        last["thoughtSignature"] = Value::from(signature("text"));
    }
    let end = shape.response(&[last], Some(finish), Some(usage));
    let forced = forced_error(&Gemini, shape.behaviour, shape.model);
    let fault = forced.unwrap_or_else(|| error::forced_error(Some("overloaded"), None, shape.model));
    Events {
        framing,
        start: Vec::new(),
        content,
        end: vec![Event::data(end.to_string())],
        error: vec![Event::data(Gemini.render(&fault, ""))],
        // The vendor has none.
        keepalive: "",
    }
}
