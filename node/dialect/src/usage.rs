//! Finds the usage in a whole answer without reading the answer.

use crate::json::Raw;
use memchr::memmem;

/// Calls `read` with the value of the top-level member of that name. It is looked for from the end, where vendors put it:
/// inside of a string the name could stand only with escaped quotes. What follows it must close the body and nothing
/// else; where it does not (a `usage` deeper down) the whole body is read.
pub(crate) fn find<T>(body: &[u8], name: &str, read: impl Fn(Raw<'_>) -> Option<T>) -> Option<T> {
    let quoted = format!("\"{name}\"");
    let at = memmem::rfind(body, quoted.as_bytes())?;
    match quick(body.get(at + quoted.len()..)?) {
        Some(value) => Raw::parse(value).ok().and_then(read),
        None => Raw::parse(body).ok()?.get(name).and_then(read),
    }
}

/// The object behind the name, if the rest of the body closes just one more level.
fn quick(behind: &[u8]) -> Option<&[u8]> {
    let colon = behind.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let value = behind.get(colon..)?.strip_prefix(b":")?.trim_ascii_start();
    if value.first() != Some(&b'{') {
        return None;
    }
    let end = closing(value, 0)?;
    let rest = value.get(end..)?;
    let close = closing(rest, 1)?;
    rest.get(close..)?.trim_ascii().is_empty().then(|| &value[..end])
}

/// The offset behind the bracket that takes the depth back to zero.
fn closing(bytes: &[u8], mut depth: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b'"' => {
                at += 1;
                while *bytes.get(at)? != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_top_level_counts() {
        let n = |body: &str| find(body.as_bytes(), "usage", |usage| usage.get("n")?.u64());
        let cases = [
            (r#"{"a":1,"usage":{"n":1}}"#, Some(1)),
            (r#"{"usage" : { "n" : 2, "s": "}\"" } , "b":[{}], "c":"}" } "#, Some(2)),
            (r#"{"usage":{"n":3},"choices":[{"usage":{"n":9}}]}"#, Some(3)),
            (r#"{"usage":{"n":4,"usage":{"n":9}}}"#, Some(4)),
            (r#"{"text":"\"usage\":{\"n\":9}","usage":{"n":5}}"#, Some(5)),
            (r#"{"usage":{"n":6},"text":"\"usage\":{\"n\":9}}"}"#, Some(6)),
            (r#"{"usage":null}"#, None),
            (r#"{"choices":[{"usage":{"n":9}}]}"#, None),
            (r#"{"usage":"#, None),
            (r#"{"usage":{"n":1}"#, None),
            (r#""usage""#, None),
            ("", None),
        ];
        for (body, expected) in cases {
            assert_eq!(n(body), expected, "{body}");
        }
    }
}
