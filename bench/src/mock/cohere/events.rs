//! Writes answers as streams of events, as Cohere does.

use serde_json::{Value, json};

use super::super::compose::{Answer, Part};
use super::super::vendor::{Event, Events, forced_error};
use super::answer::{Shape, call, finish_reason, usage};
use super::{Cohere, error};

/// A stream: the start, content with its citations, the plan and the calls, the end with usage.
pub(super) fn events(answer: &Answer, shape: &Shape<'_>) -> Events {
    let message =
        json!({ "role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": [] });
    let start = event("message-start", json!({ "id": shape.id, "delta": { "message": message } }));
    let mut content = Vec::new();
    let (mut contents, mut calls, mut citations) = (0, 0, 0);
    for part in &answer.parts {
        match part {
            Part::Thinking { pieces, .. } => {
                said("thinking", contents, pieces, None, &mut content);
                contents += 1;
            }
            Part::Text(pieces) => {
                let citation = pieces.first().and_then(|piece| shape.citation(piece, contents));
                let citation = citation.map(|citation| (citations, citation));
                citations += usize::from(citation.is_some());
                said("text", contents, pieces, citation, &mut content);
                contents += 1;
            }
            Part::Tool { name, pieces, .. } => {
                let plan = if calls == 0 { shape.plan } else { &[] };
                content.extend(plan.iter().map(|piece| {
                    event("tool-plan-delta", json!({ "delta": { "message": { "tool_plan": piece } } }))
                }));
                called(name, calls, pieces, &mut content);
                calls += 1;
            }
            Part::Redacted { .. } => {}
        }
    }
    // What opens the first block carries no content yet: a gateway may still turn to another target.
    let opens = |event: &Event| event.name.is_some_and(|name| name.ends_with("-start"));
    let first = content.first().is_some_and(opens).then(|| content.remove(0));
    let reason = finish_reason(&answer.stop);
    let mut delta = json!({ "finish_reason": reason });
    if !shape.behaviour.has("no_usage") {
        delta["usage"] = usage(answer);
    }
    Events {
        start: [Some(start), first].into_iter().flatten().collect(),
        content,
        end: vec![event("message-end", json!({ "delta": delta }))],
        error: vec![fault(shape)],
        ..Events::default()
    }
}

fn event(name: &'static str, mut data: Value) -> Event {
    data["type"] = json!(name);
    Event::named(name, data.to_string())
}

/// A part of the content, with the citation of its beginning right behind it.
fn said(kind: &str, index: usize, pieces: &[String], citation: Option<(usize, Value)>, out: &mut Vec<Event>) {
    let of = |content: Value| json!({ "index": index, "delta": { "message": { "content": content } } });
    out.push(event("content-start", of(json!({ "type": kind, kind: "" }))));
    let mut pieces = pieces.iter().map(|piece| event("content-delta", of(json!({ kind: piece }))));
    out.extend(pieces.next());
    if let Some((at, citation)) = citation {
        let delta = json!({ "message": { "citations": citation } });
        out.push(event("citation-start", json!({ "index": at, "delta": delta })));
        out.push(event("citation-end", json!({ "index": at })));
    }
    out.extend(pieces);
    out.push(event("content-end", json!({ "index": index })));
}

fn called(name: &str, index: usize, pieces: &[String], out: &mut Vec<Event>) {
    let of = |call: Value| json!({ "index": index, "delta": { "message": { "tool_calls": call } } });
    out.push(event("tool-call-start", of(call(name, ""))));
    out.extend(
        pieces
            .iter()
            .map(|piece| event("tool-call-delta", of(json!({ "function": { "arguments": piece } })))),
    );
    out.push(event("tool-call-end", json!({ "index": index })));
}

/// The vendor has no event for errors alone: the end says that the answer failed.
fn fault(shape: &Shape<'_>) -> Event {
    let forced = forced_error(&Cohere, shape.behaviour, "");
    let fault = forced.unwrap_or_else(|| error::forced_error(None, Some(500), ""));
    event("message-end", json!({ "delta": { "finish_reason": "ERROR", "error": fault.message } }))
}
