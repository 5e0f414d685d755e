//! Between plain strings and the inside of JSON strings.

use std::borrow::Cow;

/// Appends the escaped form of a plain string, without quotes.
pub fn escape(plain: &str, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let bytes = plain.as_bytes();
    // Without a branch for each byte, so that the compiler can take many at once; most strings need no escape.
    if !bytes.iter().fold(false, |odd, byte| odd | (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\')) {
        out.extend_from_slice(bytes);
        return;
    }
    let mut copied = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let short = match byte {
            b'"' | b'\\' => byte,
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0c => b'f',
            0..0x20 => b'u',
            _ => continue,
        };
        out.extend_from_slice(&bytes[copied..at]);
        copied = at + 1;
        out.extend_from_slice(&[b'\\', short]);
        if short == b'u' {
            let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
            out.extend_from_slice(&[b'0', b'0', high, low]);
        }
    }
    out.extend_from_slice(&bytes[copied..]);
}

/// The plain string; a lone surrogate becomes U+FFFD, and so does what is no escape or not UTF-8.
pub fn unescape(escaped: &[u8]) -> Cow<'_, str> {
    let Some(mut backslash) = memchr::memchr(b'\\', escaped) else {
        return plain(escaped);
    };
    let mut out = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    loop {
        out.extend_from_slice(&rest[..backslash]);
        let (char, used) = escaped_char(&rest[backslash..]);
        out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        rest = &rest[backslash + used..];
        match memchr::memchr(b'\\', rest) {
            Some(next) => backslash = next,
            None => break,
        }
    }
    out.extend_from_slice(rest);
    Cow::Owned(String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

/// Whether the inside of a string stands for exactly this plain string.
pub(crate) fn escapes_to(escaped: &[u8], wanted: &str) -> bool {
    let escapes = || memchr::memchr(b'\\', escaped).is_some();
    // an escape is longer than what it stands for
    if escaped.len() > wanted.len() {
        escapes() && unescape(escaped) == wanted
    } else {
        escaped == wanted.as_bytes() && !escapes()
    }
}

fn plain(bytes: &[u8]) -> Cow<'_, str> {
    simdutf8::basic::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// The character that an escape stands for, and the length of the escape (at least 1). `bytes` begins with the
/// backslash.
fn escaped_char(bytes: &[u8]) -> (char, usize) {
    let char = match bytes.get(1) {
        Some(&byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode_escape(bytes),
        _ => return (char::REPLACEMENT_CHARACTER, 1),
    };
    (char, 2)
}

fn unicode_escape(bytes: &[u8]) -> (char, usize) {
    let Some(high) = code_unit(bytes) else {
        return (char::REPLACEMENT_CHARACTER, 1);
    };
    let low = bytes.get(6..).and_then(code_unit);
    if let (0xd800..0xdc00, Some(low @ 0xdc00..0xe000)) = (high, low) {
        let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12);
    }
    (char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
}

/// The number in a `\uXXXX`.
fn code_unit(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |code, &digit| Some(code << 4 | char::from(digit).to_digit(16)?))
}
