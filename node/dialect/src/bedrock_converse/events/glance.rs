//! A quick look at an event that is passed on as it is.

use super::{super::usage, exception};
use crate::{
    Glance, Look, frame,
    json::{Kind, Raw},
};

/// Looks at an event by the type of its message.
pub(in crate::bedrock_converse) fn glance(event: &frame::Event<'_>, look: Look) -> Glance {
    let Some(data) = event.data.as_deref() else { return Glance::default() };
    match event.name {
        b"contentBlockDelta" => {
            Glance { content: look == Look::Meter || delta_says(data), ..Glance::default() }
        }
        b"contentBlockStart" | b"messageStop" => Glance { content: true, ..Glance::default() },
        b"metadata" => {
            let usage = Raw::parse(data).ok().and_then(|root| usage::decode(root.get("usage")?));
            Glance { usage, end: true, ..Glance::default() }
        }
        name => Glance { fault: exception::read(name, data), ..Glance::default() },
    }
}

/// Whether there is more in it than an empty text.
fn delta_says(data: &[u8]) -> bool {
    fn says(value: Raw<'_>) -> bool {
        match value.kind() {
            Kind::Object => value.members().any(|member| match member.value.kind() {
                // One level more: `reasoningContent.text`.
                Kind::Object => member.value.members().any(|inner| !is_empty(inner.value)),
                _ => !is_empty(member.value),
            }),
            _ => false,
        }
    }
    let is_empty_delta = Raw::parse(data).ok().and_then(|root| root.get("delta")).is_none_or(|d| !says(d));
    !is_empty_delta
}

fn is_empty(value: Raw<'_>) -> bool {
    matches!(value.bytes(), b"null" | b"\"\"" | b"[]" | b"{}")
}
