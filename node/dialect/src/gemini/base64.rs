//! Base64 in both alphabets: proto JSON takes either, and Google's own clients send the one for URLs.

use crate::ir::Text;
use aws_smithy_types::base64;

/// In the alphabet and with the padding that all vendors take.
pub(super) fn standard(text: Text) -> Text {
    let escaped = text.escaped();
    let other = memchr::memchr3(b'-', b'_', b'\\', escaped).is_some();
    if !other && escaped.len().is_multiple_of(4) {
        return text;
    }
    let plain = text.plain();
    let letters = plain.chars().map(|c| match c {
        '-' => '+',
        '_' => '/',
        c => c,
    });
    let mut out: String = letters.collect();
    while matches!(out.len() % 4, 2 | 3) {
        out.push('=');
    }
    Text::new(&out)
}

/// The text in it, if it is one.
pub(super) fn decode(text: &Text) -> Option<String> {
    let bytes = base64::decode(standard(text.clone()).plain()).ok()?;
    String::from_utf8(bytes).ok()
}

/// A text in base64.
pub(super) fn encode(plain: &str) -> Text {
    Text::new(&base64::encode(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_alphabets_are_read() {
        for (given, expected) in [
            ("ab-_", "ab+/"),
            ("ab+/", "ab+/"),
            ("YQ", "YQ=="),
            ("YWI", "YWI="),
            ("YWI=", "YWI="),
            ("", ""),
            ("a", "a"),
        ] {
            assert!(standard(Text::new(given)).is(expected), "{given}");
        }
        assert!(standard(Text::from_escaped(r"ab\/\/".into())).is("ab//"));
        for plain in ["", "a", "trestle:x:y\"\u{e9}"] {
            assert_eq!(decode(&encode(plain)).as_deref(), Some(plain));
        }
        assert_eq!(decode(&Text::new("!")), None);
        assert_eq!(decode(&Text::new("_w")), None);
    }
}
