//! What both vendors' answers have in common: the error, the event, the reply; and small things they share.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::behaviour::Behaviour;

/// Whose API an endpoint belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vendor {
    OpenAi,
    Anthropic,
}

/// An error before it has a vendor's shape.
#[derive(Clone, Debug, Default)]
pub(crate) struct VendorError {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    pub(crate) param: Option<String>,
    pub(crate) code: Option<&'static str>,
}

impl VendorError {
    /// A 400 of the kind `invalid_request_error`.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { status: 400, kind: "invalid_request_error", message: message.into(), param: None, code: None }
    }

    pub(crate) fn new(status: u16, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, message: message.into(), param: None, code: None }
    }

    pub(crate) fn at(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    pub(crate) fn code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }
}

/// One server-sent event.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) name: Option<&'static str>,
    pub(crate) data: String,
}

impl Event {
    /// An event without a name.
    pub(crate) fn data(data: impl Into<String>) -> Self {
        Self { name: None, data: data.into() }
    }

    pub(crate) fn named(name: &'static str, data: impl Into<String>) -> Self {
        Self { name: Some(name), data: data.into() }
    }
}

/// A stream, in the parts that faults need to tell apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    /// Lifecycle events before any content.
    pub(crate) start: Vec<Event>,
    /// Content, with the block marks between.
    pub(crate) content: Vec<Event>,
    /// Finish, usage, end mark.
    pub(crate) end: Vec<Event>,
    /// What an error in mid-stream looks like.
    pub(crate) error: Vec<Event>,
    /// The vendor's keep-alive, as bytes.
    pub(crate) keepalive: &'static str,
}

/// The answer to a valid request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Whole(String),
    Stream(Events),
}

/// A JSON string literal.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// An id that no other answer of this process has.
pub(crate) fn fresh_id(prefix: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{prefix}{:024x}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |age| age.as_secs())
}

/// Tokens of a text, by the rule of thumb of four bytes each.
pub(crate) fn token_count(text: &str) -> usize {
    text.len().div_ceil(4)
}

/// The media type that the first bytes of an image tell, where they are known.
pub(crate) fn sniffed(data: &[u8]) -> Option<&'static str> {
    match data {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// The media types of images that both vendors take.
pub(crate) const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Decodes base64; nothing where it is empty or malformed.
pub(crate) fn decoded(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok().filter(|data| !data.is_empty())
}

/// The error that the settings ask for.
pub(crate) fn forced_error(vendor: Vendor, behaviour: &Behaviour, model: &str) -> Option<VendorError> {
    let (cause, status) = (behaviour.cause(), behaviour.status());
    if cause.is_none() && status.is_none() {
        return None;
    }
    let mut error = match vendor {
        Vendor::OpenAi => super::openai::forced_error(cause, status, model),
        Vendor::Anthropic => super::anthropic::forced_error(cause, status, model),
    };
    if let Some(status) = status {
        error.status = status;
    }
    Some(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_known_by_their_first_bytes() {
        let check = |data: &[u8], expected| assert_eq!(sniffed(data), expected);
        check(b"\x89PNG\r\n", Some("image/png"));
        check(b"\xff\xd8\xff\xe0", Some("image/jpeg"));
        check(b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp"));
        check(b"hello", None);
    }
}
