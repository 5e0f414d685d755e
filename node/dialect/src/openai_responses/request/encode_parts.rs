//! Writes content parts.

use super::super::parts::Whole;
use crate::{
    Dialect, Refusal,
    body::Body,
    dropped, foreign,
    ir::{Attachment, Block, BlockKind, Media, MediaSource, Text},
    json::Writer,
};

const SELF: Dialect = Dialect::OpenAiResponses;

/// The member of a message item that lies with the first block of the message.
pub(super) const PHASE: &str = "phase";

/// Between the parts of a content that must be one string.
static LINE_END: Text = Text::fixed("\\n");

/// What is said to the model: a string where one plain text says it all or the provider takes nothing else, else an
/// array of parts.
pub(super) fn write_content(body: &mut Body<'_>, blocks: &[&Block], parent: &str) {
    if write_string(body, blocks, parent) {
        return;
    }
    body.out.begin_array();
    for block in blocks {
        write_part(body, block, "input_text", parent);
    }
    body.out.end_array();
}

/// What the model said.
pub(super) fn write_said(body: &mut Body<'_>, blocks: &[&Block], parent: &str) {
    if write_string(body, blocks, parent) {
        return;
    }
    body.out.begin_array();
    for block in blocks {
        write_part(body, block, "output_text", parent);
    }
    body.out.end_array();
}

/// Writes a string, if it may be one.
fn write_string(body: &mut Body<'_>, blocks: &[&Block], parent: &str) -> bool {
    let all_text = blocks.iter().all(|block| matches!(block.kind, BlockKind::Text(_)));
    let marked = |block: &&Block| {
        (block.cache.is_some() && body.target.quirks.cache_control)
            || block.citations.iter().any(|citation| citation.dialect == SELF)
            || block.attachments.iter().any(|attachment| attachment.dialect == SELF && !is_phase(attachment))
    };
    let simple = blocks.len() <= 1 && !blocks.iter().any(marked);
    if !all_text || !(simple || body.target.quirks.flatten_content) {
        return false;
    }
    let mut texts = Vec::with_capacity(blocks.len() * 2);
    for block in blocks {
        note_bare(body, block, parent);
        if let BlockKind::Text(text) = &block.kind {
            if !texts.is_empty() {
                texts.push(&LINE_END);
            }
            texts.push(text);
        }
    }
    body.out.texts(texts);
    true
}

/// Names what a text loses that is written as a string.
fn note_bare(body: &mut Body<'_>, block: &Block, parent: &str) {
    note_foreign(body, block, parent);
    if block.cache.is_some() {
        body.drop(format!("{parent}cache_control"));
    }
    for attachment in block.attachments.iter().filter(|attachment| !is_phase(attachment)) {
        body.drop(format!("{parent}{}", attachment.name.plain()));
    }
}

/// Names proofs and citations that only another vendor knows.
fn note_foreign(body: &mut Body<'_>, block: &Block, parent: &str) {
    if block.signature.is_some() {
        body.drop(format!("{parent}signature"));
    }
    if block.citations.iter().any(|citation| citation.dialect != SELF) {
        body.drop(format!("{parent}citations"));
    }
}

/// What is written with the message that the block begins.
fn is_phase(attachment: &Attachment) -> bool {
    attachment.dialect == SELF && attachment.name.is(PHASE)
}

/// One part; `said` is the type of a text.
fn write_part(body: &mut Body<'_>, block: &Block, said: &str, parent: &str) {
    if let BlockKind::Opaque { json, .. } = &block.kind {
        return body.out.json(json);
    }
    note_foreign(body, block, parent);
    let out = &mut body.out;
    out.begin_object();
    out.key("type");
    match &block.kind {
        BlockKind::Image(media) => write_image(out, media),
        BlockKind::Document(media) => write_document(out, media),
        BlockKind::Refusal(text) if said == "output_text" => {
            out.string("refusal");
            out.key("refusal");
            out.text(text);
        }
        BlockKind::Text(text) | BlockKind::Refusal(text) => {
            out.string(said);
            out.key("text");
            out.text(text);
            if said == "output_text" {
                out.key("annotations");
                out.begin_array();
                let own = block.citations.iter().filter(|citation| citation.dialect == SELF);
                own.for_each(|citation| out.json(&citation.json));
                out.end_array();
            }
        }
        _ => out.string(said),
    }
    write_cache(body, block, parent);
    for attachment in block.attachments.iter().filter(|attachment| !is_phase(attachment)) {
        let one = std::slice::from_ref(attachment);
        dropped::attachments(one, SELF, parent, &mut body.out, &mut body.dropped);
    }
    body.out.end_object();
}

fn write_image(out: &mut Writer, media: &Media) {
    out.string("input_image");
    match &media.source {
        MediaSource::File(_, id) => {
            out.key("file_id");
            out.text(id);
        }
        _ => {
            out.key("image_url");
            write_url(out, media);
        }
    }
    if let Some(detail) = &media.detail {
        out.key("detail");
        out.text(detail);
    }
}

fn write_document(out: &mut Writer, media: &Media) {
    match &media.source {
        MediaSource::Plain(text) => {
            out.string("input_text");
            out.key("text");
            match &media.title {
                Some(title) => out.texts([title, &LINE_END, text]),
                None => out.text(text),
            }
            return;
        }
        MediaSource::File(_, id) => {
            out.string("input_file");
            out.key("file_id");
            out.text(id);
        }
        MediaSource::Url(url) => {
            out.string("input_file");
            out.key("file_url");
            out.text(url);
        }
        MediaSource::Base64(_) => {
            out.string("input_file");
            out.key("filename");
            match &media.title {
                Some(title) => out.text(title),
                // The vendor demands one with data, and tells the kind of file by it.
                None => out.string(file_name(media)),
            }
            out.key("file_data");
            write_url(out, media);
        }
    }
    if let (Some(title), MediaSource::File(..) | MediaSource::Url(_)) = (&media.title, &media.source) {
        out.key("filename");
        out.text(title);
    }
    if let Some(detail) = &media.detail {
        out.key("detail");
        out.text(detail);
    }
}

fn file_name(media: &Media) -> &'static str {
    match &*media.media_type_or_guess().plain() {
        "application/pdf" => "document.pdf",
        "text/plain" => "document.txt",
        "text/markdown" => "document.md",
        "text/html" => "document.html",
        "text/csv" => "document.csv",
        _ => "document",
    }
}

fn write_url(out: &mut Writer, media: &Media) {
    match &media.source {
        MediaSource::Base64(data) => {
            let media_type = media.media_type_or_guess();
            out.texts([&Text::fixed("data:"), &media_type, &Text::fixed(";base64,"), data]);
        }
        MediaSource::Url(text) | MediaSource::Plain(text) | MediaSource::File(_, text) => out.text(text),
    }
}

/// A cache mark, where the provider takes one.
pub(super) fn write_cache(body: &mut Body<'_>, block: &Block, parent: &str) {
    let Some(cache) = &block.cache else { return };
    if body.target.quirks.cache_control {
        body.out.key("cache_control");
        body.out.json(cache);
    } else {
        body.drop(format!("{parent}cache_control"));
    }
}

/// What the model would have to see cannot be left out without changing the meaning.
pub(super) fn check_expressible(block: &Block, index: usize) -> Result<(), Refusal> {
    let refuse = |what: &str| Err(Refusal::invalid(format!("messages[{index}]"), what.to_owned()));
    match &block.kind {
        BlockKind::ToolUse { .. } | BlockKind::Thinking(_) | BlockKind::RedactedThinking(_) => {
            refuse(&format!("has a block of type `{}`, which has no place there", block.kind.type_name()))
        }
        BlockKind::Opaque { dialect, json } if *dialect == SELF && Whole::of(json) != Whole::Neither => {
            Ok(())
        }
        BlockKind::Opaque { .. } | BlockKind::Audio(_) | BlockKind::Video(_) => refuse(&format!(
            "has a part of type `{}`, which this target's dialect lacks",
            block.kind.type_name()
        )),
        BlockKind::Image(media) | BlockKind::Document(media) => match &media.source {
            MediaSource::File(dialect, _) if !foreign::same_vendor(*dialect, SELF) => {
                refuse("has a file that lies with another vendor: send its data")
            }
            _ => Ok(()),
        },
        BlockKind::ToolResult { content, .. } => content.iter().try_for_each(|inner| match &inner.kind {
            BlockKind::ToolResult { .. } => refuse("has a result inside of a result"),
            _ => check_expressible(inner, index),
        }),
        BlockKind::Text(_) | BlockKind::Refusal(_) => Ok(()),
    }
}
