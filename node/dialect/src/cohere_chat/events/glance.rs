//! A quick look at an event that is passed on as it is.

use super::super::{
    finish::{self, Finish, Has},
    usage,
};
use crate::{Glance, Look, fault, frame, json::Raw};
use memchr::memmem::Finder;
use std::{borrow::Cow, sync::LazyLock};

static TYPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"type\""));

/// Looks at an event: by its name, or by the `type` in its data where there is no name.
pub(in crate::cohere_chat) fn glance(event: &frame::Event<'_>, look: Look) -> Glance {
    let Some(data) = event.data.as_deref().map(<[u8]>::trim_ascii) else { return Glance::default() };
    let kind = kind(event.name, data);
    let content = |content| Glance { content, ..Glance::default() };
    match &*kind {
        b"content-delta" | b"tool-plan-delta" => content(look == Look::Meter || says(data)),
        b"content-start" => content(look == Look::Meter || says(data) || opens_whole(data)),
        b"tool-call-start" | b"tool-call-delta" | b"citation-start" => content(true),
        b"message-end" => end(data),
        _ if is_error(&kind, data) => Glance { fault: Some(fault::decode_event(data)), ..Glance::default() },
        _ => Glance::default(),
    }
}

/// Whether an event is an error, which the vendor has no type for: by its name, or a bare error body. `kind` is none of
/// the known ones.
pub(super) fn is_error(kind: &[u8], data: &[u8]) -> bool {
    let bare = || {
        let root = Raw::parse(data).ok();
        root.is_some_and(|root| root.get("message").or_else(|| root.get("error")).is_some())
    };
    kind == b"error" || (kind.is_empty() && bare())
}

/// The end of the answer: the proper one, or one that says that the generation failed.
fn end(data: &[u8]) -> Glance {
    let delta = Raw::parse(data).ok().and_then(|root| root.get("delta"));
    let reason = delta.and_then(|delta| delta.get("finish_reason"));
    let reason = reason.and_then(|reason| reason.text(&bytes::Bytes::new()));
    let usage = delta.and_then(|delta| delta.get("usage")).and_then(usage::decode);
    let finish = finish::decode(reason, Has::No);
    let fault = finish::fault(&finish, delta, data);
    let proper = matches!(finish, Finish::Stop(_));
    Glance { content: proper, usage, fault, end: proper, ..Glance::default() }
}

/// The type of an event.
pub(super) fn kind<'e>(name: &'e [u8], data: &'e [u8]) -> Cow<'e, [u8]> {
    if !name.is_empty() && name != b"message" {
        return Cow::Borrowed(name);
    }
    // The first member in nearly all events; else the data is read.
    let first = TYPE.find(data).filter(|at| data.get(..*at).is_some_and(|head| head.trim_ascii() == b"{"));
    let value = first.and_then(|at| data.get(at + 6..)?.trim_ascii_start().strip_prefix(b":"));
    if let Some(quoted) = value.and_then(|value| value.trim_ascii_start().strip_prefix(b"\""))
        && let Some(end) = memchr::memchr(b'"', quoted)
    {
        return Cow::Borrowed(quoted.get(..end).unwrap_or_default());
    }
    let kind = Raw::parse(data).ok().and_then(|root| root.get("type")?.string());
    Cow::Owned(kind.map_or_else(Vec::new, |kind| kind.as_bytes().to_vec()))
}

/// Whether the part that opens is neither a text nor reasoning to be read: there is something of it already.
fn opens_whole(data: &[u8]) -> bool {
    let root = Raw::parse(data).ok();
    let content = root.and_then(|root| root.get("delta")?.get("message")?.get("content"));
    let kind = content.and_then(|content| content.get("type")?.string());
    match kind.as_deref() {
        None | Some("text") => false,
        Some("thinking") => content.is_some_and(|content| content.get("redacted").is_some()),
        Some(_) => true,
    }
}

/// Whether an event holds a text that is not empty.
fn says(data: &[u8]) -> bool {
    let message = Raw::parse(data).ok().and_then(|root| root.get("delta")?.get("message"));
    let text = |holder: Option<Raw<'_>>, name| {
        let text = holder.and_then(|holder| holder.get(name)).and_then(Raw::escaped);
        text.is_some_and(|text| !text.is_empty())
    };
    let content = message.and_then(|message| message.get("content"));
    text(content, "text") || text(content, "thinking") || text(message, "tool_plan")
}
