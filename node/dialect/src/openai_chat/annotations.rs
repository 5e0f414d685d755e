//! Where an answer comes from: the `annotations` of a message. The vendor counts characters from the beginning of the
//! message's content, the representation from the beginning of the block.

use crate::{
    Dialect, dropped,
    ir::{Block, BlockKind, Citation},
    json::{Raw, Writer},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::OpenAiChat;

/// Reads an annotation; its span is one of the message.
pub(super) fn read(value: Raw<'_>, owner: &Bytes) -> Citation {
    let of = value.get("url_citation");
    let number = |name| of.and_then(|of: Raw<'_>| of.get(name)?.u64());
    let text = |name| of.and_then(|of: Raw<'_>| of.get(name)?.text(owner));
    Citation {
        dialect: SELF,
        json: value.json(owner),
        span: number("start_index").zip(number("end_index")),
        url: text("url"),
        title: text("title"),
        // OpenRouter's.
        cited_text: text("content"),
    }
}

/// The citation with its span counted from the block that begins at this character.
pub(super) fn within(citation: Citation, begin: u64) -> Citation {
    let span = citation.span.map(|(from, to)| (from.saturating_sub(begin), to.saturating_sub(begin)));
    Citation { span, ..citation }
}

/// The span counted from the beginning of the message, for a block that begins and ends there.
pub(super) fn in_message(citation: &Citation, begin: u64, end: u64) -> (u64, u64) {
    citation.span.map_or((begin, end), |(from, to)| (begin.saturating_add(from), begin.saturating_add(to)))
}

/// Gives the annotations of a message to its texts. False if it has none.
pub(super) fn place(list: Raw<'_>, blocks: &mut [Block], owner: &Bytes) -> bool {
    let texts = || |block: &&mut Block| matches!(block.kind, BlockKind::Text(_));
    let count = blocks.iter_mut().filter(texts()).count();
    for citation in list.elements().map(|value| read(value, owner)) {
        let from = citation.span.map_or(0, |(from, _)| from);
        let mut begin = 0;
        for (i, block) in blocks.iter_mut().filter(texts()).enumerate() {
            let BlockKind::Text(text) = &block.kind else { continue };
            let last = i + 1 == count;
            let end = if last { u64::MAX } else { begin + text.chars() };
            if from < end {
                block.citations.push(within(citation, begin));
                break;
            }
            begin = end;
        }
    }
    count > 0
}

/// Whether it can be written here; names one that cannot.
pub(super) fn expressible(citation: &Citation, parent: &str, dropped: &mut Vec<String>) -> bool {
    let expressible = citation.dialect == SELF || citation.url.is_some();
    if !expressible {
        dropped::note(dropped, format!("{parent}citations"));
    }
    expressible
}

/// Writes an annotation: its own words, or a `url_citation` of the characters from here to there.
pub(super) fn write(citation: &Citation, (from, to): (u64, u64), out: &mut Writer) {
    if citation.dialect == SELF {
        return out.json(&citation.json);
    }
    out.begin_object();
    out.key("type");
    out.string("url_citation");
    out.key("url_citation");
    out.begin_object();
    out.key("start_index");
    out.u64(from);
    out.key("end_index");
    out.u64(to);
    for (name, text) in [("url", &citation.url), ("title", &citation.title)] {
        out.key(name);
        // Clients demand both.
        out.text(&text.clone().unwrap_or_default());
    }
    out.end_object();
    out.end_object();
}

/// Writes the `annotations` of an answer's texts, if it has any.
pub(super) fn write_all(blocks: &[Block], out: &mut Writer, dropped: &mut Vec<String>) {
    if blocks.iter().all(|block| block.citations.is_empty()) {
        return;
    }
    let (mut begin, mut open) = (0, false);
    for block in blocks {
        let BlockKind::Text(text) = &block.kind else {
            dropped::citations(block, "content[].", dropped);
            continue;
        };
        let end = begin + text.chars();
        for citation in &block.citations {
            if !expressible(citation, "content[].", dropped) {
                continue;
            }
            if !std::mem::replace(&mut open, true) {
                out.key("annotations");
                out.begin_array();
            }
            write(citation, in_message(citation, begin, end), out);
        }
        begin = end;
    }
    if open {
        out.end_array();
    }
}
