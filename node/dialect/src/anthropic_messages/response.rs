//! Whole answers.

use super::{citation, request::read_block, request::write_tool_input, usage};
use crate::{
    Dialect, Encoded, StreamContext, dropped,
    ir::{Attachment, Block, BlockKind, Response, StopReason, Text},
    json::{Raw, Writer, unescape},
    read::{self, ROOT},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::AnthropicMessages;

/// Reads an answer.
pub(super) fn decode(body: &Bytes) -> Result<Response, String> {
    let root = Raw::parse(body).map_err(|error| format!("not JSON: {error}"))?;
    let [mut kind, mut error, mut content, mut id] = [None; 4];
    let [mut model, mut stop_reason, mut stop_sequence, mut usage] = [None; 4];
    let mut attachments = Vec::new();
    for member in root.members() {
        let known = match &*unescape(member.key) {
            "type" => &mut kind,
            "role" => continue,
            "content" => &mut content,
            "id" => &mut id,
            "model" => &mut model,
            "stop_reason" => &mut stop_reason,
            "stop_sequence" => &mut stop_sequence,
            "usage" => &mut usage,
            name => {
                if name == "error" {
                    error.get_or_insert(member.value);
                }
                if !says_nothing(member.value) {
                    read::attach(&mut attachments, SELF, &member, body);
                }
                continue;
            }
        };
        known.get_or_insert(member.value);
    }
    if kind.is_some_and(|kind| kind.is_str("error")) {
        let message = error.and_then(|error: Raw<'_>| error.get("message")).and_then(Raw::string);
        return Err(format!("an error inside of a success: {}", message.unwrap_or_default()));
    }
    let content = content.ok_or("an answer without content")?;
    let path = ROOT.member("content");
    let blocks = content.elements().enumerate().map(|(i, block)| {
        read_block(block, &path.element(i), body).map_err(|refusal| refusal.message.into_owned())
    });
    let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
    for member in usage.into_iter().flat_map(Raw::members) {
        // What the meter does not count: which place, how many searches, which tier if it is not the ordinary one.
        let ordinary = says_nothing(member.value) || member.value.is_str("standard");
        if !usage::counts(member.key) && !ordinary {
            read::attach_inner(&mut attachments, SELF, "usage", &member, body);
        }
    }
    let text = |value: Option<Raw<'_>>| value.and_then(|value| value.text(body));
    Ok(Response {
        id: text(id).unwrap_or_default(),
        model: text(model).unwrap_or_default(),
        created: None,
        blocks,
        stop: decode_stop(text(stop_reason)),
        stop_sequence: text(stop_sequence),
        logprobs: Vec::new(),
        usage: usage.and_then(usage::decode),
        attachments,
    })
}

/// Whether a member that is not modelled is empty.
fn says_nothing(value: Raw<'_>) -> bool {
    matches!(value.bytes(), b"null" | b"[]" | b"{}" | b"\"\"")
}

/// What a `stop_reason` means.
pub(super) fn decode_stop(reason: Option<Text>) -> StopReason {
    let Some(reason) = reason else { return StopReason::EndTurn };
    match &*reason.plain() {
        "end_turn" => StopReason::EndTurn,
        "stop_sequence" => StopReason::StopSequence,
        "max_tokens" => StopReason::MaxTokens,
        "tool_use" => StopReason::ToolUse,
        "refusal" => StopReason::Refusal,
        "pause_turn" => StopReason::Pause,
        _ => StopReason::Other(reason),
    }
}

/// The `stop_reason` for a reason. A word of another vendor is named and becomes the plain end.
pub(super) fn encode_stop(stop: &StopReason, dropped: &mut Vec<String>) -> &'static str {
    match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::StopSequence => "stop_sequence",
        StopReason::MaxTokens => "max_tokens",
        StopReason::ToolUse => "tool_use",
        StopReason::ContentFilter | StopReason::Refusal => "refusal",
        StopReason::Pause => "pause_turn",
        StopReason::Other(word) => match &*word.plain() {
            "model_context_window_exceeded" => "model_context_window_exceeded",
            "compaction" => "compaction",
            "model_length" => "max_tokens",
            _ => {
                dropped::note(dropped, "stop_reason");
                "end_turn"
            }
        },
    }
}

/// Writes an answer.
pub(super) fn encode(response: &Response, context: &StreamContext) -> Encoded {
    let mut dropped = Vec::new();
    let mut out = Writer::with_capacity(1024);
    out.begin_object();
    write_head(&mut out, (&response.id, &response.model), context);
    out.key("content");
    out.begin_array();
    for block in &response.blocks {
        write_block(block, &mut out, &mut dropped);
    }
    out.end_array();
    out.key("stop_reason");
    out.string(encode_stop(&response.stop, &mut dropped));
    out.key("stop_sequence");
    match &response.stop_sequence {
        Some(sequence) => out.text(sequence),
        None => out.null(),
    }
    if !response.logprobs.is_empty() {
        dropped::note(&mut dropped, "choices[].logprobs");
    }
    out.key("usage");
    let of_usage = |attachment: &&Attachment| {
        attachment.dialect == SELF && attachment.name.escaped().starts_with(b"usage.")
    };
    usage::encode(
        &response.usage.unwrap_or_default(),
        response.attachments.iter().filter(of_usage),
        &mut out,
    );
    for attachment in response.attachments.iter().filter(|attachment| !of_usage(attachment)) {
        dropped::attachments(std::slice::from_ref(attachment), SELF, "", &mut out, &mut dropped);
    }
    out.end_object();
    Encoded { body: out.finish(), dropped }
}

/// Id, type, role and model; those of the upstream may be empty.
pub(super) fn write_head(out: &mut Writer, (id, model): (&Text, &Text), context: &StreamContext) {
    out.key("id");
    match id.is_empty() {
        true => out.string(&format!("msg_{}", context.request_id)),
        false => out.text(id),
    }
    out.key("type");
    out.string("message");
    out.key("role");
    out.string("assistant");
    out.key("model");
    match model.is_empty() {
        true => out.string(&context.model),
        false => out.text(model),
    }
}

fn write_block(block: &Block, out: &mut Writer, dropped: &mut Vec<String>) {
    let parent = "content[].";
    let carried;
    let (kind, name, text) = match &block.kind {
        BlockKind::Text(text) | BlockKind::Refusal(text) => ("text", "text", text),
        BlockKind::Thinking(text) => ("thinking", "thinking", text),
        BlockKind::RedactedThinking(sealed) => {
            carried = sealed.carried(SELF);
            ("redacted_thinking", "data", &carried)
        }
        BlockKind::ToolUse { id, .. } => ("tool_use", "id", id),
        BlockKind::Opaque { dialect, json } if *dialect == SELF => return out.json(json),
        other => return dropped::note(dropped, format!("{parent}{}", other.type_name())),
    };
    out.begin_object();
    out.key("type");
    out.string(kind);
    out.key(name);
    out.text(text);
    if let BlockKind::ToolUse { name, input, .. } = &block.kind {
        out.key("name");
        out.text(name);
        out.key("input");
        write_tool_input(input, "content[].input", out, dropped);
    }
    citation::write(block, "content[].citations", out, dropped);
    // Clients demand the member in reasoning, which may have none.
    if block.signature.is_some() || matches!(block.kind, BlockKind::Thinking(_)) {
        out.key("signature");
        out.text(&block.signature.as_ref().map(|signature| signature.carried(SELF)).unwrap_or_default());
    }
    dropped::attachments(&block.attachments, SELF, parent, out, dropped);
    out.end_object();
}
