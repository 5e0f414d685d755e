//! Whole answers.

use super::{
    request::{decode_call, thinking_block, write_call_open, write_thinking},
    usage,
};
use crate::{
    Dialect, Encoded, StreamContext, dropped,
    ir::{Attachment, Block, BlockKind, Response, StopReason, Text},
    json::{Kind, Member, Raw, Writer, unescape},
    read,
};
use bytes::Bytes;

const SELF: Dialect = Dialect::OpenAiChat;

/// Reads an answer. Of several choices the first one counts: who asked for more was not sent here.
pub(super) fn decode(body: &Bytes) -> Result<Response, String> {
    let root = Raw::parse(body).map_err(|error| format!("not JSON: {error}"))?;
    let mut attachments = Vec::new();
    let (mut id, mut model, mut created, mut usage) = (None, None, None, None);
    let mut choices = None;
    for member in root.members() {
        let value = member.value;
        match &*unescape(member.key) {
            "error" if !value.is_null() => {
                let message = value.get("message").unwrap_or(value).string();
                return Err(format!("an error inside of a success: {}", message.unwrap_or_default()));
            }
            "id" => id = value.text(body),
            "model" => model = value.text(body),
            "created" => created = value.u64(),
            "choices" => choices = Some(value),
            "usage" => usage = usage::decode(value),
            "object" | "error" => {}
            _ if says_nothing(&member) => {}
            _ => read::attach(&mut attachments, SELF, &member, body),
        }
    }
    let choice = choices.and_then(|choices| choices.elements().next());
    let choice = choice.ok_or("an answer without choices")?;
    let message = choice.get("message").ok_or("a choice without a message")?;
    let id = id.unwrap_or_default();
    let mut blocks = decode_message(message, body, &mut attachments)?;
    for member in choice.members() {
        match &*unescape(member.key) {
            "index" | "message" | "finish_reason" | "stop_reason" => {}
            _ if says_nothing(&member) => {}
            _ => read::attach_inner(&mut attachments, SELF, "choices[]", &member, body),
        }
    }
    if let Some(call) = message.get("function_call").filter(|call| !call.is_null()) {
        let call_id = Text::new(&format!("call_{}", id.plain()));
        let call = super::request::decode_function(call, call_id, body);
        blocks.push(call.ok_or("a function call without a name")?.into());
    }
    let (stop, stop_sequence) = decode_stop(choice, &blocks, body);
    Ok(Response {
        id,
        model: model.unwrap_or_default(),
        created,
        blocks,
        stop,
        stop_sequence,
        logprobs: Vec::new(),
        usage,
        attachments,
    })
}

/// Whether a member that is not modelled is empty: vendors fill their answers with such.
fn says_nothing(member: &Member<'_>) -> bool {
    matches!(member.value.bytes(), b"null" | b"[]" | b"{}" | b"\"\"")
}

/// Blocks in the order that the other vendors demand: reasoning, text, refusal, tool calls.
fn decode_message(
    message: Raw<'_>,
    owner: &Bytes,
    attachments: &mut Vec<Attachment>,
) -> Result<Vec<Block>, String> {
    let (mut thinking, mut content) = (Vec::new(), Vec::new());
    let (mut refusal, mut calls, mut reasoning) = (None, Vec::new(), None);
    for member in message.members().filter(|member| !member.value.is_null()) {
        let value = member.value;
        match &*unescape(member.key) {
            "role" | "function_call" => {}
            "content" => content = decode_content(value, owner),
            "refusal" => refusal = value.text(owner).filter(|text| !text.is_empty()),
            "reasoning_content" => reasoning = value.text(owner),
            "reasoning" if value.kind() == Kind::String => {
                reasoning = reasoning.or_else(|| value.text(owner));
            }
            "thinking_blocks" => {
                thinking = value.elements().filter_map(|block| thinking_block(block, owner)).collect();
            }
            "tool_calls" => {
                calls = value.elements().map(|call| decode_call(call, owner)).collect::<Result<_, _>>()?;
            }
            _ if says_nothing(&member) => {}
            _ => read::attach_inner(attachments, SELF, "choices[].message", &member, owner),
        }
    }
    if let (true, Some(text)) = (thinking.is_empty(), reasoning.filter(|text| !text.is_empty())) {
        thinking.push(BlockKind::Thinking(text).into());
    }
    let mut blocks = thinking;
    blocks.append(&mut content);
    blocks.extend(refusal.map(|text| Block::from(BlockKind::Refusal(text))));
    blocks.append(&mut calls);
    Ok(blocks)
}

/// A string; some providers answer in parts.
fn decode_content(value: Raw<'_>, owner: &Bytes) -> Vec<Block> {
    if let Some(text) = value.text(owner) {
        return if text.is_empty() { Vec::new() } else { vec![BlockKind::Text(text).into()] };
    }
    let part = |part: Raw<'_>| match part.get("text").and_then(|text| text.text(owner)) {
        Some(text) => BlockKind::Text(text),
        None => BlockKind::Opaque { dialect: SELF, json: part.json(owner) },
    };
    value.elements().map(|raw| part(raw).into()).collect()
}

fn decode_stop(choice: Raw<'_>, blocks: &[Block], owner: &Bytes) -> (StopReason, Option<Text>) {
    let reason = choice.get("finish_reason").and_then(|reason| reason.text(owner));
    let stop = stop_reason(reason.unwrap_or_default(), blocks.iter().map(|block| &block.kind));
    // vLLM names the stop text.
    let sequence = choice.get("stop_reason").and_then(|sequence| sequence.text(owner));
    match (stop, sequence) {
        (StopReason::EndTurn, Some(sequence)) => (StopReason::StopSequence, Some(sequence)),
        (stop, _) => (stop, None),
    }
}

/// What a `finish_reason` means after these blocks.
pub(super) fn stop_reason<'b>(reason: Text, mut blocks: impl Iterator<Item = &'b BlockKind>) -> StopReason {
    match &*reason.plain() {
        "stop" | "eos" | "" => {
            let mut refused = false;
            let called = blocks.any(|kind| {
                refused |= matches!(kind, BlockKind::Refusal(_));
                matches!(kind, BlockKind::ToolUse { .. })
            });
            match (called, refused) {
                (true, _) => StopReason::ToolUse,
                (_, true) => StopReason::Refusal,
                _ => StopReason::EndTurn,
            }
        }
        "length" => StopReason::MaxTokens,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "content_filter" => StopReason::ContentFilter,
        _ => StopReason::Other(reason),
    }
}

/// The `finish_reason` for a reason. `refused`: the answer says so in a refusal of its own.
pub(super) fn finish_reason(
    stop: &StopReason,
    has_refusal: HasRefusal,
    dropped: &mut Vec<String>,
) -> &'static str {
    match stop {
        StopReason::EndTurn | StopReason::StopSequence => "stop",
        StopReason::MaxTokens => "length",
        StopReason::ToolUse => "tool_calls",
        StopReason::ContentFilter => "content_filter",
        StopReason::Refusal => match has_refusal {
            HasRefusal::Yes => "stop",
            HasRefusal::No => "content_filter",
        },
        StopReason::Other(word) if word.is("model_context_window_exceeded") => "length",
        StopReason::Pause | StopReason::Other(_) => {
            dropped::note(dropped, "stop_reason");
            "stop"
        }
    }
}

/// Whether an answer holds a refusal of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HasRefusal {
    Yes,
    No,
}

/// Writes an answer.
pub(super) fn encode(response: &Response, context: &StreamContext) -> Encoded {
    let mut dropped = Vec::new();
    let mut out = Writer::with_capacity(1024);
    out.begin_object();
    out.key("id");
    match response.id.is_empty() {
        true => out.string(&format!("chatcmpl-{}", context.request_id)),
        false => out.text(&response.id),
    }
    out.key("object");
    out.string("chat.completion");
    out.key("created");
    out.u64(response.created.unwrap_or(context.created));
    out.key("model");
    match response.model.is_empty() {
        true => out.string(&context.model),
        false => out.text(&response.model),
    }
    out.key("choices");
    out.begin_array();
    write_choice(response, &mut out, &mut dropped);
    out.end_array();
    if let Some(usage) = &response.usage {
        out.key("usage");
        usage::encode(usage, &mut out);
    }
    dropped::members(&response.attachments, SELF, &mut out, &mut dropped);
    out.end_object();
    Encoded { body: out.finish(), dropped }
}

fn write_choice(response: &Response, out: &mut Writer, dropped: &mut Vec<String>) {
    let (mut texts, mut thinking, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    let mut refusal = None;
    for block in &response.blocks {
        match &block.kind {
            BlockKind::Text(text) => texts.push(text),
            BlockKind::Refusal(text) => refusal = Some(text),
            BlockKind::Thinking(_) | BlockKind::RedactedThinking(_) => thinking.push(block),
            BlockKind::ToolUse { id, name, input } => calls.push((id, name, input)),
            other => dropped::note(dropped, format!("content[].{}", other.type_name())),
        }
        dropped::bare(block, "content[].", dropped);
    }
    out.begin_object();
    out.key("index");
    out.u64(0);
    out.key("message");
    out.begin_object();
    out.key("role");
    out.string("assistant");
    out.key("content");
    match texts.is_empty() {
        true => out.null(),
        false => out.texts(texts),
    }
    out.key("refusal");
    match refusal {
        Some(refusal) => out.text(refusal),
        None => out.null(),
    }
    write_thinking(out, thinking.into_iter());
    if !calls.is_empty() {
        out.key("tool_calls");
        out.begin_array();
        for (id, name, input) in calls {
            write_call_open(out, id, name, input);
            out.end_object();
        }
        out.end_array();
    }
    out.end_object();
    out.key("logprobs");
    out.null();
    out.key("finish_reason");
    let has_refusal = if refusal.is_some() { HasRefusal::Yes } else { HasRefusal::No };
    out.string(finish_reason(&response.stop, has_refusal, dropped));
    out.end_object();
}
