//! Names of members. Proto JSON takes them in camel case and in snake case, and enum words in upper case.

use crate::json::unescape;
use std::borrow::Cow;

/// A member's name in camel case.
pub(crate) fn camel(key: &[u8]) -> Cow<'_, str> {
    let plain = unescape(key);
    if !plain.contains('_') {
        return plain;
    }
    let mut out = String::with_capacity(plain.len());
    let mut letters = plain.chars().peekable();
    while let Some(letter) = letters.next() {
        match letters.peek() {
            Some(next) if letter == '_' && !out.is_empty() && next.is_ascii_lowercase() => {
                out.push(next.to_ascii_uppercase());
                letters.next();
            }
            _ => out.push(letter),
        }
    }
    out.into()
}

/// The other spelling of a name in camel case.
pub(super) fn snake(camel: &str) -> String {
    let mut out = String::with_capacity(camel.len() + 4);
    for letter in camel.chars() {
        if letter.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_one_name() {
        for (snaked, cameled) in
            [("inline_data", "inlineData"), ("top_k", "topK"), ("text", "text"), ("a_b_c", "aBC")]
        {
            assert_eq!(camel(snaked.as_bytes()), cameled);
            assert_eq!(camel(cameled.as_bytes()), cameled);
            assert_eq!(snake(cameled), snaked);
        }
        for odd in ["text_", "_x", "a__1", "A_B", ""] {
            assert_eq!(camel(odd.as_bytes()), odd);
        }
    }
}
