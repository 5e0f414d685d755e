//! Where a text comes from: `{"start", "end", "text", "sources", "content_index", "type"}`.
//!
//! The vendor lists the citations of a message beside its content; here they go with the block that they mean.

use crate::{
    Dialect,
    ir::{Block, BlockKind, Citation, Text},
    json::{Raw, Writer},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::CohereChat;

/// Reads a citation. Its `text` is the answer's, not the source's. Of several sources the first that says something
/// stands for all: no other vendor has more.
pub(super) fn read(value: Raw<'_>, owner: &Bytes) -> Citation {
    let number = |name| value.get(name).and_then(Raw::u64);
    let mut citation = Citation {
        dialect: SELF,
        json: value.json(owner),
        span: number("start").zip(number("end")),
        url: None,
        title: None,
        cited_text: None,
    };
    for source in value.get("sources").into_iter().flat_map(Raw::elements) {
        let Some(says) = source.get("document").or_else(|| source.get("tool_output")) else { continue };
        let text = |name: &str| says.get(name).and_then(|value: Raw<'_>| value.text(owner));
        citation.url = text("url");
        citation.title = text("title");
        citation.cited_text = text("text").or_else(|| text("snippet"));
        if citation.url.is_some() || citation.title.is_some() || citation.cited_text.is_some() {
            break;
        }
    }
    citation
}

/// What a citation means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Means {
    /// The plan before the calls.
    Plan,
    /// This part of the content; the first text where it does not say.
    Content(Option<u64>),
}

/// Reads what a citation means.
pub(super) fn means(value: Raw<'_>) -> Means {
    match value.get("type").is_some_and(|kind| kind.is_str("PLAN")) {
        true => Means::Plan,
        false => Means::Content(value.get("content_index").and_then(Raw::u64)),
    }
}

/// Gives the citations of a message to its blocks, of which the first `contents` are its content and the next one may
/// be its plan. False if there is no block to give them to.
pub(super) fn place(list: Raw<'_>, blocks: &mut [Block], contents: usize, owner: &Bytes) -> bool {
    for value in list.elements() {
        let at = match means(value) {
            Means::Plan => Some(contents),
            Means::Content(Some(index)) => usize::try_from(index).ok().filter(|index| *index < contents),
            Means::Content(None) => None,
        };
        let first = blocks.iter().position(|block| matches!(block.kind, BlockKind::Text(_)));
        let at = at.filter(|at| *at < blocks.len()).or(first).unwrap_or(0);
        match blocks.get_mut(at) {
            Some(block) => block.citations.push(read(value, owner)),
            None => return false,
        }
    }
    true
}

/// Writes a citation of the content part at this index. `said` is the part's text so far, as far as it is known: a
/// citation of another vendor that does not say which part of the text it means is one of all of it.
pub(super) fn write(citation: &Citation, index: u64, said: &Said<'_>, out: &mut Writer) {
    if citation.dialect == SELF {
        return write_own(citation, index, out);
    }
    let (start, end) = citation.span.unwrap_or((0, said.chars()));
    out.begin_object();
    out.key("start");
    out.u64(start);
    out.key("end");
    out.u64(end);
    if let Some(text) = said.part(start, end) {
        out.key("text");
        out.string(&text);
    }
    out.key("sources");
    out.begin_array();
    out.begin_object();
    out.key("type");
    out.string("document");
    out.key("document");
    out.begin_object();
    let texts = [("url", &citation.url), ("title", &citation.title), ("text", &citation.cited_text)];
    for (name, text) in texts {
        if let Some(text) = text {
            out.key(name);
            out.text(text);
        }
    }
    out.end_object();
    out.end_object();
    out.end_array();
    out.key("content_index");
    out.u64(index);
    out.key("type");
    out.string("TEXT_CONTENT");
    out.end_object();
}

/// As it was, but for the index where the part stands elsewhere now.
fn write_own(citation: &Citation, index: u64, out: &mut Writer) {
    let raw = citation.json.raw();
    let same = raw.get("content_index").is_none_or(|own| own.u64() == Some(index));
    if same {
        return out.json(&citation.json);
    }
    out.begin_object();
    for member in raw.members() {
        out.key_escaped(member.key);
        match member.is("content_index") {
            true => out.u64(index),
            false => out.raw(member.value.bytes()),
        }
    }
    out.end_object();
}

/// The text that a citation may be of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Said<'t> {
    /// All of it.
    Text(&'t Text),
    /// So many characters.
    Length(u64),
}

impl Said<'_> {
    fn chars(&self) -> u64 {
        match self {
            Self::Text(text) => text.plain().chars().count() as u64,
            Self::Length(chars) => *chars,
        }
    }

    fn part(&self, start: u64, end: u64) -> Option<String> {
        let Self::Text(text) = self else { return None };
        let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
        Some(text.plain().chars().take(end).skip(start).collect())
    }
}
