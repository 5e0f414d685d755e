//! Writes content blocks.

use super::document_names::DocumentNames;
use crate::{
    Dialect, Refusal,
    anthropic_messages::{tool_id, write_tool_input},
    bedrock_converse::{citations, family::Family, formats::Form, redacted},
    body::Body,
    dropped,
    ir::{Block, BlockKind, Citation, Json, Media, MediaSource, Role, Text},
    json::{Raw, Writer},
};
use std::hash::{DefaultHasher, Hash, Hasher};

const SELF: Dialect = Dialect::BedrockConverse;
const PARENT: &str = "messages[].content[].";

/// Stands in a result that holds nothing: neither no content nor a blank text is accepted.
const NO_OUTPUT: &str = "[no output]";

/// Longest id of a call, in bytes.
const ID_BYTES_MAX: usize = 64;

/// Attachments that are the whole block in the vendor's words.
const WHOLE: [&str; 2] = ["guardContent", "searchResult"];

/// Whether a block goes on. What carries no text is left out; what only another dialect can read is named in the
/// model's own words and refused in the user's: there it would change the meaning.
pub(super) fn expressible(
    block: &Block,
    role: Role,
    index: usize,
    (body, family): (&mut Body<'_>, Family),
) -> Result<bool, Refusal> {
    let refuse = |what: String| Err(Refusal::invalid(format!("messages[{index}]"), what));
    let assistant = role == Role::Assistant;
    let name = block.kind.type_name();
    match &block.kind {
        BlockKind::Text(text) | BlockKind::Refusal(text) => Ok(!text.is_blank()),
        BlockKind::Opaque { dialect, .. } if *dialect == SELF => Ok(true),
        BlockKind::Thinking(_) | BlockKind::RedactedThinking(_) | BlockKind::ToolUse { .. } if !assistant => {
            refuse(format!("has a block of type `{name}`, which has no place there"))
        }
        BlockKind::ToolUse { .. } => Ok(true),
        // Without its proof it is refused; its own dialect leaves an empty text where only the proof counts.
        BlockKind::Thinking(_) => {
            let signed = own_signature(block, family).is_some();
            if !signed {
                body.drop("messages[].reasoning_content");
            }
            Ok(signed)
        }
        BlockKind::RedactedThinking(sealed) => {
            let own = redacted::for_provider(sealed)
                .is_some_and(|_| sealed.dialect == SELF || family.reads_claude());
            if !own {
                body.drop(format!("{PARENT}redacted_thinking"));
            }
            Ok(own)
        }
        _ if assistant => {
            body.drop(format!("{PARENT}{name}"));
            Ok(false)
        }
        BlockKind::Opaque { .. } => {
            refuse(format!("has a part of type `{name}`, which this target's dialect lacks"))
        }
        BlockKind::Image(media) => check_media(Form::Image, media).map_or_else(refuse, |()| Ok(true)),
        BlockKind::Document(media) => check_media(Form::Document, media).map_or_else(refuse, |()| Ok(true)),
        BlockKind::Audio(media) => check_media(Form::Audio, media).map_or_else(refuse, |()| Ok(true)),
        BlockKind::Video(media) => check_media(Form::Video, media).map_or_else(refuse, |()| Ok(true)),
        BlockKind::ToolResult { content, .. } => {
            for inner in content {
                if matches!(inner.kind, BlockKind::Audio(_) | BlockKind::ToolResult { .. }) {
                    let name = inner.kind.type_name();
                    return refuse(format!(
                        "has a tool result with a part of type `{name}`, which this target's dialect lacks"
                    ));
                }
                // What a result holds is always seen by the model.
                expressible(inner, Role::User, index, (&mut *body, family))?;
            }
            Ok(true)
        }
    }
}

/// The bytes must come along, in one of the formats.
fn check_media(form: Form, media: &Media) -> Result<(), String> {
    let name = form.shown();
    match &media.source {
        MediaSource::Plain(_) => Ok(()),
        MediaSource::File(dialect, _) if *dialect == SELF => Ok(()),
        MediaSource::File(..) => Err(format!("has {name} that lies with another vendor: send its data")),
        MediaSource::Url(_) => {
            Err(format!("has {name} by URL, which this target's dialect lacks: send its data as base64"))
        }
        MediaSource::Base64(_) if form.format(media).is_none() => {
            let media_type = media.media_type_or_guess();
            let media_type = media_type.plain();
            Err(format!("has {name} of type `{media_type}`, which this target's dialect lacks"))
        }
        MediaSource::Base64(_) => Ok(()),
    }
}

/// The proof of the block, if the model may be able to read it.
fn own_signature(block: &Block, family: Family) -> Option<&Text> {
    let signature = block.signature.as_ref()?;
    signature.meant_for(SELF).filter(|_| signature.dialect == SELF || family.reads_claude())
}

/// Writes the mark of a block as a cache point behind it, if the model takes one.
pub(super) fn write_mark(body: &mut Body<'_>, mark: Option<&Json>, family: Family, parent: &str) {
    let Some(mark) = mark else { return };
    if !family.caches() {
        body.drop(format!("{parent}cache_control"));
    } else if family.caches_more() || mark.raw().get("ttl").is_none() {
        write_cache_point(&mut body.out, mark);
    } else {
        body.drop(format!("{parent}cache_control.ttl"));
        write_cache_point(&mut body.out, &Json::fixed("{}"));
    }
}

/// Writes a cache point with the lifetime of the mark.
pub(super) fn write_cache_point(out: &mut Writer, mark: &Json) {
    out.begin_object();
    out.key("cachePoint");
    out.begin_object();
    out.key("type");
    out.string("default");
    if let Some(ttl) = mark.raw().get("ttl").filter(|ttl| ttl.escaped().is_some()) {
        out.key("ttl");
        out.raw(ttl.bytes());
    }
    out.end_object();
    out.end_object();
}

/// Writes blocks; the names of documents count through the whole request.
pub(super) struct Blocks {
    family: Family,
    names: DocumentNames,
}

impl Blocks {
    /// No document has a name yet.
    pub(super) fn new(family: Family) -> Self {
        Self { family, names: DocumentNames::default() }
    }

    /// Writes a block and its mark behind it. It has been found expressible.
    pub(super) fn write(&mut self, body: &mut Body<'_>, block: &Block) {
        self.write_block(body, block, PARENT);
        let thinks = matches!(block.kind, BlockKind::Thinking(_) | BlockKind::RedactedThinking(_));
        match &block.cache {
            // Reasoning cannot be marked.
            Some(_) if thinks => body.drop(format!("{PARENT}cache_control")),
            mark => write_mark(body, mark.as_ref(), self.family, PARENT),
        }
    }

    fn write_block(&mut self, body: &mut Body<'_>, block: &Block, parent: &str) {
        if let BlockKind::Opaque { json, .. } = &block.kind {
            return body.out.json(json);
        }
        body.out.begin_object();
        let whole = block.attachments.iter().find(|attachment| {
            attachment.dialect == SELF && WHOLE.iter().any(|name| attachment.name.is(name))
        });
        if let Some(whole) = whole {
            body.out.key_escaped(whole.name.escaped());
            body.out.json(&whole.value);
            return body.out.end_object();
        }
        match &block.kind {
            BlockKind::Text(text) | BlockKind::Refusal(text) => write_text(body, text, block, parent),
            BlockKind::Thinking(text) => write_thinking(body, text, block, self.family),
            BlockKind::RedactedThinking(sealed) => {
                body.out.key("reasoningContent");
                body.out.begin_object();
                body.out.key("redactedContent");
                body.out.text(&sealed.data);
                body.out.end_object();
            }
            BlockKind::Image(media) => self.write_media(body, (Form::Image, media), block, parent),
            BlockKind::Document(media) => self.write_media(body, (Form::Document, media), block, parent),
            BlockKind::Audio(media) => self.write_media(body, (Form::Audio, media), block, parent),
            BlockKind::Video(media) => self.write_media(body, (Form::Video, media), block, parent),
            BlockKind::ToolUse { id, name, input } => {
                begin_part(&mut body.out, "toolUse", [("toolUseId", &call_id(id)), ("name", name)]);
                body.out.key("input");
                write_tool_input(
                    input,
                    "messages[].tool_calls[].function.arguments",
                    &mut body.out,
                    &mut body.dropped,
                );
                end_part(body, block, parent);
            }
            BlockKind::ToolResult { id, content, is_error } => {
                begin_part(&mut body.out, "toolResult", [("toolUseId", &call_id(id))]);
                self.write_result(body, content);
                match *is_error {
                    true if self.family.has_status() => {
                        body.out.key("status");
                        body.out.string("error");
                    }
                    true => body.drop(format!("{parent}is_error")),
                    false => {}
                }
                end_part(body, block, parent);
            }
            BlockKind::Opaque { .. } => {}
        }
        body.out.end_object();
    }

    fn write_result(&mut self, body: &mut Body<'_>, content: &[Block]) {
        let parent = "messages[].content[].content[].";
        body.out.key("content");
        body.out.begin_array();
        let mut written = false;
        for inner in content {
            if matches!(&inner.kind, BlockKind::Text(text) if text.is_blank()) {
                continue;
            }
            written = true;
            if inner.cache.is_some() {
                body.drop(format!("{parent}cache_control"));
            }
            self.write_block(body, inner, parent);
        }
        if !written {
            body.out.begin_object();
            body.out.key("text");
            body.out.string(NO_OUTPUT);
            body.out.end_object();
        }
        body.out.end_array();
    }

    fn write_media(
        &mut self,
        body: &mut Body<'_>,
        (form, media): (Form, &Media),
        block: &Block,
        parent: &str,
    ) {
        if media.detail.is_some() {
            body.drop(format!("{parent}image_url.detail"));
        }
        body.out.key(form.name());
        body.out.begin_object();
        if let Some(format) = format_of(form, media) {
            body.out.key("format");
            body.out.string(format);
        }
        if form == Form::Document {
            body.out.key("name");
            body.out.string(&self.names.next(media.title.as_ref()));
        }
        body.out.key("source");
        let own =
            |attachment: &&crate::ir::Attachment| attachment.dialect == SELF && attachment.name.is("source");
        match block.attachments.iter().find(own) {
            Some(source) => body.out.json(&source.value),
            None => write_source(&mut body.out, &media.source),
        }
        end_part(body, block, parent);
    }
}

/// What lies with the vendor may have a type of its own; plain text is `txt`.
fn format_of(form: Form, media: &Media) -> Option<&'static str> {
    match &media.source {
        MediaSource::Plain(_) => Some(form.format(media).unwrap_or("txt")),
        MediaSource::File(..) if media.media_type.is_none() => {
            let MediaSource::File(_, uri) = &media.source else { return None };
            form.format(&Media { title: Some(uri.clone()), ..media.clone() })
        }
        _ => form.format(media),
    }
}

fn write_source(out: &mut Writer, source: &MediaSource) {
    out.begin_object();
    match source {
        MediaSource::Base64(data) => {
            out.key("bytes");
            out.text(data);
        }
        MediaSource::Plain(text) => {
            out.key("text");
            out.text(text);
        }
        MediaSource::File(_, uri) | MediaSource::Url(uri) => {
            out.key("s3Location");
            out.begin_object();
            out.key("uri");
            out.text(uri);
            out.end_object();
        }
    }
    out.end_object();
}

fn write_text(body: &mut Body<'_>, text: &Text, block: &Block, parent: &str) {
    let own: Vec<&Citation> = block.citations.iter().filter(|citation| citation.dialect == SELF).collect();
    if own.len() < block.citations.len() {
        body.drop(format!("{parent}citations"));
    }
    if own.is_empty() {
        body.out.key("text");
        body.out.text(text);
    } else {
        write_cited(&mut body.out, text, own.into_iter());
    }
    dropped::attachments(&block.attachments, SELF, parent, &mut body.out, &mut body.dropped);
}

/// A text with its sources, as a member of the block that is open.
pub(in crate::bedrock_converse) fn write_cited<'c>(
    out: &mut Writer,
    text: &Text,
    citations: impl Iterator<Item = &'c Citation>,
) {
    out.key("citationsContent");
    out.begin_object();
    out.key("content");
    out.begin_array();
    out.begin_object();
    out.key("text");
    out.text(text);
    out.end_object();
    out.end_array();
    out.key("citations");
    out.begin_array();
    citations.for_each(|citation| citations::write(citation, out));
    out.end_array();
    out.end_object();
}

fn write_thinking(body: &mut Body<'_>, text: &Text, block: &Block, family: Family) {
    body.out.key("reasoningContent");
    body.out.begin_object();
    begin_part(&mut body.out, "reasoningText", [("text", text)]);
    if let Some(signature) = own_signature(block, family) {
        body.out.key("signature");
        body.out.text(signature);
    }
    body.out.end_object();
    body.out.end_object();
    dropped::attachments(&block.attachments, SELF, PARENT, &mut body.out, &mut body.dropped);
}

fn begin_part<const N: usize>(out: &mut Writer, name: &str, texts: [(&str, &Text); N]) {
    out.key(name);
    out.begin_object();
    for (name, text) in texts {
        out.key(name);
        out.text(text);
    }
}

/// What is attached stands inside. Anthropic has two of the members by the same names.
fn end_part(body: &mut Body<'_>, block: &Block, parent: &str) {
    for attachment in &block.attachments {
        let shared = attachment.dialect == Dialect::AnthropicMessages
            && matches!(block.kind, BlockKind::Document(_))
            && is_shared(&attachment.name, attachment.value.raw());
        if shared {
            body.out.key_escaped(attachment.name.escaped());
            body.out.json(&attachment.value);
        } else if !(attachment.dialect == SELF && attachment.name.is("source")) {
            let one = std::slice::from_ref(attachment);
            dropped::attachments(one, SELF, parent, &mut body.out, &mut body.dropped);
        }
    }
    body.out.end_object();
}

/// `"context": "..."`, and `"citations": {"enabled": true}`.
fn is_shared(name: &Text, value: Raw<'_>) -> bool {
    match &*name.plain() {
        "context" => value.escaped().is_some(),
        "citations" => value.get("enabled").is_some(),
        _ => false,
    }
}

/// The id of a call as the vendor accepts it; the same for a call and its result.
fn call_id(id: &Text) -> Text {
    let id = tool_id(id);
    let bytes = id.escaped();
    if bytes.len() <= ID_BYTES_MAX {
        return id;
    }
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let hash = format!("_{:016x}", hasher.finish());
    // Only letters of one byte are left.
    let head = id.plain().chars().take(ID_BYTES_MAX - hash.len()).collect::<String>();
    Text::new(&(head + &hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_short_and_differ() {
        let id = |plain: &str| call_id(&Text::new(plain)).plain().into_owned();
        assert_eq!(id("tooluse_a-B1"), "tooluse_a-B1");
        assert_eq!(id("functions.f:0"), "functions_f_0");
        let (one, other) = (id(&("x".repeat(80) + "1")), id(&("x".repeat(80) + "2")));
        assert_eq!((one.len(), other.len()), (64, 64));
        assert_ne!(one, other);
    }
}
