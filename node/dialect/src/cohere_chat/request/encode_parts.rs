//! Writes content parts and documents.

use crate::{
    Dialect, Refusal,
    body::Body,
    dropped,
    ir::{Block, BlockKind, Media, MediaSource, Text},
    json::{Kind, Raw, Writer},
};

const SELF: Dialect = Dialect::CohereChat;
const PARENT: &str = "messages[].content[].";

/// Between the parts of a content that must be one string.
static LINE_END: Text = Text::fixed("\\n");

/// A string where one plain text says it all or the provider takes nothing else, else an array of parts.
pub(super) fn write_content(body: &mut Body<'_>, blocks: &[&Block]) {
    let all_text =
        blocks.iter().all(|block| matches!(block.kind, BlockKind::Text(_) | BlockKind::Refusal(_)));
    let signed = |block: &Block| block.signature.as_ref().is_some_and(|s| s.meant_for(SELF).is_some());
    let bare = |block: &&Block| !signed(block) && block.attachments.iter().all(|a| a.dialect != SELF);
    let simple = blocks.len() <= 1 && blocks.iter().all(bare);
    if !all_text || !(simple || body.target.quirks.flatten_content) {
        body.out.begin_array();
        blocks.iter().for_each(|block| write_part(body, block));
        body.out.end_array();
        return;
    }
    let mut texts = Vec::with_capacity(blocks.len() * 2);
    for block in blocks {
        note_rest(body, block);
        dropped::bare(block, PARENT, &mut body.dropped);
        if let BlockKind::Text(text) | BlockKind::Refusal(text) = &block.kind {
            if !texts.is_empty() {
                texts.push(&LINE_END);
            }
            texts.push(text);
        }
    }
    body.out.texts(texts);
}

/// Names what a block has that no part can hold.
fn note_rest(body: &mut Body<'_>, block: &Block) {
    if block.signature.as_ref().is_some_and(|signature| signature.meant_for(SELF).is_none()) {
        body.drop(format!("{PARENT}signature"));
    }
}

fn write_part(body: &mut Body<'_>, block: &Block) {
    note_rest(body, block);
    if block.cache.is_some() {
        body.drop(format!("{PARENT}cache_control"));
    }
    let out = &mut body.out;
    match &block.kind {
        BlockKind::Opaque { json, .. } => return out.json(json),
        BlockKind::Document(Media { source: MediaSource::Plain(_), .. }) => {
            out.begin_object();
            out.key("type");
            out.string("document");
            out.key("document");
            write_document(body, block);
            body.out.end_object();
            return;
        }
        BlockKind::Image(media) => {
            out.begin_object();
            out.key("type");
            out.string("image_url");
            out.key("image_url");
            write_image(out, media);
        }
        BlockKind::RedactedThinking(sealed) => {
            begin_text(out, "thinking", &Text::default());
            out.key("redacted");
            out.text(&sealed.data);
        }
        BlockKind::Thinking(text) => begin_text(out, "thinking", text),
        BlockKind::Text(text) | BlockKind::Refusal(text) => begin_text(out, "text", text),
        // Nothing else gets here.
        _ => begin_text(out, "text", &Text::default()),
    }
    if let Some(signature) = block.signature.as_ref().and_then(|signature| signature.meant_for(SELF)) {
        body.out.key("signature");
        body.out.text(signature);
    }
    dropped::attachments(&block.attachments, SELF, PARENT, &mut body.out, &mut body.dropped);
    body.out.end_object();
}

/// A part whose member is named like its type; the object stays open.
pub(in crate::cohere_chat) fn begin_text(out: &mut Writer, kind: &str, text: &Text) {
    out.begin_object();
    out.key("type");
    out.string(kind);
    out.key(kind);
    out.text(text);
}

fn write_image(out: &mut Writer, media: &Media) {
    out.begin_object();
    out.key("url");
    match &media.source {
        MediaSource::Base64(data) => {
            let media_type = media.media_type_or_guess();
            out.texts([&Text::fixed("data:"), &media_type, &Text::fixed(";base64,"), data]);
        }
        MediaSource::Url(text) | MediaSource::Plain(text) | MediaSource::File(_, text) => out.text(text),
    }
    if let Some(detail) = &media.detail {
        out.key("detail");
        out.text(detail);
    }
    out.end_object();
}

/// A plain document as `{"data", "id"}`: JSON is its own data, a text is its `text`.
pub(super) fn write_document(body: &mut Body<'_>, block: &Block) {
    let BlockKind::Document(media) = &block.kind else { return body.out.null() };
    let MediaSource::Plain(text) = &media.source else { return body.out.null() };
    let is_json = media.media_type.as_ref().is_some_and(|media_type| media_type.is("application/json"));
    body.out.begin_object();
    body.out.key("data");
    let plain = text.plain();
    match Raw::parse(plain.as_bytes()) {
        Ok(object) if is_json && object.kind() == Kind::Object => body.out.raw(object.bytes()),
        _ => {
            body.out.begin_object();
            body.out.key("text");
            body.out.text(text);
            if let Some(title) = &media.title {
                body.out.key("title");
                body.out.text(title);
            }
            body.out.end_object();
        }
    }
    if block.cache.is_some() {
        body.drop(format!("{PARENT}cache_control"));
    }
    dropped::attachments(&block.attachments, SELF, PARENT, &mut body.out, &mut body.dropped);
    body.out.end_object();
}

/// A plain document told as text, under its title.
pub(super) fn document_text(block: &Block) -> Option<Block> {
    let BlockKind::Document(Media { source: MediaSource::Plain(text), title, .. }) = &block.kind else {
        return None;
    };
    let text = match title {
        Some(title) => Text::join([title, text], "\\n"),
        None => text.clone(),
    };
    Some(Block { kind: BlockKind::Text(text), ..block.clone() })
}

/// What the model would have to see cannot be left out without changing the meaning.
pub(super) fn check_expressible(block: &Block, index: usize) -> Result<(), Refusal> {
    let refuse = |what: &str| Err(Refusal::invalid(format!("messages[{index}]"), what.to_owned()));
    match &block.kind {
        BlockKind::Text(_) | BlockKind::Refusal(_) => Ok(()),
        BlockKind::Opaque { dialect, .. } if *dialect == SELF => Ok(()),
        BlockKind::Image(media) => match media.source {
            MediaSource::File(..) => {
                refuse("has an image by file id, which this target's dialect lacks: send its data or URL")
            }
            _ => Ok(()),
        },
        BlockKind::Document(media) => match media.source {
            MediaSource::Plain(_) => Ok(()),
            _ => refuse("has a document that is not plain text, which this target's dialect lacks"),
        },
        BlockKind::ToolUse { .. } | BlockKind::Thinking(_) | BlockKind::RedactedThinking(_) => {
            refuse(&format!("has a block of type `{}`, which has no place there", block.kind.type_name()))
        }
        other => {
            refuse(&format!("has a part of type `{}`, which this target's dialect lacks", other.type_name()))
        }
    }
}
