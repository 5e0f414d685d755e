//! A quick look at an event that is passed on as it is.
//!
//! A stream has no end of its own: it ends with the event that has the `finishReason`. Where several candidates are
//! streamed at once, that is an event in which all of its candidates have one.

use super::super::{
    error,
    response::{is_finished, says_nothing},
    usage,
};
use crate::{Glance, Look, frame, json::Raw};
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// Words without which an event is mere content: inside of a string their quotes would be escaped.
static WORDS: LazyLock<[Finder<'static>; 3]> =
    LazyLock::new(|| [r#""finishReason""#, r#""promptFeedback""#, r#""error""#].map(Finder::new));

/// Looks at an event. After the commit point it is parsed only if one of the words that matter stands in it.
pub(in crate::gemini) fn glance(event: &frame::Event<'_>, look: Look) -> Glance {
    let Some(data) = event.data.as_deref().filter(|data| !data.trim_ascii().is_empty()) else {
        return Glance::default();
    };
    if look == Look::Meter && WORDS.iter().all(|word| word.find(data).is_none()) {
        let usage = crate::usage::find(data, "usageMetadata", usage::decode);
        return Glance { content: true, usage, ..Glance::default() };
    }
    let Ok(root) = Raw::parse(data) else {
        // Nothing that a reader could see, before the commit point; after it, nothing that the meter could read.
        return Glance { content: look == Look::Meter, ..Glance::default() };
    };
    if is_error(root) {
        return Glance { fault: Some(error::decode_event(data)), ..Glance::default() };
    }
    let candidates = || root.get("candidates").into_iter().flat_map(Raw::elements);
    let finished = |candidate: Raw<'_>| candidate.get("finishReason").is_some_and(is_finished);
    let is_blocked = root.get("promptFeedback").is_some_and(|feedback| feedback.get("blockReason").is_some());
    let end = match candidates().next() {
        Some(_) => candidates().all(finished),
        None => is_blocked,
    };
    let content = end || look == Look::Meter || candidates().any(|one| finished(one) || is_content(one));
    let usage = root.get("usageMetadata").and_then(usage::decode);
    Glance { content, usage, end, ..Glance::default() }
}

/// An error event, which may be an array with one element.
pub(super) fn is_error(root: Raw<'_>) -> bool {
    error::unwrapped(root).get("error").is_some_and(|error| !error.is_null())
}

/// Whether a reader of the answer would see something of this candidate.
fn is_content(candidate: Raw<'_>) -> bool {
    let parts = candidate.get("content").and_then(|content| content.get("parts"));
    parts
        .into_iter()
        .flat_map(Raw::elements)
        .any(|part| part.members().any(|member| !member.is("thought") && !says_nothing(&member)))
}
