//! What the fuzz targets check, for documents and streams made up at random.

use proptest::{collection::vec, prelude::*, sample::select, strategy::Union};

#[path = "../fuzz/checks/envelope.rs"]
mod envelope;
#[path = "../fuzz/checks/multipart.rs"]
mod multipart;
#[path = "../fuzz/checks/sse.rs"]
mod sse;

const SPACE: &[&str] = &["", "", "", " ", "\n  ", "\t", "\r\n"];
const NAMES: &[&str] =
    &["a", "b", "model", "mo\\u0064el", "x\\\"y", "x\\u0022y", "\u{65e5}", "", "stream_options", "\\ud800"];
const TEXTS: &[&str] = &[
    "plain",
    "\\n",
    "\\\\",
    "\\\"",
    "\\/",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\uD869\\uDEA5",
    "\u{1f600}",
    "\u{65e5}\u{672c}",
    "{[,:",
    " ",
    "\u{7f}",
    "a longer piece of prose that takes a good part of a block of bytes, ",
];
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "1.0",
    "1.5",
    "1e2",
    "12E-1",
    "18446744073709551615",
    "18446744073709551616",
    "1e400",
    "-0.1e-7",
];

fn string(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    vec(select(texts), 0..8).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn space() -> impl Strategy<Value = &'static str> {
    select(SPACE)
}

/// A valid document of any kind, as text.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        select(&["null", "true", "false", "{}", "[ ]"][..]).prop_map(str::to_owned),
        select(NUMBERS).prop_map(str::to_owned),
        string(TEXTS),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let list = (vec((space(), inner.clone(), space()), 0..6)).prop_map(|elements| {
            let elements: Vec<_> = elements.iter().map(|(a, value, b)| format!("{a}{value}{b}")).collect();
            format!("[{}]", elements.join(","))
        });
        Union::new([list.boxed(), object(inner.boxed()).boxed()])
    })
}

fn object(inner: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let member = (space(), select(NAMES), 0u8..20, space(), inner, space());
    vec(member, 0..8).prop_map(|members| {
        let member = |(a, name, number, b, value, c): &(&str, &str, u8, &str, String, &str)| {
            // mostly names that differ, else hardly an object would pass
            let name = if *number == 0 { (*name).to_owned() } else { format!("{name}{number}") };
            format!("{a}\"{name}\"{b}:{b}{value}{c}")
        };
        format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn edited_bodies(body in object(value()), script in vec(any::<u8>(), 0..30)) {
        envelope::check(&[body.as_bytes(), b"\xff", &script].concat());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn damaged_bodies(body in value(), damage in vec((any::<prop::sample::Index>(), 0..3, select(&b"\"\\{}[]:,0u-. \n\0\x80\xe6"[..])), 0..4)) {
        let mut body = body.into_bytes();
        for (place, how, byte) in damage {
            let at = place.index(body.len() + 1);
            match how {
                0 => body.insert(at, byte),
                1 if at < body.len() => body[at] = byte,
                2 if at < body.len() => drop(body.remove(at)),
                _ => body.truncate(at),
            }
        }
        envelope::check(&body);
    }

    #[test]
    fn streams_cut_anywhere(pieces in vec(select(LINES), 0..20), sizes in vec(0u8..30, 0..6)) {
        sse::check(&[pieces.concat().as_bytes(), b"\xff", &sizes].concat());
    }

    #[test]
    fn forms_cut_anywhere(
        parts in vec((select(HEADS), vec(select(CONTENTS), 0..5)), 0..6),
        last in select(&["--b0--", "--b0--\r\n", "--b0--\r\nbye", "--b0", ""][..]),
        sizes in vec(1u8..60, 0..6),
    ) {
        let part = |(head, content): &(&str, Vec<&str>)| format!("--b0\r\n{head}\r\n\r\n{}\r\n", content.concat());
        let body = parts.iter().map(part).collect::<String>() + last;
        multipart::check(&[body.as_bytes(), b"\xff", &sizes].concat());
    }

    #[test]
    fn bytes_of_any_kind(bytes in vec(any::<u8>(), 0..200)) {
        envelope::check(&bytes);
        sse::check(&bytes);
        multipart::check(&bytes);
    }
}

const LINES: &[&str] = &[
    "\n",
    "\n",
    "\r",
    "\r\n",
    "\r\n\r\n",
    "\n\n",
    "\u{feff}",
    "data: x",
    "data:y",
    "data",
    "data: \u{65e5}\u{1f600}",
    "event: ping",
    "event",
    ": comment",
    "id: 1",
    "datax: 2",
    " data: 3",
    "\0",
    ":",
    " ",
];

// Mostly good ones, else hardly a form would pass.
const HEADS: &[&str] = &[
    "Content-Disposition: form-data; name=\"model\"",
    "Content-Disposition: form-data; name=\"file\"; filename=\"a\"\r\nContent-Type: audio/wav",
    "content-disposition:form-data;name=f",
    "Content-Disposition: form-data; name=\"fallbacks[]\"",
    "Content-Disposition: form-data; name=set",
    "X: y\r\nContent-Disposition: form-data; name=\"\u{65e5}\"; filename*=x",
    "Content-Disposition: form-data; filename=\"a\\\"b\"; name=\"set[x]\"",
    "Content-Disposition: form-data; name=f",
    "Content-Disposition: form-data; name=\"x\\y\"",
];

const CONTENTS: &[&str] = &[
    "",
    "x",
    "\r\n",
    "\r",
    "\n",
    "-",
    "--",
    "--b",
    "--b1",
    "_--b0",
    "a longer piece of a file",
    "0",
    "\r\n--b",
    "\n-b0",
];
