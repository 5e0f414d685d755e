//! Annotations of a text: where it comes from.

use crate::{
    Dialect, dropped,
    ir::{Block, BlockKind, Citation, Text},
    json::{Raw, Writer},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::OpenAiResponses;

/// Reads one.
pub(super) fn read(value: Raw<'_>, owner: &Bytes) -> Citation {
    let text = |name: &str| value.get(name).and_then(|member: Raw<'_>| member.text(owner));
    let number = |name: &str| value.get(name).and_then(Raw::u64);
    Citation {
        dialect: SELF,
        json: value.json(owner),
        span: number("start_index").zip(number("end_index")),
        url: text("url"),
        title: text("title").or_else(|| text("filename")),
        cited_text: None,
    }
}

/// Writes one, of a text with so many characters; false where it cannot be told. A citation of another dialect that
/// does not say which part it means stands for the whole text.
pub(super) fn write(out: &mut Writer, citation: &Citation, chars: u64) -> bool {
    if citation.dialect == SELF {
        out.json(&citation.json);
        return true;
    }
    // The vendor's other kinds refer to files that lie with it.
    let Some(url) = &citation.url else { return false };
    let (start, end) = citation.span.unwrap_or((0, chars));
    out.begin_object();
    out.key("type");
    out.string("url_citation");
    out.key("start_index");
    out.u64(start);
    out.key("end_index");
    out.u64(end);
    out.key("url");
    out.text(url);
    out.key("title");
    out.text(citation.title.as_ref().unwrap_or(url));
    out.end_object();
    true
}

/// Writes those of a block as an array.
pub(super) fn write_all(out: &mut Writer, block: &Block, dropped: &mut Vec<String>) {
    let chars = match &block.kind {
        BlockKind::Text(text) if !block.citations.is_empty() => chars(text),
        _ => 0,
    };
    out.begin_array();
    for citation in &block.citations {
        if !write(out, citation, chars) {
            dropped::note(dropped, "content[].citations");
        }
    }
    out.end_array();
}

/// How many characters a text has.
pub(super) fn chars(text: &Text) -> u64 {
    text.plain().chars().count().try_into().unwrap_or(u64::MAX)
}
