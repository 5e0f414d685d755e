//! The grammar of the event stream, and chunks cut anywhere.

use super::*;
use crate::Framing;

type Plain<'a> = (&'a str, &'a str, Option<&'a str>);

/// Compares the events (raw, name, data) of a block.
fn check(block: &str, expected: &[Plain]) {
    let found: Vec<_> = Framing::Sse.events(block.as_bytes()).collect();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let found: Vec<_> =
        found.iter().map(|e| (text(e.raw), text(e.name), e.data.as_ref().map(|data| text(data)))).collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|(raw, name, data)| (raw.to_string(), name.to_string(), data.map(str::to_owned)))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn reads_events() {
    check("", &[]);
    check("data: x\n\n", &[("data: x\n\n", "", Some("x"))]);
    check("data:x\r\n\r\n", &[("data:x\r\n\r\n", "", Some("x"))]);
    check("data:  x\r\r", &[("data:  x\r\r", "", Some(" x"))]);
    check("data\n\n", &[("data\n\n", "", Some(""))]);
    check("data: a\ndata\r\ndata:b:c\r\n\n", &[("data: a\ndata\r\ndata:b:c\r\n\n", "", Some("a\n\nb:c"))]);
    check(": processing\n\n", &[(": processing\n\n", "", None)]);
    check("\n\r\n\r", &[("\n", "", None), ("\r\n", "", None), ("\r", "", None)]);
    check(
        "event: ping\nevent:pong\nid: 1\nretry: 2\nnonsense\ndatas: 1\n data: 2\nDATA: 3\n:c\n\ndata: y",
        &[
            (
                "event: ping\nevent:pong\nid: 1\nretry: 2\nnonsense\ndatas: 1\n data: 2\nDATA: 3\n:c\n\n",
                "pong",
                None,
            ),
            ("data: y", "", Some("y")),
        ],
    );
    check("data: a\0b\n\n", &[("data: a\0b\n\n", "", Some("a\0b"))]);
}

/// Feeds the chunks and compares what each one completes, and what is left at the end.
fn feed(chunks: &[&'static str], expected: &[&str], left: &str) {
    let mut reader = Reader::new(1000);
    for (chunk, expected) in chunks.iter().zip(expected) {
        let block = reader.feed(Bytes::from_static(chunk.as_bytes())).unwrap();
        assert_eq!(String::from_utf8_lossy(&block), *expected, "{chunks:?}");
    }
    assert_eq!(chunks.len(), expected.len());
    assert_eq!(String::from_utf8_lossy(&reader.finish()), left, "{chunks:?}");
    assert!(reader.finish().is_empty());
}

#[test]
fn cuts_at_events() {
    feed(&["data: 1\n\ndata: 2\n\n"], &["data: 1\n\ndata: 2\n\n"], "");
    feed(&["data: 1\n\ndata: 2\n", "\n"], &["data: 1\n\n", "data: 2\n\n"], "");
    feed(&["data: 1\n", "data: 2\n"], &["", ""], "data: 1\ndata: 2\n\n");
    feed(&["da", "ta", ": 1"], &["", "", ""], "data: 1\n\n");
    feed(&["data: 1\r\n\r", "\ndata: 2\r", "\n\r\n"], &["", "data: 1\r\n\r\n", "data: 2\r\n\r\n"], "");
    feed(&["data: 1\r\n\r", "data: 2"], &["", "data: 1\r\n\r"], "data: 2\n\n");
    feed(&["data: 1\r\r", "data: 2\r", "\r"], &["data: 1\r\r", "", "data: 2\r\r"], "");
    feed(&["data: 1\r\n\r"], &[""], "data: 1\r\n\r");
    feed(&["data: 1\r"], &[""], "data: 1\r\n\n");
    feed(&["\r"], &[""], "\r");
    feed(&["", "\n", ""], &["", "\n", ""], "");
}

#[test]
fn cuts_the_byte_order_mark_once() {
    feed(&["\u{feff}data: 1\n\n\u{feff}\n\n"], &["data: 1\n\n\u{feff}\n\n"], "");
    feed(&["\u{feff}"], &[""], "");
    let mut reader = Reader::new(1000);
    for byte in [&b"\xef"[..], b"\xbb", b"\xbf"] {
        assert!(reader.feed(Bytes::from_static(byte)).unwrap().is_empty());
    }
    assert_eq!(reader.feed(Bytes::from_static(b"\n")).unwrap(), "\n");
    let mut reader = Reader::new(1000);
    assert!(reader.feed(Bytes::from_static(b"\xef\xbb")).unwrap().is_empty());
    assert_eq!(reader.finish(), &b"\xef\xbb\n\n"[..]);
}

#[test]
fn returns_whole_chunks_uncopied() {
    let chunk = Bytes::from_static(b"data: 1\n\ndata: 2\n\n");
    let mut reader = Reader::new(1000);
    assert_eq!(reader.feed(chunk.clone()).unwrap().as_ptr(), chunk.as_ptr());
}

#[test]
fn bounds_each_event_and_not_the_block() {
    let fits = |chunks: &[&'static str]| {
        let mut reader = Reader::new(10);
        chunks.iter().all(|chunk| reader.feed(Bytes::from_static(chunk.as_bytes())).is_ok())
    };
    assert!(fits(&["data: 12\n\ndata: 34\n\n", "data: 5\n\ndata: 67\n\n"]));
    assert!(fits(&["data: 12", "\n\ndata: 34\n\n"]));
    assert!(!fits(&["data: 1\n\ndata: 345\n\n"]));
    assert!(!fits(&["data: 345", "\n", "\n"]));
    assert!(!fits(&["data: 12345"]));
}
