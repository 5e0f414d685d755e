//! Finds the end of a string, with and without checking what is in it.

/// The offset behind the closing quote of the string whose inside begins at `start`; `None` if it is not valid.
pub(super) fn checked_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        match *bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += escape_len(bytes, at)?,
            0..0x20 => return None,
            _ => at += 1,
        }
    }
}

/// The same for a string that was checked before: looks only for its end.
pub(super) fn end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at + 1);
        }
        at += 2;
    }
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
