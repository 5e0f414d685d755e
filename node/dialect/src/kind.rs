//! The type of a streamed event, where the dialect writes it both as the event's name and into its data.

use crate::json::Raw;
use memchr::memmem::Finder;
use std::{borrow::Cow, sync::LazyLock};

static TYPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"type\""));

/// The type of an event: its name, or the `type` in its data where a compatible provider leaves the name out.
pub(crate) fn kind<'e>(name: &'e [u8], data: &'e [u8]) -> Cow<'e, [u8]> {
    if !name.is_empty() && name != b"message" {
        return Cow::Borrowed(name);
    }
    // The first member in all known streams; else the data is read.
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
