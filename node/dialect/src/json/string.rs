//! Finds the end of a string, with and without checking what is in it.

use super::{simd, swar};

/// The offset behind the closing quote of the string whose inside begins at `start`; `None` if it is not valid.
#[inline]
pub(super) fn checked_end(bytes: &[u8], start: usize) -> Option<usize> {
    match near_end(bytes, start) {
        Near::End(end) => Some(end),
        Near::Unknown(at) => simd::checked_end(bytes, at),
    }
}

/// The same for a string that was checked before: looks only for its end.
#[inline]
pub(super) fn end(bytes: &[u8], start: usize) -> Option<usize> {
    match near_end(bytes, start) {
        Near::End(end) => Some(end),
        Near::Unknown(at) => simd::end(bytes, at),
    }
}

enum Near {
    /// Behind the closing quote; what is before it is valid.
    End(usize),
    /// Up to here the string is valid and has no escapes.
    Unknown(usize),
}

/// Names and short values are not worth the way to the vector registers.
#[inline]
fn near_end(bytes: &[u8], start: usize) -> Near {
    const WORDS: usize = 3;
    let mut at = start;
    let (words, _) = bytes.get(start..).unwrap_or_default().as_chunks();
    for word in words.iter().take(WORDS) {
        let stops = swar::stops(u64::from_le_bytes(*word));
        if stops != 0 {
            at += stops.trailing_zeros() as usize / 8;
            return if bytes[at] == b'"' { Near::End(at + 1) } else { Near::Unknown(at) };
        }
        at += 8;
    }
    Near::Unknown(at)
}

/// Where and why a string is not valid that `checked_end` has refused.
#[cold]
pub(super) fn first_fault(bytes: &[u8], start: usize) -> (usize, &'static str) {
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => break,
            b'\\' => match escape_len(bytes, at) {
                Some(len) => at += len,
                None => {
                    return (
                        at,
                        "a backslash must be followed by one of \"\\/bfnrt, or u and four hex digits",
                    );
                }
            },
            0..0x20 => return (at, "a control character in a string must be escaped"),
            _ => at += 1,
        }
    }
    (at, "unexpected end of the text in a string")
}

/// The length of the escape that begins at this backslash, if it is valid. A lone surrogate is.
fn escape_len(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at + 1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit).then_some(6),
        _ => None,
    }
}
