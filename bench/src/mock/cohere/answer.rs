//! Writes whole answers as Cohere does.

use serde_json::{Value, json};

use super::super::behaviour::Behaviour;
use super::super::compose::{Answer, Ask, Part, Stop};
use super::super::vendor::fresh_id;

/// What an answer depends on besides its parts.
pub(super) struct Shape<'a> {
    pub(super) behaviour: &'a Behaviour,
    pub(super) id: String,
    /// What the model says it is about to do, before it calls tools; in the pieces of its events.
    pub(super) plan: &'static [&'static str],
    /// The first document, which the beginning of the answer is said to come from.
    pub(super) source: Option<Value>,
}

const PLAN: &[&str] = &["I will ", "use a ", "tool."];

impl<'a> Shape<'a> {
    pub(super) fn new(body: &Value, ask: &Ask, behaviour: &'a Behaviour) -> Self {
        let off = [json!("OFF"), json!("off"), json!("DISABLED")];
        let cites = !body.pointer("/citation_options/mode").is_some_and(|mode| off.contains(mode));
        let source = body.pointer("/documents/0").filter(|_| cites).map(source);
        // Where the model thinks, it does so in the content.
        let plan = if ask.text.contains("with plan") && !ask.thinking { PLAN } else { &[] };
        Self { behaviour, id: fresh_id("c0ffee00-"), plan, source }
    }

    /// The citation of an answer's first piece.
    pub(super) fn citation(&self, piece: &str, content: usize) -> Option<Value> {
        let (said, chars) = (piece.trim_end(), piece.trim_end().chars().count());
        let source = self.source.as_ref().filter(|_| chars > 0)?;
        Some(json!({
            "start": 0, "end": chars, "text": said, "sources": [source], "content_index": content,
            "type": "TEXT_CONTENT",
        }))
    }
}

fn source(document: &Value) -> Value {
    let id = document.get("id").and_then(Value::as_str).unwrap_or("doc:0").to_owned();
    let mut data = match document {
        Value::String(text) => json!({ "snippet": text }),
        other => other.get("data").cloned().unwrap_or_default(),
    };
    data["id"] = json!(id);
    json!({ "type": "document", "id": id, "document": data })
}

/// Why an answer ended.
pub(super) fn finish_reason(stop: &Stop) -> &'static str {
    match stop {
        Stop::End | Stop::Refusal => "COMPLETE",
        Stop::Length => "MAX_TOKENS",
        Stop::Sequence(_) => "STOP_SEQUENCE",
        Stop::Tool => "TOOL_CALL",
    }
}

/// What is billed is less than what the model sees by the vendor's own preamble.
const PREAMBLE_TOKENS: usize = 100;

/// The usage of an answer.
pub(super) fn usage(answer: &Answer) -> Value {
    let (input, output) = (answer.input_tokens, answer.output_tokens);
    let cached = if answer.cached_tokens > 0 { PREAMBLE_TOKENS + answer.cached_tokens } else { 0 };
    json!({
        "billed_units": { "input_tokens": input, "output_tokens": output },
        "tokens": { "input_tokens": PREAMBLE_TOKENS + input, "output_tokens": output + 2 },
        "cached_tokens": cached,
    })
}

/// A call of a tool.
pub(super) fn call(name: &str, arguments: &str) -> Value {
    let id = fresh_id(&format!("{name}_"));
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
}

/// A whole answer.
pub(super) fn whole(answer: &Answer, shape: &Shape<'_>) -> String {
    let (mut content, mut calls, mut citations) = (Vec::new(), Vec::new(), Vec::new());
    for part in &answer.parts {
        match part {
            Part::Thinking { pieces, .. } => {
                content.push(json!({ "type": "thinking", "thinking": pieces.concat() }));
            }
            Part::Text(pieces) => {
                let first = pieces.first().and_then(|piece| shape.citation(piece, content.len()));
                citations.extend(first);
                content.push(json!({ "type": "text", "text": pieces.concat() }));
            }
            Part::Tool { name, input, .. } => calls.push(call(name, input)),
            Part::Redacted { .. } => {}
        }
    }
    let mut message = json!({ "role": "assistant" });
    if !content.is_empty() {
        message["content"] = json!(content);
    }
    if !shape.plan.is_empty() && !calls.is_empty() {
        message["tool_plan"] = json!(shape.plan.concat());
    }
    for (name, list) in [("tool_calls", calls), ("citations", citations)] {
        if !list.is_empty() {
            message[name] = json!(list);
        }
    }
    let mut whole =
        json!({ "id": shape.id, "message": message, "finish_reason": finish_reason(&answer.stop) });
    if !shape.behaviour.has("no_usage") {
        whole["usage"] = usage(answer);
    }
    whole.to_string()
}
