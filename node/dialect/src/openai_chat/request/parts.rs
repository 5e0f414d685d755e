//! Reads content parts, tool calls and thinking blocks: they have the same form in requests and answers.

use crate::{
    Dialect, Refusal,
    ir::{Block, BlockKind, Media, MediaSource, Sealed, Text},
    json::{Kind, Member, Raw, unescape},
    openai_chat::proof,
    read::{self, Path},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::OpenAiChat;

/// Content: a string, or an array of parts. An empty string is no block.
pub(super) fn read_content(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Vec<Block>, Refusal> {
    if let Some(text) = value.text(owner) {
        return Ok(if text.is_empty() { Vec::new() } else { vec![BlockKind::Text(text).into()] });
    }
    if value.kind() != Kind::Array {
        return Err(path.refuse("must be a string or an array of parts"));
    }
    value.elements().enumerate().map(|(i, part)| read_part(part, &path.element(i), owner)).collect()
}

fn read_part(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Block, Refusal> {
    if let Some(text) = value.text(owner) {
        return Ok(BlockKind::Text(text).into());
    }
    let (kind, members) = path.typed(value)?;
    let name = match &*kind {
        "text" => "text",
        "refusal" => "refusal",
        "image_url" => "image_url",
        "input_audio" => "input_audio",
        "file" => "file",
        _ => return Ok(BlockKind::Opaque { dialect: SELF, json: value.json(owner) }.into()),
    };
    let inner = members.iter().find(|member| member.is(name)).map(|member| member.value);
    let inner = path.required(inner, name)?;
    let at = path.member(name);
    let mut attachments = Vec::new();
    let kind = match name {
        "text" => BlockKind::Text(at.text(inner, owner)?),
        "refusal" => BlockKind::Refusal(at.text(inner, owner)?),
        // Some clients write the URL itself instead of the object with it.
        "image_url" if inner.kind() == Kind::String => {
            BlockKind::Image(Media::from_url(at.text(inner, owner)?))
        }
        "image_url" => BlockKind::Image(read_image(inner, &at, owner, &mut attachments)?),
        "input_audio" => BlockKind::Audio(read_audio(inner, &at, owner, &mut attachments)?),
        _ => BlockKind::Document(read_file(inner, &at, owner, &mut attachments)?),
    };
    let mut cache = None;
    for member in &members {
        match &*unescape(member.key) {
            "cache_control" => cache = Some(member.value.json(owner)),
            key if key == name => {}
            _ => read::attach(&mut attachments, SELF, member, owner),
        }
    }
    Ok(Block { cache, attachments, ..kind.into() })
}

type Attachments = Vec<crate::ir::Attachment>;

fn read_image(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
    attachments: &mut Attachments,
) -> Result<Media, Refusal> {
    let (mut url, mut detail) = (None, None);
    for member in path.object(value)? {
        match &*unescape(member.key) {
            "url" => url = Some(path.member("url").text(member.value, owner)?),
            "detail" => detail = Some(path.member("detail").text(member.value, owner)?),
            _ => read::attach_inner(attachments, SELF, "image_url", &member, owner),
        }
    }
    Ok(Media { detail, ..Media::from_url(path.required(url, "url")?) })
}

fn read_audio(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
    attachments: &mut Attachments,
) -> Result<Media, Refusal> {
    let (mut data, mut format) = (None, None);
    for member in path.object(value)? {
        match &*unescape(member.key) {
            "data" => data = Some(path.member("data").text(member.value, owner)?),
            "format" => format = Some(path.member("format").text(member.value, owner)?),
            _ => read::attach_inner(attachments, SELF, "input_audio", &member, owner),
        }
    }
    let media_type = format.map(|format| Text::join([&Text::fixed("audio"), &format], "/"));
    Ok(Media::new(MediaSource::Base64(path.required(data, "data")?), media_type))
}

fn read_file(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
    attachments: &mut Attachments,
) -> Result<Media, Refusal> {
    let (mut data, mut id, mut title) = (None, None, None);
    for member in path.object(value)? {
        match &*unescape(member.key) {
            "file_data" => data = Some(path.member("file_data").text(member.value, owner)?),
            "file_id" => id = Some(path.member("file_id").text(member.value, owner)?),
            "filename" => title = Some(path.member("filename").text(member.value, owner)?),
            _ => read::attach_inner(attachments, SELF, "file", &member, owner),
        }
    }
    let media = match (data, id) {
        (Some(data), _) => Media::from_file_data(data),
        (None, Some(id)) => Media::new(MediaSource::File(SELF, id), None),
        (None, None) => return Err(path.refuse("must have file_data or file_id")),
    };
    Ok(Media { title, ..media })
}

/// A call in `tool_calls`. The error says what is wrong with it.
pub(in crate::openai_chat) fn decode_call(value: Raw<'_>, owner: &Bytes) -> Result<Block, &'static str> {
    let Some(function) = value.get("function") else {
        // A call of a tool of another form (`custom`) means something to this dialect alone.
        return match value.get("type") {
            Some(kind) if !kind.is_str("function") => {
                Ok(BlockKind::Opaque { dialect: SELF, json: value.json(owner) }.into())
            }
            _ => Err("must have a function"),
        };
    };
    let id = value.get("id").and_then(|id| id.text(owner)).ok_or("must have an id")?;
    let kind = decode_function(function, id, owner).ok_or("must have the name of a function")?;
    let mut block = Block::from(kind);
    for member in value.members().filter(|member| !member.value.is_null()) {
        match &*unescape(member.key) {
            "id" | "type" | "function" | "index" => {}
            "cache_control" => block.cache = Some(member.value.json(owner)),
            "extra_content" => block.signature = proof::read(&member, owner, &mut block.attachments),
            _ => read::attach(&mut block.attachments, SELF, &member, owner),
        }
    }
    Ok(block)
}

/// The `function` of a call: its name, and its arguments as text. None and empty ones are `{}`; some providers write
/// the object itself instead of its text.
pub(in crate::openai_chat) fn decode_function(
    function: Raw<'_>,
    id: Text,
    owner: &Bytes,
) -> Option<BlockKind> {
    let name = function.get("name")?.text(owner)?;
    let input = match function.get("arguments") {
        Some(arguments) if arguments.kind() == Kind::String => arguments.text(owner)?,
        Some(arguments) if !arguments.is_null() => Text::new(&String::from_utf8_lossy(arguments.bytes())),
        _ => Text::default(),
    };
    let input = if input.is_empty() { Text::fixed("{}") } else { input };
    Some(BlockKind::ToolUse { id, name, input })
}

/// Whose blocks `thinking_blocks` holds, an extension of LiteLLM.
pub(in crate::openai_chat) const THINKING: Dialect = Dialect::AnthropicMessages;

/// An element of `thinking_blocks`: `{type: thinking, thinking, signature}` or `{type: redacted_thinking, data}`.
pub(in crate::openai_chat) fn thinking_block(value: Raw<'_>, owner: &Bytes) -> Option<Block> {
    let text = |name: &str| value.get(name).and_then(|member: Raw<'_>| member.text(owner));
    let mut block = if value.get("type")?.is_str("redacted_thinking") {
        Block::from(BlockKind::RedactedThinking(Sealed::read(THINKING, text("data")?)))
    } else {
        let signature = text("signature").filter(|signature| !signature.is_empty());
        let signature = signature.map(|signature| Sealed::read(THINKING, signature));
        Block { signature, ..BlockKind::Thinking(text("thinking")?).into() }
    };
    let mark = value.members().find(|member: &Member<'_>| member.is("cache_control"));
    block.cache = mark.map(|member| member.value.json(owner));
    Some(block)
}
