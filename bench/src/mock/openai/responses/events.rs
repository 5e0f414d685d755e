//! Writes answers as streams of events.

use serde_json::{Value, json};

use super::super::super::compose::{Answer, Stop};
use super::super::super::vendor::{Event, Events, forced_error};
use super::super::{OpenAi, error};
use super::answer::{Item, Said, Shape, done, opened, part, status, summary};

/// A stream: created, in progress, the items with their parts and deltas, and the whole answer once more.
pub(super) fn events(answer: &Answer, shape: &Shape<'_>) -> Events {
    let started = || shape.response("in_progress", vec![], None);
    let mut all = vec![
        ("response.created", json!({ "response": started() })),
        ("response.in_progress", json!({ "response": started() })),
    ];
    let mut output = Vec::new();
    let mut first_delta = None;
    for (at, (id, item)) in shape.items.iter().enumerate() {
        let cut = answer.stop == Stop::Length && at + 1 == shape.items.len();
        let ended = done(id, item, if cut { "incomplete" } else { "completed" });
        all.push((
            "response.output_item.added",
            json!({ "output_index": at, "item": opened(id, item, shape.account) }),
        ));
        let inner = inside(item);
        first_delta = first_delta.or(inner.first().map(|_| all.len() + inner.before_deltas()));
        all.extend(inner.0.into_iter().map(|(name, mut data)| {
            (data["item_id"], data["output_index"]) = (json!(id), json!(at));
            (name, data)
        }));
        all.push(("response.output_item.done", json!({ "output_index": at, "item": ended.clone() })));
        output.push(ended);
    }
    let last = if status(&answer.stop) == "completed" { "response.completed" } else { "response.incomplete" };
    all.push((last, json!({ "response": shape.response(status(&answer.stop), output, Some(answer)) })));
    let mut numbered: Vec<_> =
        all.into_iter().enumerate().map(|(number, (name, data))| event(name, number, data)).collect();
    let end = numbered.pop();
    let content = numbered.split_off(first_delta.unwrap_or(2).min(numbered.len()));
    Events {
        error: vec![fault(shape, numbered.len())],
        start: numbered,
        content,
        end: end.into_iter().collect(),
        keepalive: "event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":2}\n\n",
        ..Events::default()
    }
}

fn event(name: &'static str, number: usize, mut data: Value) -> Event {
    (data["type"], data["sequence_number"]) = (json!(name), json!(number));
    Event::named(name, data.to_string())
}

/// The events within one item, with the index of the part.
struct Inside(Vec<(&'static str, Value)>);

impl Inside {
    fn first(&self) -> Option<&(&'static str, Value)> {
        self.0.first()
    }

    /// How many only announce what is to come.
    fn before_deltas(&self) -> usize {
        self.0.iter().take_while(|(name, _)| name.ends_with("part.added")).count()
    }
}

fn inside(item: &Item<'_>) -> Inside {
    let mut out = Vec::new();
    match item {
        Item::Reasoning { pieces, .. } => {
            let Some(part) = summary(pieces) else { return Inside(out) };
            let mut push = |name, mut data: Value| {
                data["summary_index"] = json!(0);
                out.push((name, data));
            };
            let empty = json!({ "type": "summary_text", "text": "" });
            push("response.reasoning_summary_part.added", json!({ "part": empty }));
            for piece in *pieces {
                let data = json!({ "delta": piece, "obfuscation": "aB3" });
                push("response.reasoning_summary_text.delta", data);
            }
            push("response.reasoning_summary_text.done", json!({ "text": part["text"] }));
            push("response.reasoning_summary_part.done", json!({ "part": part }));
        }
        Item::Message { pieces, said } => {
            let mut push = |name, mut data: Value| {
                data["content_index"] = json!(0);
                out.push((name, data));
            };
            let text = pieces.concat();
            push("response.content_part.added", json!({ "part": part(*said, "") }));
            for piece in *pieces {
                if *said == Said::Refusal {
                    push("response.refusal.delta", json!({ "delta": piece }));
                } else {
                    let data = json!({ "delta": piece, "logprobs": [], "obfuscation": "aB3" });
                    push("response.output_text.delta", data);
                }
            }
            if *said == Said::Refusal {
                push("response.refusal.done", json!({ "refusal": text }));
            } else {
                push("response.output_text.done", json!({ "text": text, "logprobs": [] }));
            }
            push("response.content_part.done", json!({ "part": part(*said, &text) }));
        }
        Item::Call { input, pieces, name, .. } => {
            for piece in *pieces {
                let data = json!({ "delta": piece, "obfuscation": "aB3" });
                out.push(("response.function_call_arguments.delta", data));
            }
            let data = json!({ "arguments": input, "name": name });
            out.push(("response.function_call_arguments.done", data));
        }
    }
    Inside(out)
}

/// An error inside a stream: of a known cause the answer has failed, else there is an error event.
fn fault(shape: &Shape<'_>, started: usize) -> Event {
    let behaviour = shape.behaviour;
    let number = started
        + behaviour.count("error_event_mid").filter(|_| behaviour.has("error_event_mid")).unwrap_or(0);
    let forced = forced_error(&OpenAi, behaviour, "");
    let fault = forced.unwrap_or_else(|| error::forced_error(None, Some(500), ""));
    let code = fault.code.unwrap_or("server_error");
    if behaviour.cause().is_some() {
        let mut response = shape.response("failed", vec![], None);
        response["error"] = json!({ "code": code, "message": fault.message });
        return event("response.failed", number, json!({ "response": response }));
    }
    let fault = json!({ "type": fault.kind, "code": code, "message": fault.message, "param": fault.param });
    event("error", number, json!({ "error": fault }))
}
