//! Reads where an answer comes from: `groundingMetadata` and `citationMetadata`. Places are told in bytes of a part.

use crate::{
    Dialect,
    ir::{Citation, Json},
    json::Raw,
};
use bytes::Bytes;

const SELF: Dialect = Dialect::Gemini;

/// Most sources of one answer, and most places that they support.
const SOURCES_MAX: usize = 1024;

/// A source with the part that it belongs to, if the vendor says.
pub(in crate::gemini) struct Source {
    pub(in crate::gemini) part: Option<usize>,
    pub(in crate::gemini) citation: Citation,
}

/// A place in the answer.
#[derive(Clone, Copy)]
struct Place<'v> {
    part: Option<usize>,
    from: usize,
    to: usize,
    /// What stands there.
    text: Option<Raw<'v>>,
}

/// The sources that a candidate names. `text` tells the text of a part, or of the answer where no part is told.
pub(in crate::gemini) fn read_grounding<'t>(
    candidate: Raw<'_>,
    owner: &Bytes,
    text: &impl Fn(Option<usize>) -> Option<&'t str>,
) -> Vec<Source> {
    let mut out = Vec::new();
    if let Some(metadata) = candidate.get("groundingMetadata") {
        read_chunks(metadata, owner, text, &mut out);
    }
    if let Some(metadata) = candidate.get("citationMetadata") {
        // The older name, and Vertex AI's.
        let list = metadata.get("citationSources").or_else(|| metadata.get("citations"));
        for source in list.into_iter().flat_map(Raw::elements).take(SOURCES_MAX) {
            let place = Place {
                part: None,
                from: index(source, "startIndex"),
                to: index(source, "endIndex"),
                text: None,
            };
            let span = (place.to > 0).then(|| span(place, text)).flatten();
            out.push(Source { part: None, citation: citation(source, source, span, owner) });
        }
    }
    out.truncate(SOURCES_MAX);
    out
}

fn read_chunks<'t>(
    metadata: Raw<'_>,
    owner: &Bytes,
    text: &impl Fn(Option<usize>) -> Option<&'t str>,
    out: &mut Vec<Source>,
) {
    let list = |name| metadata.get(name).into_iter().flat_map(Raw::elements).take(SOURCES_MAX);
    let chunks: Vec<Raw<'_>> = list("groundingChunks").collect();
    let mut supporting = vec![false; chunks.len()];
    for support in list("groundingSupports") {
        let segment = support.get("segment");
        let place = segment.map(|segment| Place {
            part: segment.get("partIndex").and_then(Raw::u64).and_then(|part| usize::try_from(part).ok()),
            from: index(segment, "startIndex"),
            to: index(segment, "endIndex"),
            text: segment.get("text"),
        });
        let part = place.and_then(|place| place.part);
        let span = place.and_then(|place| span(place, text));
        let indices = support.get("groundingChunkIndices").into_iter().flat_map(Raw::elements);
        for at in indices.filter_map(Raw::u64).filter_map(|at| usize::try_from(at).ok()) {
            if let (Some(chunk), Some(supports)) = (chunks.get(at), supporting.get_mut(at))
                && out.len() < SOURCES_MAX
            {
                *supports = true;
                out.push(Source { part, citation: citation(*chunk, of_page(*chunk), span, owner) });
            }
        }
    }
    for (chunk, supports) in chunks.iter().zip(supporting) {
        if !supports {
            out.push(Source { part: None, citation: citation(*chunk, of_page(*chunk), None, owner) });
        }
    }
}

/// The one member of a chunk, whatever its kind: `web`, `maps`, `retrievedContext`.
fn of_page(chunk: Raw<'_>) -> Raw<'_> {
    chunk.members().next().map_or(chunk, |member| member.value)
}

fn citation(whole: Raw<'_>, page: Raw<'_>, span: Option<(u64, u64)>, owner: &Bytes) -> Citation {
    let text =
        |name| page.get(name).and_then(|value: Raw<'_>| value.text(owner)).filter(|text| !text.is_empty());
    Citation {
        dialect: SELF,
        json: Json::from_valid(Bytes::copy_from_slice(whole.bytes())),
        span,
        url: text("uri"),
        title: text("title"),
        cited_text: text("text"),
    }
}

fn index(value: Raw<'_>, name: &str) -> usize {
    let number = value.get(name).and_then(Raw::u64);
    number.and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
}

/// The place in characters. The vendor tells bytes, and the text that stands there: where they do not agree, the text
/// is looked for.
fn span<'t>(place: Place<'_>, text: &impl Fn(Option<usize>) -> Option<&'t str>) -> Option<(u64, u64)> {
    let whole = text(place.part)?;
    let told = place.text.and_then(Raw::string);
    let at =
        whole.get(place.from..place.to).filter(|there| told.as_deref().is_none_or(|told| told == *there));
    let (from, to) = match (at, told.as_deref()) {
        (Some(_), _) => (place.from, place.to),
        (None, Some(told)) if !told.is_empty() => {
            let from = whole.find(told)?;
            (from, from + told.len())
        }
        (None, _) => return None,
    };
    let characters = |part: &str| u64::try_from(part.chars().count()).unwrap_or(u64::MAX);
    let before = characters(whole.get(..from)?);
    Some((before, before + characters(whole.get(from..to)?)))
}
