//! Whole answers.

use super::{
    citations,
    formats::Form,
    redacted,
    request::{read_block, write_cited},
    usage,
};
use crate::{
    Dialect, Encoded,
    anthropic_messages::write_tool_input,
    dropped,
    ir::{Block, BlockKind, Citation, Media, MediaSource, Response, StopReason, Text},
    json::{Raw, Writer, unescape},
    read::{self, ROOT},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::BedrockConverse;

/// Reads an answer. It has neither an id nor a model.
pub(super) fn decode(body: &Bytes) -> Result<Response, String> {
    let root = Raw::parse(body).map_err(|error| format!("not JSON: {error}"))?;
    let [mut output, mut stop_reason, mut usage, mut fields] = [None; 4];
    let mut attachments = Vec::new();
    for member in root.members() {
        let known = match &*unescape(member.key) {
            "output" => &mut output,
            "stopReason" => &mut stop_reason,
            "usage" => &mut usage,
            // How long the vendor took is its own affair.
            "metrics" => continue,
            name => {
                if name == "additionalModelResponseFields" {
                    fields.get_or_insert(member.value);
                    if only_stop_sequence(member.value) {
                        continue;
                    }
                }
                if !matches!(member.value.bytes(), b"null" | b"[]" | b"{}" | b"\"\"") {
                    read::attach(&mut attachments, SELF, &member, body);
                }
                continue;
            }
        };
        known.get_or_insert(member.value);
    }
    let message =
        output.and_then(|output: Raw<'_>| output.get("message")).filter(|message| !message.is_null());
    let Some(message) = message else {
        let told = root.get("message").or_else(|| root.get("Message")).and_then(Raw::string);
        return Err(format!("an answer without a message: {}", told.unwrap_or_default()));
    };
    let path = ROOT.member("output");
    let (path, mut blocks) = (path.member("message"), Vec::new());
    let path = path.member("content");
    for (i, block) in message.get("content").into_iter().flat_map(Raw::elements).enumerate() {
        let block = read_block(block, &path.element(i), body);
        blocks.push(block.map_err(|refusal| refusal.message.into_owned())?);
    }
    let called = blocks.iter().any(|block| matches!(block.kind, BlockKind::ToolUse { .. }));
    let reason = stop_reason.and_then(|reason| reason.text(body));
    Ok(Response {
        id: Text::default(),
        model: Text::default(),
        created: None,
        stop: decode_stop(reason, if called { Called::Yes } else { Called::No }),
        blocks,
        stop_sequence: fields.and_then(|fields| stop_sequence(fields, body)),
        logprobs: Vec::new(),
        usage: usage.and_then(usage::decode),
        attachments,
    })
}

/// The stop text that was hit: where a whole answer has it, or where a streamed one has it.
pub(super) fn stop_sequence(fields: Raw<'_>, owner: &Bytes) -> Option<Text> {
    let holder = if fields.get("stop_sequence").is_some() { fields } else { fields.get("delta")? };
    holder.get("stop_sequence")?.text(owner)
}

fn only_stop_sequence(fields: Raw<'_>) -> bool {
    let is = |raw: Raw<'_>| raw.members().all(|member| member.is("stop_sequence"));
    fields.members().all(|member| member.is("stop_sequence") || (member.is("delta") && is(member.value)))
}

/// Whether the answer holds a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Called {
    Yes,
    No,
}

/// What a `stopReason` means. Some models call a tool and say that they are done.
pub(super) fn decode_stop(reason: Option<Text>, called: Called) -> StopReason {
    let plain_end = if called == Called::Yes { StopReason::ToolUse } else { StopReason::EndTurn };
    let Some(reason) = reason else { return plain_end };
    match &*reason.plain() {
        "end_turn" => plain_end,
        "stop_sequence" => StopReason::StopSequence,
        "max_tokens" => StopReason::MaxTokens,
        "tool_use" => StopReason::ToolUse,
        "guardrail_intervened" | "content_filtered" => StopReason::ContentFilter,
        "refusal" => StopReason::Refusal,
        _ => StopReason::Other(reason),
    }
}

/// The `stopReason` for a reason. A word of another vendor is named and becomes the plain end.
pub(super) fn encode_stop(stop: &StopReason, dropped: &mut Vec<String>) -> &'static str {
    match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::StopSequence => "stop_sequence",
        StopReason::MaxTokens => "max_tokens",
        StopReason::ToolUse => "tool_use",
        StopReason::ContentFilter | StopReason::Refusal => "content_filtered",
        StopReason::Other(word) => match &*word.plain() {
            "model_context_window_exceeded" => "model_context_window_exceeded",
            "malformed_model_output" => "malformed_model_output",
            "malformed_tool_use" => "malformed_tool_use",
            "model_length" => "max_tokens",
            _ => unknown_stop(dropped),
        },
        StopReason::Pause => unknown_stop(dropped),
    }
}

fn unknown_stop(dropped: &mut Vec<String>) -> &'static str {
    dropped::note(dropped, "stop_reason");
    "end_turn"
}

/// Writes an answer.
pub(super) fn encode(response: &Response) -> Encoded {
    let mut dropped = Vec::new();
    let mut out = Writer::with_capacity(1024);
    out.begin_object();
    out.key("output");
    out.begin_object();
    out.key("message");
    out.begin_object();
    out.key("role");
    out.string("assistant");
    out.key("content");
    out.begin_array();
    for block in &response.blocks {
        write_block(block, &mut out, &mut dropped);
    }
    out.end_array();
    out.end_object();
    out.end_object();
    out.key("stopReason");
    out.string(encode_stop(&response.stop, &mut dropped));
    if !response.logprobs.is_empty() {
        dropped::note(&mut dropped, "logprobs");
    }
    out.key("usage");
    usage::encode(&response.usage.unwrap_or_default(), &mut out);
    out.key("metrics");
    out.raw(METRICS);
    let fields = |name: &Text| name.is("additionalModelResponseFields");
    let own_fields = response.attachments.iter().any(|a| a.dialect == SELF && fields(&a.name));
    if let Some(sequence) = response.stop_sequence.as_ref().filter(|_| !own_fields) {
        write_stop_sequence(sequence, &mut out);
    }
    dropped::attachments(&response.attachments, SELF, "", &mut out, &mut dropped);
    out.end_object();
    Encoded { body: out.finish(), dropped }
}

/// Clients demand the member; only the vendor could say how long it took.
pub(super) const METRICS: &[u8] = br#"{"latencyMs":0}"#;

/// The stop text that was hit, as models of Anthropic name it.
pub(super) fn write_stop_sequence(sequence: &Text, out: &mut Writer) {
    out.key("additionalModelResponseFields");
    out.begin_object();
    out.key("stop_sequence");
    out.text(sequence);
    out.end_object();
}

fn write_block(block: &Block, out: &mut Writer, dropped: &mut Vec<String>) {
    let parent = "content[].";
    let expressible = match &block.kind {
        BlockKind::Opaque { dialect, json } if *dialect == SELF => return out.json(json),
        BlockKind::Image(media) => image_format(media).is_some(),
        BlockKind::Text(_)
        | BlockKind::Refusal(_)
        | BlockKind::Thinking(_)
        | BlockKind::RedactedThinking(_)
        | BlockKind::ToolUse { .. } => true,
        _ => false,
    };
    if !expressible {
        return dropped::note(dropped, format!("{parent}{}", block.kind.type_name()));
    }
    out.begin_object();
    match &block.kind {
        BlockKind::Text(text) | BlockKind::Refusal(text) => {
            let mut cited = block.citations.iter().filter(|c| citations::says_something(c)).peekable();
            if cited.peek().is_some() {
                write_cited(out, text, cited);
            } else {
                out.key("text");
                out.text(text);
            }
        }
        BlockKind::ToolUse { id, name, input } => {
            out.key("toolUse");
            out.begin_object();
            for (member, text) in [("toolUseId", id), ("name", name)] {
                out.key(member);
                out.text(text);
            }
            out.key("input");
            write_tool_input(input, "content[].input", out, dropped);
            out.end_object();
        }
        BlockKind::Image(media) => write_image(media, out),
        _ => write_reasoning(block, out),
    }
    if block.signature.is_some() && !matches!(block.kind, BlockKind::Thinking(_)) {
        dropped::note(dropped, format!("{parent}signature"));
    }
    let uncited: fn(&Citation) -> bool = |citation| !citations::says_something(citation);
    if block.citations.iter().any(uncited) {
        dropped::note(dropped, format!("{parent}citations"));
    }
    dropped::attachments(&block.attachments, SELF, parent, out, dropped);
    out.end_object();
}

fn write_reasoning(block: &Block, out: &mut Writer) {
    out.key("reasoningContent");
    out.begin_object();
    match &block.kind {
        BlockKind::RedactedThinking(sealed) => {
            out.key("redactedContent");
            out.text(&redacted::write(sealed));
        }
        BlockKind::Thinking(text) => {
            out.key("reasoningText");
            out.begin_object();
            out.key("text");
            out.text(text);
            if let Some(signature) = &block.signature {
                out.key("signature");
                out.text(&signature.carried(SELF));
            }
            out.end_object();
        }
        _ => {}
    }
    out.end_object();
}

fn image_format(media: &Media) -> Option<&'static str> {
    match &media.source {
        MediaSource::Base64(_) => Form::Image.format(media),
        _ => None,
    }
}

fn write_image(media: &Media, out: &mut Writer) {
    out.key("image");
    out.begin_object();
    if let (Some(format), MediaSource::Base64(data)) = (image_format(media), &media.source) {
        out.key("format");
        out.string(format);
        out.key("source");
        out.begin_object();
        out.key("bytes");
        out.text(data);
        out.end_object();
    }
    out.end_object();
}
