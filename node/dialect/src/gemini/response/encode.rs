//! Writes a whole answer.

use super::{
    logprobs::write_logprobs,
    sources::{GROUNDING, Sources},
    stop::{Held, encode_stop},
};
use crate::{
    Dialect, Encoded, StreamContext, dropped,
    gemini::{
        attached,
        part::{write_arguments, write_media},
        seal, usage,
    },
    ir::{Block, BlockKind, Response, Text},
    json::Writer,
};
use std::borrow::Cow;

const SELF: Dialect = Dialect::Gemini;
const PARENT: &str = "content[].";
const CANDIDATE: &str = "candidates[]";

/// Writes an answer.
pub(in crate::gemini) fn encode(response: &Response, context: &StreamContext) -> Encoded {
    let mut dropped = Vec::new();
    let mut out = Writer::with_capacity(1024);
    out.begin_object();
    out.key("candidates");
    out.begin_array();
    write_candidate(response, &mut out, &mut dropped);
    out.end_array();
    if let Some(usage) = &response.usage {
        out.key("usageMetadata");
        usage::encode(usage, &mut out);
    }
    write_head(&mut out, (&response.id, &response.model), context);
    let parents = [CANDIDATE, GROUNDING];
    attached::write_beside(&response.attachments, &parents, "", &mut out, &mut dropped);
    out.end_object();
    Encoded { body: out.finish(), dropped }
}

/// Model and id; those of the upstream may be empty.
pub(in crate::gemini) fn write_head(out: &mut Writer, (id, model): (&Text, &Text), context: &StreamContext) {
    out.key("modelVersion");
    match model.is_empty() {
        true => out.string(&context.model),
        false => out.text(model),
    }
    out.key("responseId");
    match id.is_empty() {
        true => out.string(&context.request_id),
        false => out.text(id),
    }
}

fn write_candidate(response: &Response, out: &mut Writer, dropped: &mut Vec<String>) {
    let (mut sources, mut written) = (Sources::default(), Vec::new());
    out.begin_object();
    out.key("content");
    out.begin_object();
    out.key("parts");
    out.begin_array();
    for block in &response.blocks {
        if write_part(block, out, dropped) {
            let text = cited_text(block);
            for citation in &block.citations {
                sources.add(citation, written.len(), &text, dropped);
            }
            written.push(text);
        }
    }
    out.end_array();
    out.key("role");
    out.string("model");
    out.end_object();
    out.key("finishReason");
    let held = Held::of(response.blocks.iter().map(|block| &block.kind));
    out.text(&encode_stop(&response.stop, held, dropped));
    out.key("index");
    out.u64(0);
    if !response.logprobs.is_empty() {
        out.key("logprobsResult");
        write_logprobs(&response.logprobs, out);
    }
    sources.write(&response.attachments, &written, out);
    attached::write_inside(&response.attachments, CANDIDATE, out);
    out.end_object();
}

/// The text of a block that has sources.
fn cited_text(block: &Block) -> Cow<'_, str> {
    match &block.kind {
        BlockKind::Text(text) | BlockKind::Refusal(text) if !block.citations.is_empty() => text.plain(),
        _ => Cow::default(),
    }
}

/// One part. False where the block has no form here, and is named.
fn write_part(block: &Block, out: &mut Writer, dropped: &mut Vec<String>) -> bool {
    match &block.kind {
        BlockKind::Opaque { dialect: SELF, json } => {
            out.json(json);
            return true;
        }
        other @ (BlockKind::Opaque { .. } | BlockKind::ToolResult { .. }) => {
            dropped::note(dropped, format!("{PARENT}{}", other.type_name()));
            return false;
        }
        _ => out.begin_object(),
    }
    match &block.kind {
        BlockKind::Text(text) | BlockKind::Refusal(text) => {
            out.key("text");
            out.text(text);
        }
        BlockKind::Thinking(text) => {
            out.key("text");
            out.text(text);
            out.key("thought");
            out.bool(true);
        }
        BlockKind::RedactedThinking(sealed) => {
            out.key("thought");
            out.bool(true);
            out.key("thoughtSignature");
            out.text(&seal::carried(sealed));
        }
        BlockKind::Image(media)
        | BlockKind::Document(media)
        | BlockKind::Audio(media)
        | BlockKind::Video(media) => write_media(out, media),
        BlockKind::ToolUse { id, name, input } => {
            out.key("functionCall");
            out.begin_object();
            out.key("id");
            out.text(id);
            out.key("name");
            out.text(name);
            out.key("args");
            write_arguments(input, "content[].input", out, dropped);
            attached::write_inside(&block.attachments, "functionCall", out);
            out.end_object();
        }
        BlockKind::ToolResult { .. } | BlockKind::Opaque { .. } => {}
    }
    if let Some(signature) = &block.signature {
        out.key("thoughtSignature");
        out.text(&seal::carried(signature));
    }
    attached::write_beside(&block.attachments, &["functionCall"], PARENT, out, dropped);
    out.end_object();
    true
}
