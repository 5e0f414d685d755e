//! Every set of instructions that this processor has finds what one byte after the other finds.

use super::*;
use crate::json::{simd, string, swar::Swar};
use proptest::{collection::vec, prelude::*, sample::select};

/// By the grammar, one byte after the other; `None` if the string is not valid.
fn plain_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        at += match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => match bytes.get(at + 1)? {
                b'u' if bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) => 6,
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                _ => return None,
            },
            0..=0x1f => return None,
            _ => 1,
        }
    }
}

fn check(bytes: &[u8], start: usize) {
    let expected = plain_end(bytes, start);
    let mut found = vec![
        ("string", string::checked_end(bytes, start), string::end(bytes, start)),
        ("simd", simd::checked_end(bytes, start), simd::end(bytes, start)),
        ("swar", checked_end(Swar, bytes, start), end(Swar, bytes, start)),
    ];
    #[cfg(target_arch = "x86_64")]
    {
        use simd::x86::{Avx2, Sse2};
        found.push(("sse2", checked_end(Sse2, bytes, start), end(Sse2, bytes, start)));
        if let Some(lanes) = Avx2::detect() {
            found.push(("avx2", lanes.checked_end(bytes, start), lanes.end(bytes, start)));
        }
    }
    let skipped = found[2].2;
    for (which, checked, end) in found {
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(checked, expected, "{which} from {start}: {text:?}");
        assert_eq!(end, skipped, "{which} from {start}: {text:?}");
        if expected.is_some() {
            assert_eq!(end, expected, "{which} from {start}: {text:?}");
        }
    }
    let (fault, why) = string::first_fault(bytes, start);
    let valid = bytes.get(fault) == Some(&b'"');
    assert_eq!(valid, expected.is_some(), "{why} at {fault}: {:?}", String::from_utf8_lossy(bytes));
}

#[test]
fn every_place_in_a_block() {
    let parts: &[&str] = &[
        "\"",
        "\\\"\"",
        "\\\\\"",
        "\\\\\\\"\"",
        "\\u00e9\"",
        "\\ud83d\\ude00\"",
        "\\u00g9\"",
        "\\u00\"",
        "\\x\"",
        "\\n\"",
        "\\\n\"",
        "\n\"",
        "\0\"",
        "\u{1f}\"",
        " \"",
        "\u{7f}\"",
        "\u{e9}\"",
        "\\",
    ];
    for part in parts {
        for before in 0..200 {
            for filler in ["x", "\\", "\u{e9}"] {
                let text = [filler.repeat(before).as_str(), part, "tail"].concat();
                check(text.as_bytes(), 0);
                check(&text.as_bytes()[..text.len() - 4], before.min(3) & !1);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_string(pieces in vec(select(PIECES), 0..60), start in 0usize..80) {
        let text = pieces.concat();
        check(text.as_bytes(), start.min(text.len()));
    }

    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..300), start in 0usize..300) {
        check(&bytes, start.min(bytes.len()));
    }
}

const PIECES: &[&str] = &[
    "\\",
    "\\\\",
    "\\\"",
    "\\n",
    "\\u",
    "\\u00e9",
    "\\uD8",
    "u",
    "0",
    "aF",
    "x",
    "  ",
    "prose of some length, ",
    "\u{65e5}",
    "a whole block without anything in it that would stop a scanner of strings",
    "\"",
    "\n",
];
