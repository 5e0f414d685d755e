//! Reads content parts, documents and tool calls: they have the same form in requests and answers.

use crate::{
    Dialect, Refusal,
    ir::{Attachment, Block, BlockKind, Media, MediaSource, Sealed, Text},
    json::{Kind, Member, Raw, unescape},
    read::{self, Path},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::CohereChat;

/// Content: a string, or an array of parts. An empty string is no block.
pub(in crate::cohere_chat) fn read_content(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
) -> Result<Vec<Block>, Refusal> {
    if let Some(text) = value.text(owner) {
        return Ok(if text.is_empty() { Vec::new() } else { vec![BlockKind::Text(text).into()] });
    }
    if value.kind() != Kind::Array {
        return Err(path.refuse("must be a string or an array of parts"));
    }
    value.elements().enumerate().map(|(i, part)| read_part(part, &path.element(i), owner)).collect()
}

fn read_part(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Block, Refusal> {
    let (kind, members) = path.typed(value)?;
    let name = match &*kind {
        "text" => "text",
        "thinking" => "thinking",
        "image_url" => "image_url",
        "document" => "document",
        _ => return Ok(BlockKind::Opaque { dialect: SELF, json: value.json(owner) }.into()),
    };
    let inner = members.iter().find(|member| member.is(name)).map(|member| member.value);
    let inner = path.required(inner, name)?;
    let at = path.member(name);
    let mut block: Block = match name {
        "text" => BlockKind::Text(at.text(inner, owner)?).into(),
        "thinking" => BlockKind::Thinking(at.text(inner, owner)?).into(),
        "document" => read_document(inner, &at, owner)?,
        _ => read_image(inner, &at, owner)?,
    };
    for member in &members {
        let key = unescape(member.key);
        match &*key {
            key if key == name => {}
            // Ours: what other vendors seal travels in members that this one does not know.
            "signature" if name != "document" => {
                let text = path.member("signature").text(member.value, owner)?;
                block.signature = Some(Sealed::read(SELF, text));
            }
            "redacted" if name == "thinking" => {
                let text = path.member("redacted").text(member.value, owner)?;
                block.kind = BlockKind::RedactedThinking(Sealed::read(SELF, text));
            }
            _ if name == "document" => {
                read::attach_inner(&mut block.attachments, SELF, "part", member, owner);
            }
            _ => read::attach(&mut block.attachments, SELF, member, owner),
        }
    }
    Ok(block)
}

fn read_image(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Block, Refusal> {
    let (mut url, mut detail, mut attachments) = (None, None, Vec::new());
    if value.kind() == Kind::String {
        return Ok(BlockKind::Image(Media::from_url(path.text(value, owner)?)).into());
    }
    for member in path.object(value)? {
        match &*unescape(member.key) {
            "url" => url = Some(path.member("url").text(member.value, owner)?),
            "detail" => detail = Some(path.member("detail").text(member.value, owner)?),
            _ => read::attach_inner(&mut attachments, SELF, "image_url", &member, owner),
        }
    }
    let media = Media { detail, ..Media::from_url(path.required(url, "url")?) };
    Ok(Block { attachments, ..BlockKind::Image(media).into() })
}

/// A document: a string, or `{"id", "data"}`. Data of a text, with or without a title, is a plain document; of
/// anything else the model sees names and values, so the JSON is its text.
pub(super) fn read_document(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Block, Refusal> {
    if let Some(text) = value.text(owner) {
        return Ok(BlockKind::Document(Media::new(MediaSource::Plain(text), None)).into());
    }
    if value.kind() != Kind::Object {
        return Err(path.refuse("must be a string or an object"));
    }
    let (mut media, mut attachments) = (None, Vec::<Attachment>::new());
    for member in path.object(value)? {
        match &*unescape(member.key) {
            "data" => media = Some(read_data(member.value, &path.member("data"), owner)?),
            _ => read::attach(&mut attachments, SELF, &member, owner),
        }
    }
    let media = path.required(media, "data")?;
    Ok(Block { attachments, ..BlockKind::Document(media).into() })
}

fn read_data(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Media, Refusal> {
    if value.kind() != Kind::Object {
        return Err(path.refuse("must be an object"));
    }
    let (mut text, mut title, mut count) = (None, None, 0);
    for member in value.members() {
        count += 1;
        match &*unescape(member.key) {
            "text" => text = member.value.text(owner),
            "title" => title = member.value.text(owner),
            _ => {}
        }
    }
    Ok(match text {
        Some(text) if count == 1 + usize::from(title.is_some()) => {
            let media = Media::new(MediaSource::Plain(text), Some(Text::fixed("text/plain")));
            Media { title, ..media }
        }
        _ => {
            let json = Text::new(&String::from_utf8_lossy(value.bytes()));
            Media::new(MediaSource::Plain(json), Some(Text::fixed("application/json")))
        }
    })
}

/// A call in `tool_calls`. The error says what is wrong with it.
pub(in crate::cohere_chat) fn decode_call(value: Raw<'_>, owner: &Bytes) -> Result<Block, &'static str> {
    let text = |holder: Raw<'_>, name| holder.get(name).and_then(|value: Raw<'_>| value.text(owner));
    let function = value.get("function").ok_or("must have a function")?;
    let id = text(value, "id").ok_or("must have an id")?;
    let name = text(function, "name").ok_or("must have the name of a function")?;
    let input = match function.get("arguments") {
        Some(arguments) if arguments.kind() == Kind::String => arguments.text(owner).unwrap_or_default(),
        Some(arguments) => Text::new(&String::from_utf8_lossy(arguments.bytes())),
        None => Text::default(),
    };
    let input = if no_arguments(&input) { Text::fixed("{}") } else { input };
    let mut block = Block::from(BlockKind::ToolUse { id, name, input });
    for member in value.members().filter(|member: &Member<'_>| !member.value.is_null()) {
        match &*unescape(member.key) {
            "id" | "type" | "function" => {}
            "signature" if member.value.kind() == Kind::String => {
                block.signature = member.value.text(owner).map(|text| Sealed::read(SELF, text));
            }
            _ => read::attach(&mut block.attachments, SELF, &member, owner),
        }
    }
    Ok(block)
}

/// Whether the text of arguments says that there are none: the vendor's models write `null`.
pub(in crate::cohere_chat) fn no_arguments(input: &Text) -> bool {
    input.is_empty() || input.is("null")
}
