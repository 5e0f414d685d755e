//! The answer and its items as clients see them, whole or at the end of a stream.

use super::{echo, logprobs, usage};
use crate::{
    StreamContext,
    ir::{Json, Text, TokenLogprob, Usage},
    json::Writer,
};

/// What an answer is called.
#[derive(Debug)]
pub(super) struct Head {
    id: Text,
    model: Text,
    created: u64,
    echo: Option<Json>,
}

impl Head {
    /// Id and model of the upstream may be empty.
    pub(super) fn new(context: &StreamContext, id: &Text, model: &Text, created: Option<u64>) -> Self {
        let or = |own: &Text, other: &str| if own.is_empty() { Text::new(other) } else { own.clone() };
        Self {
            id: or(id, &format!("resp_{}", context.request_id)),
            model: or(model, &context.model),
            created: created.unwrap_or(context.created),
            echo: context.echo.clone(),
        }
    }
}

/// How far an answer has come.
#[derive(Debug, Clone, Copy)]
pub(super) struct State<'a> {
    /// `in_progress`, `completed` or `incomplete`.
    pub(super) status: &'static str,
    /// Why it is incomplete.
    pub(super) reason: Option<&'static str>,
    /// What it cost.
    pub(super) usage: Option<&'a Usage>,
}

/// Writes the members of an answer into the object that is open; `items` fills the array of its items.
pub(super) fn answer(out: &mut Writer, head: &Head, state: State<'_>, items: impl FnOnce(&mut Writer)) {
    let asked = |out: &mut Writer, name| echo::write(out, head.echo.as_ref(), name);
    out.key("id");
    out.text(&head.id);
    out.key("object");
    out.string("response");
    out.key("created_at");
    out.u64(head.created);
    out.key("status");
    out.string(state.status);
    out.key("background");
    out.bool(false);
    out.key("error");
    out.null();
    out.key("incomplete_details");
    match state.reason {
        Some(reason) => {
            out.begin_object();
            out.key("reason");
            out.string(reason);
            out.end_object();
        }
        None => out.null(),
    }
    out.key("instructions");
    out.null();
    asked(out, "max_output_tokens");
    out.key("model");
    out.text(&head.model);
    out.key("output");
    out.begin_array();
    items(out);
    out.end_array();
    asked(out, "parallel_tool_calls");
    out.key("previous_response_id");
    out.null();
    asked(out, "reasoning");
    asked(out, "temperature");
    out.key("store");
    out.bool(false);
    asked(out, "text");
    asked(out, "tool_choice");
    out.key("tools");
    out.raw(b"[]");
    asked(out, "top_p");
    asked(out, "truncation");
    out.key("usage");
    match state.usage {
        Some(usage) => usage::encode(usage, out),
        None => out.null(),
    }
    asked(out, "user");
    asked(out, "metadata");
}

/// The id of reasoning that this vendor did not make begins so: the vendor would look for it and refuse it.
pub(crate) const OUR_REASONING: &str = "rs_trestle";

/// The id of an item: unique in the conversation, and in the form and length that the vendor accepts, should the item
/// be sent to it.
pub(super) fn item_id(kind: &str, context: &StreamContext, index: usize) -> String {
    format!("{kind}_{}_{index}", context.request_id)
}

/// A message; `parts` fills the array of its content.
pub(super) fn message(out: &mut Writer, id: &str, status: &str, parts: impl FnOnce(&mut Writer)) {
    out.begin_object();
    out.key("id");
    out.string(id);
    out.key("type");
    out.string("message");
    out.key("status");
    out.string(status);
    out.key("role");
    out.string("assistant");
    out.key("content");
    out.begin_array();
    parts(out);
    out.end_array();
    out.end_object();
}

/// A part of text; `annotations` fills an array, and the proof of another vendor comes along.
pub(super) fn text_part(
    out: &mut Writer,
    text: &Text,
    annotations: impl FnOnce(&mut Writer),
    logprobs: &[TokenLogprob],
    signature: Option<&Text>,
) {
    out.begin_object();
    out.key("type");
    out.string("output_text");
    out.key("annotations");
    annotations(out);
    out.key("logprobs");
    logprobs::write(out, logprobs);
    out.key("text");
    out.text(text);
    if let Some(signature) = signature {
        out.key("signature");
        out.text(signature);
    }
    out.end_object();
}

/// A part in which the model declines.
pub(super) fn refusal_part(out: &mut Writer, text: &Text) {
    out.begin_object();
    out.key("type");
    out.string("refusal");
    out.key("refusal");
    out.text(text);
    out.end_object();
}

/// A call of a function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    /// Of the item.
    pub(super) item: &'a str,
    /// Of the call.
    pub(super) id: &'a Text,
    /// Of the function.
    pub(super) name: &'a Text,
    /// The text of the arguments.
    pub(super) arguments: &'a Text,
    /// The proof of another vendor.
    pub(super) signature: Option<&'a Text>,
}

/// A call, as its item.
pub(super) fn call(out: &mut Writer, call: Call<'_>, status: &str) {
    out.begin_object();
    out.key("id");
    out.string(call.item);
    out.key("type");
    out.string("function_call");
    out.key("status");
    out.string(status);
    out.key("arguments");
    out.text(call.arguments);
    out.key("call_id");
    out.text(call.id);
    out.key("name");
    out.text(call.name);
    if let Some(signature) = call.signature {
        out.key("signature");
        out.text(signature);
    }
    out.end_object();
}

/// Reasoning as its item: what can be read of it, and its proof.
pub(super) fn reasoning(out: &mut Writer, id: &Text, summary: Option<&Text>, encrypted: Option<&Text>) {
    out.begin_object();
    out.key("id");
    out.text(id);
    out.key("type");
    out.string("reasoning");
    out.key("summary");
    out.begin_array();
    if let Some(text) = summary {
        summary_part(out, text);
    }
    out.end_array();
    if let Some(encrypted) = encrypted {
        out.key("encrypted_content");
        out.text(encrypted);
    }
    out.end_object();
}

/// A part of the summary of reasoning.
pub(super) fn summary_part(out: &mut Writer, text: &Text) {
    out.begin_object();
    out.key("type");
    out.string("summary_text");
    out.key("text");
    out.text(text);
    out.end_object();
}
