//! Reads content parts: of messages, of answers and of what functions gave back.

use super::annotations;
use crate::{
    Dialect, Refusal,
    ir::{Block, BlockKind, Json, Media, MediaSource, Sealed, Text},
    json::{Kind, Raw},
    read::{Fields, Path},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::OpenAiResponses;

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

/// One part. What is not modelled is kept whole.
pub(super) fn read_part(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Block, Refusal> {
    let mut fields = Fields::of(value, path, owner)?;
    let kind = fields.text("type")?;
    let kind = match &*kind.plain() {
        "input_text" | "output_text" | "text" => BlockKind::Text(fields.text("text")?),
        "refusal" => BlockKind::Refusal(fields.text("refusal")?),
        "input_image" => BlockKind::Image(read_image(&mut fields)?),
        "input_file" => BlockKind::Document(read_file(&mut fields)?),
        "input_audio" => BlockKind::Audio(read_audio(&mut fields)?),
        _ => return Ok(BlockKind::Opaque { dialect: SELF, json: value.json(owner) }.into()),
    };
    let mut block = Block::from(kind);
    let annotations = fields.take("annotations").into_iter().flat_map(Raw::elements);
    block.citations = annotations.map(|annotation| annotations::read(annotation, owner)).collect();
    // Those who want them read them apart.
    fields.take("logprobs");
    block.cache = fields.take("cache_control").map(|cache| cache.json(owner));
    block.signature = read_signature(&mut fields)?;
    block.attachments = fields.rest(SELF);
    Ok(block)
}

/// The proof of another vendor's text or call, which only we write there.
pub(super) fn read_signature(fields: &mut Fields<'_, '_>) -> Result<Option<Sealed>, Refusal> {
    let signature = fields.optional_text("signature")?.filter(|signature| !signature.is_empty());
    Ok(signature.map(|signature| Sealed::read(SELF, signature)))
}

/// `detail: auto` says nothing, and clients write it always.
fn read_detail(fields: &mut Fields<'_, '_>) -> Result<Option<Text>, Refusal> {
    Ok(fields.optional_text("detail")?.filter(|detail| !detail.is("auto")))
}

fn read_image(fields: &mut Fields<'_, '_>) -> Result<Media, Refusal> {
    let (url, id) = (fields.optional_text("image_url")?, fields.optional_text("file_id")?);
    let media = match (url, id) {
        (Some(url), _) => Media::from_url(url),
        (None, Some(id)) => Media::new(MediaSource::File(SELF, id), None),
        (None, None) => return Err(fields.path.refuse("must have image_url or file_id")),
    };
    Ok(Media { detail: read_detail(fields)?, ..media })
}

fn read_file(fields: &mut Fields<'_, '_>) -> Result<Media, Refusal> {
    let (data, url) = (fields.optional_text("file_data")?, fields.optional_text("file_url")?);
    let media = match (data, url, fields.optional_text("file_id")?) {
        (Some(data), ..) => Media::from_file_data(data),
        (None, Some(url), _) => Media::from_url(url),
        (None, None, Some(id)) => Media::new(MediaSource::File(SELF, id), None),
        (None, None, None) => return Err(fields.path.refuse("must have file_data, file_url or file_id")),
    };
    Ok(Media { title: fields.optional_text("filename")?, detail: read_detail(fields)?, ..media })
}

fn read_audio(fields: &mut Fields<'_, '_>) -> Result<Media, Refusal> {
    let path = fields.path.member("input_audio");
    let inner = fields.path.required(fields.take("input_audio"), "input_audio")?;
    let mut inner = Fields::of(inner, &path, fields.owner)?;
    let data = inner.text("data")?;
    let format = inner.optional_text("format")?;
    let media_type = format.map(|format| Text::join([&Text::fixed("audio"), &format], "/"));
    Ok(Media::new(MediaSource::Base64(data), media_type))
}

/// What a whole that is not modelled is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    /// An item.
    Item,
    /// A content part of a message.
    Part,
    /// Neither: its type is one that we model, in a place where it is not expected.
    Neither,
}

impl Whole {
    /// Told from its type.
    pub(super) fn of(json: &Json) -> Self {
        let kind = json.raw().get("type").and_then(Raw::string).unwrap_or_default();
        match &*kind {
            "message" | "reasoning" | "function_call" | "function_call_output" => Self::Neither,
            "input_text" | "output_text" | "refusal" => Self::Neither,
            "computer_screenshot" | "reasoning_text" => Self::Part,
            kind if kind.starts_with("input_") || kind.starts_with("output_") => Self::Part,
            _ => Self::Item,
        }
    }
}
