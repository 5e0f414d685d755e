//! Writes whole answers, and the objects that streams repeat.

use serde_json::{Value, json};

use super::super::super::behaviour::Behaviour;
use super::super::super::compose::{Answer, Part, Stop};
use super::super::super::kept::Account;
use super::super::super::vendor::{fresh_id, unix_seconds};
use super::seal;

/// An item of the answer.
pub(super) enum Item<'a> {
    /// What was reasoned; without pieces nobody may read it.
    Reasoning {
        pieces: &'a [String],
        sealed: Option<String>,
    },
    Message {
        pieces: &'a [String],
        said: Said,
    },
    /// A call of a function.
    Call {
        call: String,
        name: &'a str,
        input: &'a str,
        pieces: &'a [String],
    },
}

/// What a message is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    Text,
    Refusal,
}

/// What an answer repeats of its request, and its items.
pub(super) struct Shape<'a> {
    pub(super) behaviour: &'a Behaviour,
    pub(super) items: Vec<(String, Item<'a>)>,
    pub(super) account: Account<'a>,
    id: String,
    created: u64,
    body: &'a Value,
}

impl<'a> Shape<'a> {
    pub(super) fn new(
        body: &'a Value,
        answer: &'a Answer,
        behaviour: &'a Behaviour,
        account: Account<'a>,
    ) -> Self {
        let kept = if body.get("store") == Some(&json!(false)) { seal::NOT_KEPT } else { seal::KEPT };
        let fresh = |kind: &str| fresh_id(&format!("{kind}_{kept}"));
        let included = body.get("include").and_then(Value::as_array);
        let sealed = included.is_some_and(|list| list.contains(&json!("reasoning.encrypted_content")));
        let shown = body.pointer("/reasoning/summary").is_some_and(|summary| !summary.is_null());
        let reasoning = |pieces: &'a [String]| {
            let id = fresh("rs");
            let sealed = sealed.then(|| seal::seal(account, &id, &pieces.concat()));
            (id, Item::Reasoning { pieces, sealed })
        };
        let item = |part: &'a Part| match part {
            Part::Thinking { pieces, .. } => reasoning(if shown { pieces } else { &[] }),
            Part::Redacted { .. } => reasoning(&[]),
            Part::Text(pieces) => {
                let said = if answer.stop == Stop::Refusal { Said::Refusal } else { Said::Text };
                (fresh("msg"), Item::Message { pieces, said })
            }
            Part::Tool { name, input, pieces } => {
                (fresh("fc"), Item::Call { call: fresh_id("call_"), name, input, pieces })
            }
        };
        let items = answer.parts.iter().map(item).collect();
        Self { behaviour, items, account, id: fresh_id("resp_"), created: unix_seconds(), body }
    }

    /// The answer as it is at the end.
    pub(super) fn whole(&self, answer: &Answer) -> String {
        let items = self.items.iter().enumerate().map(|(at, (id, item))| {
            let cut = answer.stop == Stop::Length && at + 1 == self.items.len();
            done(id, item, if cut { "incomplete" } else { "completed" })
        });
        self.response(status(&answer.stop), items.collect(), Some(answer)).to_string()
    }

    /// The answer so far, or at its end.
    pub(super) fn response(&self, status: &str, output: Vec<Value>, ended: Option<&Answer>) -> Value {
        let body = self.body;
        let or = |name: &str, default: Value| {
            body.get(name).filter(|value| !value.is_null()).cloned().unwrap_or(default)
        };
        let usage = ended.filter(|_| !self.behaviour.has("no_usage")).map(usage);
        let reason = (status == "incomplete").then(|| json!({ "reason": "max_output_tokens" }));
        let word = |pointer: &str| body.pointer(pointer).cloned().unwrap_or(Value::Null);
        let format = body.pointer("/text/format").cloned().unwrap_or(json!({ "type": "text" }));
        json!({
            "id": self.id, "object": "response", "created_at": self.created, "status": status,
            "background": or("background", json!(false)), "billing": { "payer": "developer" }, "error": null,
            "incomplete_details": reason, "instructions": or("instructions", Value::Null),
            "max_output_tokens": or("max_output_tokens", Value::Null), "max_tool_calls": null,
            "model": body.get("model"), "output": output,
            "parallel_tool_calls": or("parallel_tool_calls", json!(true)), "previous_response_id": or("previous_response_id", Value::Null),
            "prompt_cache_key": or("prompt_cache_key", Value::Null),
            "reasoning": { "effort": word("/reasoning/effort"), "summary": word("/reasoning/summary") },
            "safety_identifier": or("safety_identifier", Value::Null), "service_tier": "default",
            "store": or("store", json!(true)), "temperature": or("temperature", json!(1.0)),
            "text": { "format": format, "verbosity": "medium" },
            "tool_choice": or("tool_choice", json!("auto")), "tools": or("tools", json!([])),
            "top_logprobs": or("top_logprobs", json!(0)), "top_p": or("top_p", json!(1.0)),
            "truncation": or("truncation", json!("disabled")), "usage": usage, "user": or("user", Value::Null),
            "metadata": or("metadata", json!({})),
        })
    }
}

/// The status of an answer that ended so.
pub(super) fn status(stop: &Stop) -> &'static str {
    if *stop == Stop::Length { "incomplete" } else { "completed" }
}

fn usage(answer: &Answer) -> Value {
    json!({
        "input_tokens": answer.input_tokens,
        "input_tokens_details": { "cached_tokens": answer.cached_tokens },
        "output_tokens": answer.output_tokens,
        "output_tokens_details": { "reasoning_tokens": answer.thinking_tokens },
        "total_tokens": answer.input_tokens + answer.output_tokens,
    })
}

/// An item as it opens.
pub(super) fn opened(id: &str, item: &Item<'_>, account: Account<'_>) -> Value {
    match item {
        Item::Reasoning { sealed, .. } => {
            let mut item = json!({ "id": id, "type": "reasoning", "summary": [] });
            // What is sealed here is not what is sealed at the end.
            if sealed.is_some() {
                item["encrypted_content"] = json!(seal::seal(account, id, "nothing yet"));
            }
            item
        }
        Item::Message { .. } => message(id, "in_progress", vec![]),
        Item::Call { call, name, .. } => function_call(id, "in_progress", [call, name, ""]),
    }
}

/// An item as it is at its end.
pub(super) fn done(id: &str, item: &Item<'_>, status: &str) -> Value {
    match item {
        Item::Reasoning { pieces, sealed } => {
            let parts: Vec<_> = summary(pieces).into_iter().collect();
            let mut item = json!({ "id": id, "type": "reasoning", "summary": parts });
            if let Some(sealed) = sealed {
                item["encrypted_content"] = json!(sealed);
            }
            item
        }
        Item::Message { pieces, said } => message(id, status, vec![part(*said, &pieces.concat())]),
        Item::Call { call, name, input, .. } => function_call(id, status, [call, name, input]),
    }
}

fn message(id: &str, status: &str, content: Vec<Value>) -> Value {
    json!({ "id": id, "type": "message", "status": status, "content": content, "role": "assistant" })
}

fn function_call(id: &str, status: &str, [call, name, arguments]: [&str; 3]) -> Value {
    json!({
        "id": id, "type": "function_call", "status": status, "arguments": arguments, "call_id": call, "name": name,
    })
}

/// A part of a message.
pub(super) fn part(said: Said, text: &str) -> Value {
    match said {
        Said::Text => json!({ "type": "output_text", "annotations": [], "logprobs": [], "text": text }),
        Said::Refusal => json!({ "type": "refusal", "refusal": text }),
    }
}

/// The one part of a summary, where there is one.
pub(super) fn summary(pieces: &[String]) -> Option<Value> {
    (!pieces.is_empty()).then(|| json!({ "type": "summary_text", "text": pieces.concat() }))
}
