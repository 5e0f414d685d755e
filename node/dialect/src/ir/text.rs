//! Pieces of JSON kept as they came: the inside of a string (`Text`) and a whole value (`Json`). Cloning is a count.

use crate::json;
use bytes::{Bytes, BytesMut};
use std::{borrow::Cow, fmt};

/// The inside of a JSON string, without its quotes and still escaped, so that text passes between dialects (all of
/// them JSON) without being unescaped and escaped again, and nothing in it can change.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Text(Bytes);

impl Text {
    /// From bytes that are known to be the inside of a valid JSON string.
    pub fn from_escaped(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// From a constant that needs no escapes.
    pub const fn fixed(plain: &'static str) -> Self {
        Self(Bytes::from_static(plain.as_bytes()))
    }

    /// Escapes a plain string.
    pub fn new(plain: &str) -> Self {
        let mut out = Vec::with_capacity(plain.len() + 8);
        json::escape(plain, &mut out);
        Self(out.into())
    }

    /// A part of it, sharing its memory; the bounds are offsets into the escaped bytes and must not cut an escape.
    /// Empty where they are out of range.
    pub fn part(&self, range: std::ops::Range<usize>) -> Self {
        if range.start > range.end || range.end > self.0.len() {
            return Self::default();
        }
        Self(self.0.slice(range))
    }

    /// The escaped bytes, to be written between quotes.
    pub fn escaped(&self) -> &[u8] {
        &self.0
    }

    /// The plain string; a lone surrogate becomes U+FFFD.
    pub fn plain(&self) -> Cow<'_, str> {
        json::unescape(&self.0)
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is nothing but white space in it. Looks no further than the first other character.
    pub fn is_blank(&self) -> bool {
        let mut rest = self.0.as_ref();
        loop {
            rest = match rest {
                [] => return true,
                [b' ', behind @ ..] | [b'\\', b'n' | b'r' | b't' | b'f', behind @ ..] => behind,
                // Other escapes and letters beyond ASCII may be white space as well.
                [b'\\' | 0x80.., ..] => return json::unescape(rest).trim().is_empty(),
                _ => return false,
            };
        }
    }

    /// How many characters the plain string has. Allocates nothing.
    pub fn chars(&self) -> u64 {
        let mut rest = self.0.as_ref();
        let mut count = 0;
        while let Some(at) = memchr::memchr(b'\\', rest) {
            let (before, escape) = rest.split_at(at);
            let length = match escape {
                [b'\\', b'u', ..] if is_pair(escape) => 12,
                [b'\\', b'u', ..] => 6,
                _ => 2,
            };
            count += characters(before) + 1;
            rest = escape.get(length..).unwrap_or_default();
        }
        count + characters(rest)
    }

    /// Whether the plain string is this one.
    pub fn is(&self, plain: &str) -> bool {
        json::escapes_to(&self.0, plain)
    }

    /// Several texts with a separator (already escaped) between them.
    pub fn join<'a>(texts: impl IntoIterator<Item = &'a Self>, separator: &str) -> Self {
        let mut out = BytesMut::new();
        for (i, text) in texts.into_iter().enumerate() {
            if i > 0 {
                out.extend_from_slice(separator.as_bytes());
            }
            out.extend_from_slice(&text.0);
        }
        Self(out.freeze())
    }
}

/// Of bytes without escapes.
fn characters(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(byte & 0xC0 != 0x80)).sum()
}

/// Whether two escapes are one character: a high surrogate and a low one.
fn is_pair(escape: &[u8]) -> bool {
    let unit = |at: usize| {
        let digits = escape.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    matches!((unit(0), unit(6)), (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)))
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", String::from_utf8_lossy(&self.0))
    }
}

impl From<&str> for Text {
    fn from(plain: &str) -> Self {
        Self::new(plain)
    }
}

/// A whole JSON value, as it was written.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Json(Bytes);

impl Json {
    /// From bytes that are known to be one valid JSON value without white space around it.
    pub fn from_valid(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// From a constant that is one valid JSON value.
    pub const fn fixed(value: &'static str) -> Self {
        Self(Bytes::from_static(value.as_bytes()))
    }

    /// Checks and keeps a value.
    pub fn parse(text: &str) -> Result<Self, json::Error> {
        let raw = json::Raw::parse(text.as_bytes())?;
        Ok(Self(Bytes::copy_from_slice(raw.bytes())))
    }

    /// The value for reading.
    pub fn raw(&self) -> json::Raw<'_> {
        json::Raw::from_valid(&self.0)
    }

    /// What a vendor's object calls itself: its `type`, or the name of its first member.
    pub fn type_name(&self) -> Cow<'_, str> {
        let typed = self.raw().get("type").and_then(json::Raw::string);
        let named = || self.raw().members().next().map(|member| json::unescape(member.key));
        typed.or_else(named).unwrap_or(Cow::Borrowed("unknown"))
    }

    /// The bytes, to be written as they are.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_as_they_are_read() {
        for escaped in [
            "",
            "plain",
            r"a\nb\\",
            r"\u00e9\ud83d\ude00x",
            r"\ud83dx",
            r"\ud83d\ud83d\ude00",
            r"\ude00\ud83d",
            "h\u{e9}\u{1F600}\u{3000}",
            r"\\u0041",
        ] {
            let text = Text::from_escaped(escaped.as_bytes().into());
            assert_eq!(text.chars(), text.plain().chars().count() as u64, "{escaped:?}");
        }
    }

    #[test]
    fn blank_is_white_space_alone() {
        for (escaped, blank) in [
            ("", true),
            (" ", true),
            (r" \n\t\r\f ", true),
            (r"\u0020\u00a0", true),
            ("\u{3000}", true),
            ("a", false),
            (r"\n a", false),
            (r"\\n", false),
            ("\u{3000}\u{65e5}", false),
            (r"\u0041", false),
        ] {
            assert_eq!(Text::from_escaped(escaped.as_bytes().into()).is_blank(), blank, "{escaped:?}");
        }
    }
}
