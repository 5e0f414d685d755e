//! Reads content blocks: they have the same form in requests and answers.

use super::excerpt;
use crate::{
    Dialect, Refusal,
    anthropic_messages::citation,
    ir::{Attachment, Block, BlockKind, Citation, Media, MediaSource, Sealed, Text},
    json::{Kind, Member, Raw},
    read::{self, Path},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::AnthropicMessages;

/// Holds the text of arguments that are no JSON object, where the wire demands an object. Decoding takes the text out
/// again, so nothing is lost on the way there and back.
pub(super) const MALFORMED: &str = "_malformed_arguments";

/// Content: a string, or an array of blocks. An empty string is no block.
pub(super) fn read_content(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Vec<Block>, Refusal> {
    if let Some(text) = value.text(owner) {
        return Ok(if text.is_empty() { Vec::new() } else { vec![BlockKind::Text(text).into()] });
    }
    if value.kind() != Kind::Array {
        return Err(path.refuse("must be a string or an array of blocks"));
    }
    value.elements().enumerate().map(|(i, block)| read_block(block, &path.element(i), owner)).collect()
}

/// One block. What is not modelled is kept whole.
pub(in crate::anthropic_messages) fn read_block(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
) -> Result<Block, Refusal> {
    let (kind, members) = path.typed(value)?;
    let mut fields = Fields { members, path, owner };
    let kind = match &*kind {
        "text" => BlockKind::Text(fields.text("text")?),
        "thinking" => BlockKind::Thinking(fields.text("thinking")?),
        "redacted_thinking" => BlockKind::RedactedThinking(Sealed::read(SELF, fields.text("data")?)),
        "tool_use" => BlockKind::ToolUse {
            id: fields.text("id")?,
            name: fields.text("name")?,
            input: read_tool_input(fields.take("input"), &path.member("input"))?,
        },
        "tool_result" => BlockKind::ToolResult {
            id: fields.text("tool_use_id")?,
            content: match fields.take("content") {
                Some(content) => read_content(content, &path.member("content"), owner)?,
                None => Vec::new(),
            },
            is_error: match fields.take("is_error") {
                Some(value) => path.member("is_error").boolean(value)?,
                None => false,
            },
        },
        "image" => match fields.media()? {
            Some(media) => BlockKind::Image(media),
            None => return Ok(opaque(value, owner)),
        },
        "document" => match fields.media()? {
            Some(media) => BlockKind::Document(Media { title: fields.optional_text("title")?, ..media }),
            None => return Ok(excerpt::document(value, owner).unwrap_or_else(|| opaque(value, owner))),
        },
        "search_result" => {
            return Ok(excerpt::search_result(value, owner).unwrap_or_else(|| opaque(value, owner)));
        }
        _ => return Ok(opaque(value, owner)),
    };
    let mut block = Block::from(kind);
    if matches!(block.kind, BlockKind::Text(_)) {
        block.citations = fields.citations()?;
    }
    block.cache = fields.take("cache_control").map(|cache| cache.json(owner));
    // Reasoning has one; calls of other vendors' models may bring theirs along.
    let signature = fields.optional_text("signature")?.filter(|signature| !signature.is_empty());
    block.signature = signature.map(|signature| Sealed::read(SELF, signature));
    block.attachments = fields.rest();
    Ok(block)
}

fn opaque(value: Raw<'_>, owner: &Bytes) -> Block {
    BlockKind::Opaque { dialect: SELF, json: value.json(owner) }.into()
}

/// The members of a block that have not been read yet.
struct Fields<'v, 'p> {
    members: Vec<Member<'v>>,
    path: &'p Path<'p>,
    owner: &'p Bytes,
}

impl<'v> Fields<'v, '_> {
    fn take(&mut self, name: &str) -> Option<Raw<'v>> {
        let at = self.members.iter().position(|member| member.is(name))?;
        Some(self.members.remove(at).value)
    }

    fn optional_text(&mut self, name: &str) -> Result<Option<Text>, Refusal> {
        let value = self.take(name);
        value.map(|value| self.path.member(name).text(value, self.owner)).transpose()
    }

    fn text(&mut self, name: &str) -> Result<Text, Refusal> {
        let text = self.optional_text(name)?;
        self.path.required(text, name)
    }

    /// The `source`; `None` if it is of a kind that is not modelled.
    fn media(&mut self) -> Result<Option<Media>, Refusal> {
        let source = self.path.required(self.take("source"), "source")?;
        let at = self.path.member("source");
        let (kind, members) = at.typed(source)?;
        let mut inner = Fields { members, path: &at, owner: self.owner };
        let source = match &*kind {
            "base64" => MediaSource::Base64(inner.text("data")?),
            "text" => MediaSource::Plain(inner.text("data")?),
            "url" => MediaSource::Url(inner.text("url")?),
            "file" => MediaSource::File(SELF, inner.text("file_id")?),
            _ => return Ok(None),
        };
        Ok(Some(Media::new(source, inner.optional_text("media_type")?)))
    }

    /// The citations of a text. Those of a document are no list, but a switch.
    fn citations(&mut self) -> Result<Vec<Citation>, Refusal> {
        let Some(list) = self.take("citations") else { return Ok(Vec::new()) };
        let at = self.path.member("citations");
        let read = |(i, value): (usize, Raw<'_>)| match value.kind() {
            Kind::Object => Ok(citation::read(value, self.owner)),
            _ => Err(at.element(i).refuse("must be an object")),
        };
        at.array(list)?.enumerate().map(read).collect()
    }

    fn rest(self) -> Vec<Attachment> {
        let mut list = Vec::new();
        // That the model calls a tool itself is what is meant anyway.
        let plain = |member: &&Member<'_>| {
            member.is("caller") && member.value.get("type").is_some_and(|kind| kind.is_str("direct"))
        };
        for member in self.members.iter().filter(|member| !plain(member)) {
            read::attach(&mut list, SELF, member, self.owner);
        }
        list
    }
}

/// The input of a call as the text of its arguments.
pub(crate) fn read_tool_input(value: Option<Raw<'_>>, path: &Path<'_>) -> Result<Text, Refusal> {
    let Some(value) = value else { return Ok(Text::fixed("{}")) };
    if value.kind() != Kind::Object {
        return Err(path.refuse("must be an object"));
    }
    let mut members = value.members();
    if let (Some(first), None) = (members.next(), members.next())
        && first.is(MALFORMED)
        && let Some(escaped) = first.value.escaped()
    {
        return Ok(Text::from_escaped(Bytes::copy_from_slice(escaped)));
    }
    Ok(Text::new(&String::from_utf8_lossy(value.bytes())))
}
