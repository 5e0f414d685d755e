//! A quick look at an event that is passed on as it is.

use super::super::usage;
use crate::{Glance, Look, fault, frame, ir::Usage, json::Raw, kind::kind};

/// Looks at an event: by its name, or by the `type` in its data where a compatible provider leaves the name out.
pub(in crate::anthropic_messages) fn glance(event: &frame::Event<'_>, look: Look) -> Glance {
    let Some(data) = event.data.as_deref().map(<[u8]>::trim_ascii) else { return Glance::default() };
    let kind = kind(event.name, data);
    match &*kind {
        b"content_block_delta" => Glance { content: true, ..Glance::default() },
        b"content_block_start" => {
            let content = look == Look::Meter || opens_with_content(data);
            Glance { content, ..Glance::default() }
        }
        b"message_start" => Glance { usage: read_usage(data), ..Glance::default() },
        b"message_delta" => Glance { content: true, usage: read_usage(data), ..Glance::default() },
        b"message_stop" => Glance { end: true, ..Glance::default() },
        b"error" => Glance { fault: Some(fault::decode_event(data)), ..Glance::default() },
        _ => Glance::default(),
    }
}

/// Whether the block that opens says something already: a tool call does, an empty text or thought does not.
fn opens_with_content(data: &[u8]) -> bool {
    let block = Raw::parse(data).ok().and_then(|root| root.get("content_block"));
    let empty = |block: Raw<'_>, name| block.get(name).is_none_or(|text| text.bytes() == b"\"\"");
    block.is_some_and(|block| match block.get("type").and_then(Raw::string).as_deref() {
        Some("text") => !empty(block, "text"),
        Some("thinking") => !empty(block, "thinking"),
        _ => true,
    })
}

fn read_usage(data: &[u8]) -> Option<Usage> {
    let root = Raw::parse(data).ok()?;
    let usage = root.get("usage").or_else(|| root.get("message")?.get("usage"));
    usage.and_then(usage::decode)
}
