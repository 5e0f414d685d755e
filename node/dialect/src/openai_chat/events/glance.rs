//! A quick look at an event that is passed on as it is.

use super::super::usage;
use crate::{
    Glance, Look, fault,
    json::{Kind, Raw},
    sse,
};
use memchr::memmem::Finder;
use std::sync::LazyLock;

static USAGE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"usage\""));
static ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"error\""));

/// Looks at an event. After the commit point it is parsed only if one of the two words that matter stands in it:
/// inside of a string their quotes would be escaped.
pub(in crate::openai_chat) fn glance(event: &sse::Event<'_>, look: Look) -> Glance {
    let Some(data) = event.data.as_deref() else { return Glance::default() };
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
    if is_error(event.name, root) {
        return Glance { fault: Some(fault::decode_event(data)), ..Glance::default() };
    }
    let usage = find_usage(root).and_then(usage::decode);
    let choices = root.get("choices");
    let no_choice = choices.is_none_or(|choices| choices.elements().next().is_none());
    let content = match look {
        Look::Meter => !no_choice,
        Look::Commit => choices.is_some_and(|choices| choices.elements().any(is_content)),
    };
    Glance {
        content,
        usage,
        usage_only: no_choice && choices.is_some() && usage.is_some(),
        ..Glance::default()
    }
}

/// Whether the word stands there with a value: many providers write `"usage":null` into every chunk.
fn has_usage(data: &[u8]) -> bool {
    USAGE.find(data).is_some_and(|at| {
        let behind = data.get(at + 7..).unwrap_or_default().trim_ascii_start();
        let value = behind.strip_prefix(b":").unwrap_or(behind).trim_ascii_start();
        !value.starts_with(b"null") || USAGE.find(value).is_some()
    })
}

/// An error event: by its name, by a member, or as vLLM writes one.
pub(super) fn is_error(name: &[u8], root: Raw<'_>) -> bool {
    name == b"error"
        || root.get("error").is_some_and(|error| !error.is_null())
        || root.get("object").is_some_and(|object| object.is_str("error"))
}

/// Usage stands at the top; Groq has it in a member of its own.
pub(super) fn find_usage(root: Raw<'_>) -> Option<Raw<'_>> {
    let usage = root.get("usage").filter(|usage| usage.kind() == Kind::Object);
    usage.or_else(|| root.get("x_groq")?.get("usage").filter(|usage| usage.kind() == Kind::Object))
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
