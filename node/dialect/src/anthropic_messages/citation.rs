//! Where a text comes from: the same form in requests, answers and streams. Each citation means the whole of its block.

use crate::{
    Dialect, dropped,
    ir::{Block, Citation},
    json::{Raw, Writer},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::AnthropicMessages;

/// Reads a citation: of a web page, of a search result of the application, or of a document.
pub(super) fn read(value: Raw<'_>, owner: &Bytes) -> Citation {
    let text = |name: &str| value.get(name).and_then(|member: Raw<'_>| member.text(owner));
    // The source of a search result is an address, or any other name.
    let source = || text("source").filter(|source| source.escaped().starts_with(b"http"));
    Citation {
        dialect: SELF,
        json: value.json(owner),
        span: None,
        url: text("url").or_else(source),
        title: text("title").or_else(|| text("document_title")),
        cited_text: text("cited_text"),
    }
}

/// Writes the `citations` of a text, if it has any. Those of others are named: a page here has an `encrypted_index`,
/// which only the vendor can make and checks when it comes back.
pub(super) fn write(block: &Block, path: &str, out: &mut Writer, dropped: &mut Vec<String>) {
    let mut own = block.citations.iter().filter(|citation| citation.dialect == SELF).peekable();
    if block.citations.iter().any(|citation| citation.dialect != SELF) {
        dropped::note(dropped, path);
    }
    if own.peek().is_none() {
        return;
    }
    out.key("citations");
    out.begin_array();
    own.for_each(|citation| out.json(&citation.json));
    out.end_array();
}
