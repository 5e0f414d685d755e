//! A quick look at an event that is passed on as it is.

use super::parts::Parts;
use crate::{
    Glance, Look, fault, frame,
    json::{Raw, offset_in},
    openai_chat::usage,
};
use memchr::memmem::Finder;
use std::sync::LazyLock;

static USAGE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"usage\""));
static ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"error\""));

/// Looks at an event. After the commit point it is parsed only if one of the two words that matter stands in it:
/// inside of a string their quotes would be escaped.
pub(in crate::openai_chat) fn glance(event: &frame::Event<'_>, look: Look) -> Glance {
    let Some(data) = event.data.as_deref().map(<[u8]>::trim_ascii) else { return Glance::default() };
    if data.trim_ascii() == b"[DONE]" {
        return Glance { end: true, ..Glance::default() };
    }
    if look == Look::Meter && event.name != b"error" && !has_usage(data) && ERROR.find(data).is_none() {
        return Glance { content: true, ..Glance::default() };
    }
    let Ok(root) = Raw::parse(data) else {
        // Nothing that a reader could see, before the commit point; after it, nothing that the meter could read.
        let fault = (event.name == b"error").then(|| fault::decode_event(data));
        return Glance { content: look == Look::Meter && fault.is_none(), fault, ..Glance::default() };
    };
    let parts = Parts::of(root);
    if parts.is_error(event.name) {
        return Glance { fault: Some(fault::decode_event(data)), ..Glance::default() };
    }
    let mut usage = parts.usage.and_then(usage::decode);
    if let Some(usage) = usage.as_mut().filter(|_| parts.is_picture()) {
        usage.images = 1;
    }
    let choices = parts.choices;
    let no_choice = choices.is_none_or(|choices| choices.elements().all(is_placeholder));
    let content = match look {
        Look::Meter => !no_choice,
        Look::Commit => choices.is_some_and(|choices| choices.elements().any(is_content)),
    };
    let usage_only = no_choice && choices.is_some() && usage.is_some();
    let replacement = choices.filter(|_| usage_only).and_then(|choices| without_choices(data, choices));
    Glance { content, usage, usage_only, replacement, ..Glance::default() }
}

/// The event for usage with `choices: []` instead of a placeholder; `None` where it has no placeholder.
fn without_choices(data: &[u8], choices: Raw<'_>) -> Option<Vec<u8>> {
    choices.elements().next()?;
    let at = offset_in(data, choices.bytes())?;
    let behind = data.get(at + choices.bytes().len()..)?;
    Some([b"data: ", data.get(..at)?, b"[]", behind, b"\n\n"].concat())
}

/// Whether the word stands there with a value: many providers write `"usage":null` into every chunk.
fn has_usage(data: &[u8]) -> bool {
    USAGE.find(data).is_some_and(|at| {
        let behind = data.get(at + 7..).unwrap_or_default().trim_ascii_start();
        let value = behind.strip_prefix(b":").unwrap_or(behind).trim_ascii_start();
        !value.starts_with(b"null") || USAGE.find(value).is_some()
    })
}

/// Whether a choice says nothing at all: some providers put one beside the usage.
fn is_placeholder(choice: Raw<'_>) -> bool {
    let delta = choice.get("delta");
    !is_content(choice) && delta.is_none_or(|delta| delta.members().next().is_none())
}

/// Whether a reader of the answer would see something of this choice.
fn is_content(choice: Raw<'_>) -> bool {
    let says = |value: Raw<'_>| !matches!(value.bytes(), b"null" | b"\"\"" | b"[]" | b"{}");
    let delta = choice.get("delta");
    let delta_says = |delta: Raw<'_>| delta.members().any(|member| !member.is("role") && says(member.value));
    delta.is_some_and(delta_says)
        || choice.get("finish_reason").is_some_and(says)
        // Legacy completions.
        || choice.get("text").is_some_and(says)
}
