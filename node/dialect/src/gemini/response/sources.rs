//! Writes where an answer comes from: `groundingMetadata` and `citationMetadata`.

use crate::{
    Dialect, dropped,
    gemini::attached,
    ir::{Attachment, Citation, Json},
    json::Writer,
};
use std::borrow::Cow;

const SELF: Dialect = Dialect::Gemini;

/// Most sources of one answer.
const SOURCES_MAX: usize = 1024;

/// A place in a part: its index, and from and to in bytes.
type Place = (usize, usize, usize);

/// The sources of an answer, each once, and the places that they support.
#[derive(Debug, Default)]
pub(in crate::gemini) struct Sources {
    chunks: Vec<Json>,
    supports: Vec<(Place, Vec<usize>)>,
    /// Of `citationMetadata`, verbatim.
    citations: Vec<Json>,
}

impl Sources {
    /// Adds a source of the text of this part.
    pub(in crate::gemini) fn add(
        &mut self,
        citation: &Citation,
        part: usize,
        text: &str,
        dropped: &mut Vec<String>,
    ) {
        let is_quote = citation.dialect == SELF && citation.json.raw().get("endIndex").is_some();
        if self.chunks.len() + self.citations.len() >= SOURCES_MAX {
            return dropped::note(dropped, "content[].citations");
        }
        if is_quote {
            return self.citations.push(citation.json.clone());
        }
        let json = match citation.dialect {
            SELF => citation.json.clone(),
            _ => page(citation),
        };
        let chunk = self.chunks.iter().position(|known| *known == json).unwrap_or_else(|| {
            self.chunks.push(json);
            self.chunks.len() - 1
        });
        let Some((from, to)) = citation.span.and_then(|span| bytes(text, span)) else { return };
        let place = (part, from, to);
        let full = self.supports.len() >= SOURCES_MAX;
        match self.supports.last_mut() {
            Some((last, chunks)) if *last == place => chunks.push(chunk),
            _ if full => dropped::note(dropped, "content[].citations"),
            _ => self.supports.push((place, vec![chunk])),
        }
    }

    /// Writes the members into a candidate, with what else its metadata held; `texts` are those of the parts.
    pub(in crate::gemini) fn write(
        &self,
        attachments: &[Attachment],
        texts: &[Cow<'_, str>],
        out: &mut Writer,
    ) {
        if !self.citations.is_empty() {
            out.key("citationMetadata");
            out.begin_object();
            out.key("citationSources");
            write_list(out, &self.citations);
            out.end_object();
        }
        let rest = attached::inside(attachments, GROUNDING);
        if self.chunks.is_empty() && rest.count() == 0 {
            return;
        }
        out.key("groundingMetadata");
        out.begin_object();
        if !self.chunks.is_empty() {
            out.key("groundingChunks");
            write_list(out, &self.chunks);
        }
        if !self.supports.is_empty() {
            out.key("groundingSupports");
            out.begin_array();
            for (place, chunks) in &self.supports {
                let text = texts.get(place.0).map_or("", |text| text);
                write_support(out, *place, chunks, text);
            }
            out.end_array();
        }
        attached::write_inside(attachments, GROUNDING, out);
        out.end_object();
    }
}

/// Begins the names of attachments inside of the metadata.
pub(super) const GROUNDING: &str = "candidates[].groundingMetadata";

fn write_list(out: &mut Writer, list: &[Json]) {
    out.begin_array();
    list.iter().for_each(|json| out.json(json));
    out.end_array();
}

fn write_support(out: &mut Writer, (part, from, to): Place, chunks: &[usize], text: &str) {
    out.begin_object();
    out.key("segment");
    out.begin_object();
    for (name, number) in [("partIndex", part), ("startIndex", from), ("endIndex", to)] {
        // Zero is what is so without a word.
        if number > 0 {
            out.key(name);
            out.u64(u64::try_from(number).unwrap_or(u64::MAX));
        }
    }
    out.key("text");
    out.string(text.get(from..to).unwrap_or_default());
    out.end_object();
    out.key("groundingChunkIndices");
    out.begin_array();
    chunks.iter().for_each(|chunk| out.u64(u64::try_from(*chunk).unwrap_or(u64::MAX)));
    out.end_array();
    out.end_object();
}

/// A page or document of another vendor.
fn page(citation: &Citation) -> Json {
    let mut out = Writer::with_capacity(128);
    out.begin_object();
    out.key(if citation.url.is_some() { "web" } else { "retrievedContext" });
    out.begin_object();
    let texts = [("uri", &citation.url), ("title", &citation.title), ("text", &citation.cited_text)];
    for (name, text) in texts {
        // A page of the web has no text here.
        if let Some(text) = text.as_ref().filter(|_| name != "text" || citation.url.is_none()) {
            out.key(name);
            out.text(text);
        }
    }
    out.end_object();
    out.end_object();
    Json::from_valid(out.finish().into())
}

/// From characters to bytes.
fn bytes(text: &str, (from, to): (u64, u64)) -> Option<(usize, usize)> {
    let (from, to) = (usize::try_from(from).ok()?, usize::try_from(to).ok()?);
    let mut places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let start = places.nth(from)?;
    match to.checked_sub(from)?.checked_sub(1) {
        None => Some((start, start)),
        Some(steps) => Some((start, places.nth(steps)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_become_bytes() {
        let text = "a\u{e9}\u{65e5}b";
        for (span, expected) in [
            ((0, 1), Some((0, 1))),
            ((1, 3), Some((1, 6))),
            ((3, 4), Some((6, 7))),
            ((4, 4), Some((7, 7))),
            ((2, 9), None),
            ((3, 1), None),
        ] {
            assert_eq!(bytes(text, span), expected, "{span:?}");
        }
    }
}
