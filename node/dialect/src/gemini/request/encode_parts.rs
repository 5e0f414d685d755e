//! Writes the parts of a content.

use crate::{
    Dialect, Refusal,
    body::Body,
    dropped,
    gemini::{
        attached,
        model::Model,
        part::{Apart, is_seen_apart, write_arguments, write_media, write_media_source, write_response},
    },
    ir::{Block, BlockKind, Media, MediaSource, Message, Role, Text},
};
use std::collections::HashMap;

const SELF: Dialect = Dialect::Gemini;
const PARENT: &str = "messages[].content[].";

/// The objects in a part that hold attachments of their own.
const PARENTS: [&str; 4] = ["inlineData", "fileData", "functionCall", "functionResponse"];

/// Stands for the signature of a call that another model made, or a client did not send back. Documented for models
/// that demand one.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// What parts depend on besides their block.
pub(super) struct Parts<'r> {
    /// The names of the tools by the ids of their calls: results must repeat them.
    names: HashMap<&'r Text, &'r Text>,
    model: Model,
}

/// Whether a block goes on. What carries nothing is left out; what only another dialect can read is named in the
/// model's own words and refused in the user's: there it would change the meaning.
pub(super) fn expressible(
    block: &Block,
    role: Role,
    index: usize,
    body: &mut Body<'_>,
) -> Result<bool, Refusal> {
    let refuse = |what: String| Err(Refusal::invalid(format!("messages[{index}]"), what));
    let signature = block.signature.as_ref().map(|sealed| sealed.meant_for(SELF).is_some());
    match &block.kind {
        BlockKind::Text(text) | BlockKind::Refusal(text) => Ok(!text.is_empty() || signature == Some(true)),
        // Signed by another vendor's model, it is nothing that this one has thought.
        BlockKind::Thinking(text) => {
            if signature == Some(false) {
                body.drop(format!("{PARENT}thinking"));
            }
            Ok(signature.unwrap_or(!text.is_empty()))
        }
        BlockKind::RedactedThinking(sealed) => {
            let own = sealed.meant_for(SELF).is_some();
            if !own {
                body.drop(format!("{PARENT}redacted_thinking"));
            }
            Ok(own)
        }
        BlockKind::Opaque { dialect, .. } if *dialect == SELF => Ok(true),
        other @ BlockKind::Opaque { .. } if role == Role::Assistant => {
            body.drop(format!("{PARENT}{}", other.type_name()));
            Ok(false)
        }
        other @ BlockKind::Opaque { .. } => {
            refuse(format!("has a part of type `{}`, which this target's dialect lacks", other.type_name()))
        }
        BlockKind::Image(media)
        | BlockKind::Document(media)
        | BlockKind::Audio(media)
        | BlockKind::Video(media) => match &media.source {
            MediaSource::File(dialect, _) if *dialect != SELF => {
                refuse("has a file that lies with another vendor: send its data".to_owned())
            }
            _ => Ok(true),
        },
        BlockKind::ToolResult { content, .. } => {
            for inner in content {
                // What a result holds is always seen by the model.
                expressible(inner, Role::User, index, body)?;
            }
            Ok(true)
        }
        BlockKind::ToolUse { .. } => Ok(true),
    }
}

impl<'r> Parts<'r> {
    /// For a conversation and a model.
    pub(super) fn of(messages: &'r [Message], model: &str) -> Self {
        let calls = messages.iter().flat_map(|message| &message.blocks);
        let names = calls.filter_map(|block| match &block.kind {
            BlockKind::ToolUse { id, name, .. } => Some((id, name)),
            _ => None,
        });
        Self { names: names.collect(), model: Model::of(model) }
    }

    /// The array of parts: results first, as they must follow their calls, then what they hold that has no place in
    /// them, then the rest.
    pub(super) fn write(&self, body: &mut Body<'_>, role: Role, blocks: &[&Block]) {
        body.out.begin_array();
        let is_result = |block: &&&Block| matches!(block.kind, BlockKind::ToolResult { .. });
        let mut unsigned = (role == Role::Assistant && self.model.is_third()).then_some(NO_SIGNATURE);
        for block in blocks.iter().filter(is_result) {
            self.write_result(body, block);
        }
        for block in blocks.iter().filter(is_result) {
            if let (BlockKind::ToolResult { content, .. }, Apart::Behind) = (&block.kind, self.apart(block)) {
                for inner in content.iter().filter(|inner| is_seen_apart(inner)) {
                    write_part(body, inner, None);
                }
            }
        }
        for block in blocks.iter().filter(|block| !is_result(block)) {
            // The first call of a turn carries the signature for all of them.
            let is_call = matches!(block.kind, BlockKind::ToolUse { .. });
            write_part(body, block, if is_call { unsigned.take() } else { None });
        }
        body.out.end_array();
    }

    /// Newer models take pictures and documents in a result itself.
    fn apart(&self, result: &Block) -> Apart {
        let BlockKind::ToolResult { content, .. } = &result.kind else { return Apart::Inside };
        let fits = |block: &Block| match &block.kind {
            BlockKind::Image(_) | BlockKind::Document(_) => self.model.is_third(),
            _ => false,
        };
        let own = |block: &Block| matches!(block.kind, BlockKind::Opaque { dialect: SELF, .. });
        let mut seen = content.iter().filter(|block| is_seen_apart(block));
        if seen.all(|block| fits(block) || own(block)) { Apart::Inside } else { Apart::Behind }
    }

    fn write_result(&self, body: &mut Body<'_>, block: &Block) {
        let BlockKind::ToolResult { id, content, is_error } = &block.kind else { return };
        let apart = self.apart(block);
        body.out.begin_object();
        body.out.key("functionResponse");
        body.out.begin_object();
        body.out.key("id");
        body.out.text(id);
        let mut inner = attached::inside(&block.attachments, "functionResponse");
        if !inner.any(|(name, _)| name == b"name") {
            body.out.key("name");
            body.out.text(self.names.get(id).copied().unwrap_or(id));
        }
        body.out.key("response");
        write_response((content, is_error), apart, &mut body.out);
        for inner in content.iter().filter(|inner| !is_seen_apart(inner)) {
            note_bare(body, inner);
        }
        if apart == Apart::Inside && content.iter().any(is_seen_apart) {
            body.out.key("parts");
            body.out.begin_array();
            for inner in content.iter().filter(|inner| is_seen_apart(inner)) {
                write_part(body, inner, None);
            }
            body.out.end_array();
        }
        attached::write_inside(&block.attachments, "functionResponse", &mut body.out);
        body.out.end_object();
        end_part(body, block);
    }
}

/// One part. `unsigned` is written where the block has no signature that the vendor can read.
fn write_part(body: &mut Body<'_>, block: &Block, unsigned: Option<&str>) {
    if let BlockKind::Opaque { json, .. } = &block.kind {
        return body.out.json(json);
    }
    body.out.begin_object();
    match &block.kind {
        BlockKind::Text(text) | BlockKind::Refusal(text) => {
            body.out.key("text");
            body.out.text(text);
        }
        BlockKind::Thinking(text) => {
            body.out.key("text");
            body.out.text(text);
            body.out.key("thought");
            body.out.bool(true);
        }
        BlockKind::RedactedThinking(sealed) => {
            body.out.key("thought");
            body.out.bool(true);
            body.out.key("thoughtSignature");
            body.out.text(&sealed.data);
        }
        BlockKind::Document(Media { source: MediaSource::Plain(text), title, .. }) => {
            body.out.key("text");
            match title {
                Some(title) => body.out.texts([title, &Text::fixed("\\n"), text]),
                None => body.out.text(text),
            }
        }
        BlockKind::Image(media)
        | BlockKind::Document(media)
        | BlockKind::Audio(media)
        | BlockKind::Video(media) => write_media_part(body, block, media),
        BlockKind::ToolUse { id, name, input } => {
            body.out.key("functionCall");
            body.out.begin_object();
            body.out.key("id");
            body.out.text(id);
            body.out.key("name");
            body.out.text(name);
            body.out.key("args");
            write_arguments(
                input,
                "messages[].tool_calls[].function.arguments",
                &mut body.out,
                &mut body.dropped,
            );
            attached::write_inside(&block.attachments, "functionCall", &mut body.out);
            body.out.end_object();
        }
        BlockKind::ToolResult { .. } | BlockKind::Opaque { .. } => {}
    }
    let own = block.signature.as_ref().and_then(|sealed| sealed.meant_for(SELF));
    if block.signature.is_some() && own.is_none() {
        body.drop(format!("{PARENT}signature"));
    }
    match (own, unsigned) {
        (Some(own), _) => {
            body.out.key("thoughtSignature");
            body.out.text(own);
        }
        (None, Some(unsigned)) => {
            body.out.key("thoughtSignature");
            body.out.string(unsigned);
        }
        (None, None) => {}
    }
    end_part(body, block);
}

fn write_media_part(body: &mut Body<'_>, block: &Block, media: &Media) {
    // How closely to look is for a whole request here.
    if media.detail.as_ref().is_some_and(|detail| !detail.is("auto")) {
        body.drop(format!("{PARENT}image_url.detail"));
    }
    if media.title.is_some() {
        body.drop(format!("{PARENT}title"));
    }
    let parent = match media.source {
        MediaSource::Base64(_) | MediaSource::Plain(_) => "inlineData",
        MediaSource::Url(_) | MediaSource::File(..) => "fileData",
    };
    if attached::inside(&block.attachments, parent).next().is_none() {
        return write_media(&mut body.out, media);
    }
    write_media_source(&mut body.out, media);
    attached::write_inside(&block.attachments, parent, &mut body.out);
    body.out.end_object();
}

/// What is attached to a block, and the end of its part.
fn end_part(body: &mut Body<'_>, block: &Block) {
    if block.cache.is_some() {
        body.drop(format!("{PARENT}cache_control"));
    }
    if !block.citations.is_empty() {
        body.drop(format!("{PARENT}citations"));
    }
    attached::write_beside(&block.attachments, &PARENTS, PARENT, &mut body.out, &mut body.dropped);
    body.out.end_object();
}

/// Names what is attached to a block that is written as bare text.
fn note_bare(body: &mut Body<'_>, block: &Block) {
    dropped::bare(block, "messages[].content[].content[].", &mut body.dropped);
}
