//! Writes content blocks.

use super::{blocks::MALFORMED, encode_messages::write_content, excerpt};
use crate::{
    Dialect, Refusal,
    anthropic_messages::citation,
    body::Body,
    dropped,
    ir::{Attachment, Block, BlockKind, Media, MediaSource, Role, Text},
    json::{Kind, Raw, Writer},
    read::Path,
};

const SELF: Dialect = Dialect::AnthropicMessages;
const PARENT: &str = "messages[].content[].";

/// Whether a block goes on. What carries no text is left out; what only another dialect can read is named in the
/// model's own words and refused in the user's: there it would change the meaning.
pub(super) fn expressible(
    block: &Block,
    role: Role,
    path: &Path<'_>,
    body: &mut Body<'_>,
) -> Result<bool, Refusal> {
    match &block.kind {
        BlockKind::Text(text) | BlockKind::Refusal(text) => Ok(!text.is_blank()),
        // Without its proof the vendor refuses it; its own dialect leaves an empty text where only the proof counts.
        BlockKind::Thinking(_) => {
            let signed = own_signature(block).is_some();
            if !signed {
                body.drop("messages[].reasoning_content");
            }
            Ok(signed)
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
        other @ (BlockKind::Opaque { .. } | BlockKind::Audio(_) | BlockKind::Video(_)) => {
            let kind = other.type_name();
            Err(path.refuse(format_args!("is a part of type `{kind}`, which this target's dialect lacks")))
        }
        BlockKind::Image(Media { source: MediaSource::File(dialect, _), .. })
        | BlockKind::Document(Media { source: MediaSource::File(dialect, _), .. })
            if *dialect != SELF =>
        {
            Err(path.refuse("is a file that lies with another vendor: send its data"))
        }
        BlockKind::Image(media) | BlockKind::Document(media) => media.check(path).map(|()| true),
        BlockKind::ToolResult { content, .. } => {
            let at = path.member("content");
            for (i, inner) in content.iter().enumerate() {
                // What a result holds is always seen by the model.
                expressible(inner, Role::User, &at.element(i), body)?;
            }
            Ok(true)
        }
        BlockKind::ToolUse { .. } => Ok(true),
    }
}

/// Writes a block with its mark and what is attached to it.
pub(super) fn write_block(body: &mut Body<'_>, block: &Block) {
    if let BlockKind::Opaque { json, .. } = &block.kind {
        return body.out.json(json);
    }
    if let Some(whole) = excerpt::kept(block) {
        return body.out.json(whole);
    }
    body.out.begin_object();
    body.out.key("type");
    match &block.kind {
        BlockKind::Text(text) | BlockKind::Refusal(text) => fields(&mut body.out, "text", [("text", text)]),
        BlockKind::Thinking(text) => {
            fields(&mut body.out, "thinking", [("thinking", text)]);
        }
        BlockKind::RedactedThinking(sealed) => {
            fields(&mut body.out, "redacted_thinking", [("data", &sealed.data)]);
        }
        BlockKind::Image(media) => {
            if media.detail.is_some() {
                body.drop(format!("{PARENT}image_url.detail"));
            }
            body.out.string("image");
            write_source(&mut body.out, media);
        }
        BlockKind::Document(media) => {
            body.out.string("document");
            write_source(&mut body.out, media);
            if let Some(title) = &media.title {
                body.out.key("title");
                body.out.text(title);
            }
        }
        BlockKind::ToolUse { id, name, input } => {
            fields(&mut body.out, "tool_use", [("id", &tool_id(id)), ("name", name)]);
            body.out.key("input");
            write_tool_input(
                input,
                "messages[].tool_calls[].function.arguments",
                &mut body.out,
                &mut body.dropped,
            );
        }
        BlockKind::ToolResult { id, content, is_error } => {
            fields(&mut body.out, "tool_result", [("tool_use_id", &tool_id(id))]);
            let inner: Vec<&Block> = content.iter().filter(|inner| !is_blank(inner)).collect();
            if !inner.is_empty() {
                body.out.key("content");
                write_content(body, &inner);
            }
            if *is_error {
                body.out.key("is_error");
                body.out.bool(true);
            }
        }
        BlockKind::Audio(_) | BlockKind::Video(_) | BlockKind::Opaque { .. } => body.out.string("text"),
    }
    write_beside(body, block);
    body.out.end_object();
}

/// What a block has besides its content: a mark, sources, a proof, and what is attached to it.
fn write_beside(body: &mut Body<'_>, block: &Block) {
    if let Some(cache) = &block.cache {
        body.out.key("cache_control");
        body.out.json(cache);
    }
    let annotated = block.citations.iter().any(|citation| citation.dialect == Dialect::OpenAiChat);
    let path = if annotated { "messages[].annotations" } else { "messages[].content[].citations" };
    citation::write(block, path, &mut body.out, &mut body.dropped);
    match own_signature(block) {
        Some(signature) => {
            body.out.key("signature");
            body.out.text(signature);
        }
        None => dropped::signature(block, PARENT, &mut body.dropped),
    }
    for attachment in &block.attachments {
        let one = std::slice::from_ref(attachment);
        dropped::attachments(one, SELF, parent(block, attachment), &mut body.out, &mut body.dropped);
    }
}

/// Where the client wrote what is attached to a block.
fn parent(block: &Block, attachment: &Attachment) -> &'static str {
    match &block.kind {
        BlockKind::ToolUse { .. } if attachment.dialect == Dialect::OpenAiChat => "messages[].tool_calls[].",
        BlockKind::ToolResult { .. } if attachment.dialect == Dialect::OpenAiChat => "messages[].",
        _ => PARENT,
    }
}

/// The proof of the block, if Anthropic can read it.
pub(super) fn own_signature(block: &Block) -> Option<&Text> {
    block.signature.as_ref()?.meant_for(SELF)
}

fn is_blank(block: &Block) -> bool {
    matches!(&block.kind, BlockKind::Text(text) if text.is_blank())
}

fn fields<const N: usize>(out: &mut Writer, kind: &str, texts: [(&str, &Text); N]) {
    out.string(kind);
    for (name, text) in texts {
        out.key(name);
        out.text(text);
    }
}

fn write_source(out: &mut Writer, media: &Media) {
    out.key("source");
    out.begin_object();
    out.key("type");
    match &media.source {
        MediaSource::Base64(data) => {
            let media_type = media.media_type_or_guess();
            fields(out, "base64", [("media_type", &media_type), ("data", data)]);
        }
        MediaSource::Plain(text) => {
            fields(out, "text", [("media_type", &Text::fixed("text/plain")), ("data", text)]);
        }
        MediaSource::Url(url) => fields(out, "url", [("url", url)]),
        MediaSource::File(_, id) => fields(out, "file", [("file_id", id)]),
    }
    out.end_object();
}

/// The arguments of a call as the object that the wire demands. Text that is no JSON object is wrapped as it stands
/// (`{"_malformed_arguments": "..."}`) and named.
pub(crate) fn write_tool_input(input: &Text, path: &str, out: &mut Writer, dropped: &mut Vec<String>) {
    let plain = input.plain();
    match Raw::parse(plain.as_bytes()) {
        Ok(object) if object.kind() == Kind::Object => out.raw(object.bytes()),
        _ => {
            dropped::note(dropped, path);
            out.begin_object();
            out.key(MALFORMED);
            out.text(input);
            out.end_object();
        }
    }
}

/// The id of a call in the letters that the vendor accepts; the same for a call and its result.
pub(crate) fn tool_id(id: &Text) -> Text {
    let accepted = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !id.is_empty() && id.escaped().iter().all(accepted) {
        return id.clone();
    }
    let plain = id.plain();
    let letters = plain.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' });
    let id: String = std::iter::once('_').filter(|_| plain.is_empty()).chain(letters).collect();
    Text::new(&id)
}
