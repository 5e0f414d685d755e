//! What all vendors' answers have in common: the error, the event, the reply; and small things they share.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::behaviour::Behaviour;

/// What a vendor does in its own way, whatever the endpoint.
pub(crate) trait Vendor: Sync {
    /// No key was sent.
    fn missing_key(&self) -> VendorError;

    /// No such path.
    fn unknown_path(&self, method: &str, path: &str) -> VendorError;

    /// The error for a cause, or else for a status.
    fn forced_error(&self, cause: Option<&str>, status: Option<u16>, model: &str) -> VendorError;

    /// The body of an error.
    fn render(&self, error: &VendorError, request_id: &str) -> String;

    /// A header that only errors have.
    fn error_header(&self, _error: &VendorError) -> Option<(&'static str, String)> {
        None
    }

    /// The name of the header with the request's id.
    fn id_header(&self) -> &'static str;

    /// Headers that every answer has.
    fn headers(&self) -> &'static [(&'static str, &'static str)];
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

/// One event of a stream.
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

/// How events are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    #[default]
    Sse,
    /// Amazon's binary messages; the name is the event's type, or that of an exception.
    EventStream,
    /// The elements of one JSON array.
    Array,
}

impl Framing {
    /// The media type of such a stream.
    pub(crate) const fn media_type(self) -> &'static str {
        match self {
            Self::Sse => "text/event-stream; charset=utf-8",
            Self::EventStream => "application/vnd.amazon.eventstream",
            Self::Array => "application/json; charset=UTF-8",
        }
    }
}

/// A stream, in the parts that faults need to tell apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    pub(crate) framing: Framing,
    /// Lifecycle events before any content.
    pub(crate) start: Vec<Event>,
    /// Content, with the block marks between.
    pub(crate) content: Vec<Event>,
    /// Finish, usage, end mark.
    pub(crate) end: Vec<Event>,
    /// What an error in mid-stream looks like.
    pub(crate) error: Vec<Event>,
    /// The vendor's keep-alive; nothing where it has none.
    pub(crate) keepalive: &'static str,
}

/// The answer to a valid request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Whole(String),
    /// What is no JSON, with its media type.
    Bytes(&'static str, Vec<u8>),
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

/// The media types of images that OpenAI and Anthropic take.
pub(crate) const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Decodes base64; nothing where it is empty or malformed.
pub(crate) fn decoded(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok().filter(|data| !data.is_empty())
}

/// Encodes base64.
pub(crate) fn encoded(data: &[u8]) -> String {
    STANDARD.encode(data)
}

/// The error that the settings ask for.
pub(crate) fn forced_error(vendor: &dyn Vendor, behaviour: &Behaviour, model: &str) -> Option<VendorError> {
    let (cause, status) = (behaviour.cause(), behaviour.status());
    if cause.is_none() && status.is_none() {
        return None;
    }
    let mut error = vendor.forced_error(cause, status, model);
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
