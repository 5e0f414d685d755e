//! Texts that the application found: search results, and documents that consist of blocks of text. Other vendors are
//! told the text; for this one the whole block is kept beside it, with the places that citations point to.

use crate::{
    Dialect,
    ir::{Attachment, Block, BlockKind, Json, Media, MediaSource, Text},
    json::{Kind, Raw},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::AnthropicMessages;

/// Between blocks of text.
const BLANK_LINE: &str = "\\n\\n";

/// Around the source of a text.
static OPEN: Text = Text::fixed(" (");
static CLOSE: Text = Text::fixed(")");

/// Names of what is kept beside the text.
const KEPT: [&str; 2] = ["search_result", "source.content"];

/// A search result, if it holds text alone.
pub(super) fn search_result(value: Raw<'_>, owner: &Bytes) -> Option<Block> {
    let text = |name: &str| value.get(name).and_then(|member: Raw<'_>| member.text(owner));
    let (source, title) = (text("source")?, text("title")?);
    let title = Text::join([&title, &OPEN, &source, &CLOSE], "");
    excerpt((value, "search_result"), value.get("content")?, Some(title), owner)
}

/// A document whose source is content, if that is text alone.
pub(super) fn document(value: Raw<'_>, owner: &Bytes) -> Option<Block> {
    let source = value.get("source").filter(|source| source.get("type").is_some_and(|t| t.is_str("content")));
    let title = value.get("title").and_then(|title| title.text(owner));
    excerpt((value, "source.content"), source?.get("content")?, title, owner)
}

fn excerpt(
    (value, name): (Raw<'_>, &'static str),
    content: Raw<'_>,
    title: Option<Text>,
    owner: &Bytes,
) -> Option<Block> {
    let text = match content.kind() {
        Kind::String => content.text(owner)?,
        _ => {
            let text = |block: Raw<'_>| match block.get("type")?.is_str("text") {
                true => block.get("text")?.text(owner),
                false => None,
            };
            let texts = content.elements().map(text).collect::<Option<Vec<_>>>()?;
            Text::join(&texts, BLANK_LINE)
        }
    };
    let media = Media { title, ..Media::new(MediaSource::Plain(text), None) };
    let kept = Attachment { dialect: SELF, name: Text::fixed(name), value: value.json(owner) };
    let cache = value.get("cache_control").filter(|cache| !cache.is_null()).map(|cache| cache.json(owner));
    Some(Block { cache, attachments: vec![kept], ..BlockKind::Document(media).into() })
}

/// The whole block, where one was kept.
pub(super) fn kept(block: &Block) -> Option<&Json> {
    let BlockKind::Document(_) = &block.kind else { return None };
    let kept = block.attachments.iter().find(|attachment| {
        attachment.dialect == SELF && KEPT.iter().any(|name| attachment.name.escaped() == name.as_bytes())
    });
    kept.map(|attachment| &attachment.value)
}
