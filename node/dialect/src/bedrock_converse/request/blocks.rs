//! Reads content blocks: they have the same form in requests and answers. A block is an object with one member, which
//! says its kind.

use super::{
    super::{citations, formats::Form, redacted},
    members::Members,
};
use crate::{
    Dialect, Refusal,
    anthropic_messages::read_tool_input,
    ir::{Attachment, Block, BlockKind, Json, Media, MediaSource, Sealed, Text},
    json::{Kind, Raw, Writer, unescape},
    read::{self, Path},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::BedrockConverse;

/// Blocks, and what belongs to none of them.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) blocks: Vec<Block>,
    pub(super) attachments: Vec<Attachment>,
}

/// An array of blocks. A cache point is a block of its own and marks what stands before it.
pub(super) fn read_content(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Content, Refusal> {
    let mut content = Content::default();
    for (i, value) in path.array(value)?.enumerate() {
        let at = path.element(i);
        match (read_cache_point(value, &at, owner)?, content.blocks.last_mut()) {
            (None, _) => content.blocks.push(read_block(value, &at, owner)?),
            (Some(mark), Some(block)) => block.cache = Some(mark),
            // It marks what stands before the message.
            (Some(_), None) => {
                for member in value.members() {
                    read::attach_inner(&mut content.attachments, SELF, "content[]", &member, owner);
                }
            }
        }
    }
    Ok(content)
}

/// The mark of a cache point, in the words of Anthropic; `None` if the block is another.
pub(super) fn read_cache_point(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
) -> Result<Option<Json>, Refusal> {
    let Some(point) = value.get("cachePoint").filter(|point| !point.is_null()) else { return Ok(None) };
    let at = path.member("cachePoint");
    let mut members = Members::of(point, &at, owner)?;
    if !members.text("type")?.is("default") {
        return Err(at.member("type").refuse("must be default"));
    }
    let mut out = Writer::with_capacity(40);
    out.begin_object();
    out.key("type");
    out.string("ephemeral");
    if let Some(ttl) = members.optional_text("ttl")? {
        out.key("ttl");
        out.text(&ttl);
    }
    out.end_object();
    Ok(Some(Json::from_valid(out.finish().into())))
}

/// The member that says the kind.
#[derive(Clone, Copy)]
struct Part<'v, 'p> {
    value: Raw<'v>,
    path: &'p Path<'p>,
    owner: &'p Bytes,
}

/// One block. What is not modelled is kept whole.
pub(in crate::bedrock_converse) fn read_block(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
) -> Result<Block, Refusal> {
    let members = path.object(value)?;
    if members.is_empty() {
        return Err(path.refuse("must have a member that says what it is"));
    }
    for (i, member) in members.iter().enumerate() {
        let name = unescape(member.key);
        let at = path.member(&name);
        let Some(mut block) = read_kind(&name, Part { value: member.value, path: &at, owner })? else {
            continue;
        };
        for (_, other) in members.iter().enumerate().filter(|(j, _)| *j != i) {
            read::attach(&mut block.attachments, SELF, other, owner);
        }
        return Ok(block);
    }
    Ok(BlockKind::Opaque { dialect: SELF, json: value.json(owner) }.into())
}

/// `None` for what is not modelled.
fn read_kind(name: &str, part: Part<'_, '_>) -> Result<Option<Block>, Refusal> {
    let Part { value, path, owner } = part;
    Ok(match name {
        "text" => Some(BlockKind::Text(path.text(value, owner)?).into()),
        // Of results: to all others it is text.
        "json" => Some(BlockKind::Text(Text::new(&String::from_utf8_lossy(value.bytes()))).into()),
        "image" => read_media(part, Form::Image)?,
        "document" => read_media(part, Form::Document)?,
        "audio" => read_media(part, Form::Audio)?,
        "video" => read_media(part, Form::Video)?,
        "toolUse" => read_tool_use(part)?,
        "toolResult" => read_tool_result(part)?,
        "reasoningContent" => read_reasoning(part)?,
        "citationsContent" => Some(read_citations(part)?),
        "guardContent" => read_guarded(part)?,
        "searchResult" => Some(read_search_result(part)?),
        _ => None,
    })
}

fn read_media(part: Part<'_, '_>, form: Form) -> Result<Option<Block>, Refusal> {
    let mut members = Members::of(part.value, part.path, part.owner)?;
    let format = members.optional_text("format")?;
    let title = match form {
        Form::Document => Some(members.text("name")?),
        _ => None,
    };
    let source = members.required("source")?;
    let (read, whole) = read_source(source, &part.path.member("source"), part.owner)?;
    let Some(read) = read else { return Ok(None) };
    let media_type = format.map(|format| form.media_type(&format));
    let media = Media { title, ..Media::new(read, media_type) };
    let mut block = Block::from(match form {
        Form::Image => BlockKind::Image(media),
        Form::Document => BlockKind::Document(media),
        Form::Audio => BlockKind::Audio(media),
        Form::Video => BlockKind::Video(media),
    });
    block.attachments = members.rest();
    block.attachments.extend(whole.map(|value| attached("source", value)));
    Ok(Some(block))
}

fn attached(name: &'static str, value: Json) -> Attachment {
    Attachment { dialect: SELF, name: Text::fixed(name), value }
}

/// The source of media, and its whole object where that says more.
fn read_source(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
) -> Result<(Option<MediaSource>, Option<Json>), Refusal> {
    let mut members = Members::of(value, path, owner)?;
    if let Some(data) = members.optional_text("bytes")? {
        return Ok((Some(MediaSource::Base64(data)), None));
    }
    if let Some(text) = members.optional_text("text")? {
        return Ok((Some(MediaSource::Plain(text)), None));
    }
    if let Some(content) = members.take("content") {
        let text = read_texts(content, &path.member("content"), owner, "\\n")?;
        return Ok((Some(MediaSource::Plain(text)), Some(value.json(owner))));
    }
    let Some(location) = members.take("s3Location") else { return Ok((None, None)) };
    let at = path.member("s3Location");
    let mut inner = Members::of(location, &at, owner)?;
    let uri = inner.text("uri")?;
    let more = !inner.rest().is_empty();
    Ok((Some(MediaSource::File(SELF, uri)), more.then(|| value.json(owner))))
}

/// The texts of `[{"text": ...}]` as one.
fn read_texts(value: Raw<'_>, path: &Path<'_>, owner: &Bytes, between: &str) -> Result<Text, Refusal> {
    let mut texts = Vec::new();
    for (i, part) in path.array(value)?.enumerate() {
        let at = path.element(i);
        if let Some(text) = Members::of(part, &at, owner)?.optional_text("text")? {
            texts.push(text);
        }
    }
    Ok(Text::join(&texts, between))
}

/// A call of the application's tools; those of a tool that the vendor runs say a type.
fn read_tool_use(part: Part<'_, '_>) -> Result<Option<Block>, Refusal> {
    let mut members = Members::of(part.value, part.path, part.owner)?;
    if members.has("type") {
        return Ok(None);
    }
    let id = members.text("toolUseId")?;
    let name = members.text("name")?;
    let input = match members.take("input") {
        // Some models write the text of the arguments, or none.
        Some(text) if text.kind() == Kind::String => {
            Some(text.text(part.owner).unwrap_or_default()).filter(|text| !text.is_empty())
        }
        input => Some(read_tool_input(input, &part.path.member("input"))?),
    };
    let input = input.unwrap_or(Text::fixed("{}"));
    let kind = BlockKind::ToolUse { id, name, input };
    Ok(Some(Block { attachments: members.rest(), ..kind.into() }))
}

fn read_tool_result(part: Part<'_, '_>) -> Result<Option<Block>, Refusal> {
    let mut members = Members::of(part.value, part.path, part.owner)?;
    if members.has("type") {
        return Ok(None);
    }
    let id = members.text("toolUseId")?;
    let content = members.take("content");
    let content = content.map(|content| read_content(content, &part.path.member("content"), part.owner));
    let Content { blocks: content, mut attachments } = content.transpose()?.unwrap_or_default();
    let is_error = members.optional_text("status")?.is_some_and(|status| status.is("error"));
    attachments.extend(members.rest());
    let kind = BlockKind::ToolResult { id, content, is_error };
    Ok(Some(Block { attachments, ..kind.into() }))
}

fn read_reasoning(part: Part<'_, '_>) -> Result<Option<Block>, Refusal> {
    let mut members = Members::of(part.value, part.path, part.owner)?;
    if let Some(data) = members.optional_text("redactedContent")? {
        return Ok(Some(BlockKind::RedactedThinking(redacted::read(data)).into()));
    }
    let Some(text) = members.take("reasoningText") else { return Ok(None) };
    let at = part.path.member("reasoningText");
    let mut inner = Members::of(text, &at, part.owner)?;
    let mut block = Block::from(BlockKind::Thinking(inner.text("text")?));
    let signature = inner.optional_text("signature")?.filter(|signature| !signature.is_empty());
    block.signature = signature.map(|signature| Sealed::read(SELF, signature));
    inner.rest_inside("reasoningText", &mut block.attachments);
    Ok(Some(block))
}

fn read_citations(part: Part<'_, '_>) -> Result<Block, Refusal> {
    let mut members = Members::of(part.value, part.path, part.owner)?;
    let text = match members.take("content") {
        Some(content) => read_texts(content, &part.path.member("content"), part.owner, "")?,
        None => Text::default(),
    };
    let mut block = Block::from(BlockKind::Text(text));
    if let Some(list) = members.take("citations") {
        let at = part.path.member("citations");
        block.citations = at.array(list)?.map(|citation| citations::read(citation, part.owner)).collect();
    }
    members.rest_inside("citationsContent", &mut block.attachments);
    Ok(block)
}

/// What a guardrail is to judge is still what the user says.
fn read_guarded(part: Part<'_, '_>) -> Result<Option<Block>, Refusal> {
    let mut members = Members::of(part.value, part.path, part.owner)?;
    let block = if let Some(text) = members.take("text") {
        let at = part.path.member("text");
        let text = Members::of(text, &at, part.owner)?.text("text")?;
        Some(Block::from(BlockKind::Text(text)))
    } else if let Some(value) = members.take("image") {
        read_media(Part { value, path: &part.path.member("image"), owner: part.owner }, Form::Image)?
    } else {
        None
    };
    let whole = attached("guardContent", part.value.json(part.owner));
    Ok(block.map(|block| Block { attachments: vec![whole], ..block }))
}

/// A passage that was found, with its title: to all others it is a document of plain text.
fn read_search_result(part: Part<'_, '_>) -> Result<Block, Refusal> {
    let mut members = Members::of(part.value, part.path, part.owner)?;
    let title = members.text("title")?;
    let content = members.required("content")?;
    let text = read_texts(content, &part.path.member("content"), part.owner, "\\n")?;
    let media = Media::new(MediaSource::Plain(text), Some(Text::fixed("text/plain")));
    let kind = BlockKind::Document(Media { title: Some(title), ..media });
    let whole = attached("searchResult", part.value.json(part.owner));
    Ok(Block { attachments: vec![whole], ..kind.into() })
}
