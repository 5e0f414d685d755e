//! Where a text comes from, in the vendor's words: `{title, source, sourceContent, location}`.

use crate::{
    Dialect,
    ir::{Citation, Text},
    json::{Raw, Writer},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::BedrockConverse;

/// Reads a citation, whole or of a stream.
pub(super) fn read(value: Raw<'_>, owner: &Bytes) -> Citation {
    let text = |name: &str| value.get(name).and_then(|text| text.text(owner)).filter(|text| !text.is_empty());
    let url = value.get("location").and_then(|location| location.get("web")?.get("url")?.text(owner));
    let source = text("source").filter(|source| source.plain().contains("://"));
    let quoted = value.get("sourceContent").into_iter().flat_map(Raw::elements);
    let quoted: Vec<Text> = quoted.filter_map(|part| part.get("text")?.text(owner)).collect();
    Citation {
        dialect: SELF,
        json: value.json(owner),
        span: None,
        url: url.or(source),
        title: text("title"),
        cited_text: (!quoted.is_empty()).then(|| Text::join(&quoted, "")),
    }
}

/// Writes one; of another dialect's what both have.
pub(super) fn write(citation: &Citation, out: &mut Writer) {
    if citation.dialect == SELF {
        return out.json(&citation.json);
    }
    out.begin_object();
    if let Some(title) = &citation.title {
        out.key("title");
        out.text(title);
    }
    if let Some(text) = &citation.cited_text {
        out.key("sourceContent");
        out.begin_array();
        out.begin_object();
        out.key("text");
        out.text(text);
        out.end_object();
        out.end_array();
    }
    if let Some(url) = &citation.url {
        out.key("location");
        out.begin_object();
        out.key("web");
        out.begin_object();
        out.key("url");
        out.text(url);
        out.end_object();
        out.end_object();
    }
    out.end_object();
}

/// Whether there is anything to write of it.
pub(super) const fn says_something(citation: &Citation) -> bool {
    matches!(citation.dialect, SELF)
        || citation.title.is_some()
        || citation.cited_text.is_some()
        || citation.url.is_some()
}
