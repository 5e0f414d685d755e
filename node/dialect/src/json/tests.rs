//! Tables of texts that are JSON and that are not, and what is read from them.

use super::*;

/// `fault` is the message without the place, and the offset; `None` for a text that must be accepted.
fn check(text: impl AsRef<[u8]>, fault: Option<(&str, usize)>) {
    let text = text.as_ref();
    let shown = String::from_utf8_lossy(&text[..text.len().min(80)]).into_owned();
    let found = Raw::parse(text).err().map(|error| (error.kind.to_string(), error.at));
    assert_eq!(found, fault.map(|(why, at)| (why.to_owned(), at)), "{shown}");
}

#[test]
fn accepts_json() {
    let deep = [b"[".repeat(128), b"]".repeat(128)].concat();
    let long = format!("\"{}\"", "a\u{e9}\\n\\\\\\\"\u{65e5}".repeat(100));
    let texts: &[&[u8]] = &[
        b"null",
        b" true ",
        b"false\n",
        b"0",
        b"-0",
        b"10",
        b"-12.50e+07",
        b"1E-2",
        b"\"\"",
        br#""\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00""#,
        br#""\ud800""#,
        br#""\udc00\ud800""#,
        b"\"\x7f\"",
        "\"\u{ffff}\u{10ffff}\"".as_bytes(),
        b"[]",
        b"{}",
        b"[[],{},[{}]]",
        b"\t{ \"a\" :\r\n[ 1 , 2 ] , \"a\" : null }\n",
        &deep,
        long.as_bytes(),
    ];
    for text in texts {
        check(text, None);
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn refuses_what_is_not_json() {
    const VALUE: &str = "expected a value";
    const END: &str = "unexpected end of the text";
    const DIGIT: &str = "expected a digit";
    const BEHIND: &str = "expected nothing after the value";
    const MEMBER: &str = "expected `,` or `}` after a member";
    const ELEMENT: &str = "expected `,` or `]` after an element";
    const NAME: &str = "expected a member's name in double quotes";
    const COLON: &str = "expected `:` after a member's name";
    const ESCAPE: &str = "a backslash must be followed by one of \"\\/bfnrt, or u and four hex digits";
    const CONTROL: &str = "a control character in a string must be escaped";
    const STRING_END: &str = "unexpected end of the text in a string";
    let texts: &[(&[u8], &str, usize)] = &[
        (b"", END, 0),
        (b"  ", END, 2),
        (b"nul", VALUE, 0),
        (b"nulll", BEHIND, 4),
        (b"True", VALUE, 0),
        (b"NaN", VALUE, 0),
        (b"Infinity", VALUE, 0),
        (b"-Infinity", DIGIT, 1),
        (b"'a'", VALUE, 0),
        (b"01", "a number must not begin with 0", 1),
        (b"-01", "a number must not begin with 0", 2),
        (b"+1", VALUE, 0),
        (b".5", VALUE, 0),
        (b"1.", END, 2),
        (b"[1.]", DIGIT, 3),
        (b"[1e]", DIGIT, 3),
        (b"[1e+]", DIGIT, 4),
        (b"[-]", DIGIT, 2),
        (b"0x1", BEHIND, 1),
        (b"1 2", BEHIND, 2),
        (b"{}{}", BEHIND, 2),
        (b"{}\0", BEHIND, 2),
        (b"{}\x0c", BEHIND, 2),
        (b"\"a", STRING_END, 2),
        (b"\"a\\", ESCAPE, 2),
        (b"\"a\\\"", STRING_END, 4),
        (br#""\x""#, ESCAPE, 1),
        (br#""ab\u00g0""#, ESCAPE, 3),
        (br#""\u00""#, ESCAPE, 1),
        (br#""\u""#, ESCAPE, 1),
        (b"\"\\\n\"", ESCAPE, 1),
        (b"\"a\nb\"", CONTROL, 2),
        (b"\"\0\"", CONTROL, 1),
        (b"\"\x1f\"", CONTROL, 1),
        (b"[", END, 1),
        (b"[1", END, 2),
        (b"[1,", END, 3),
        (b"[1,]", VALUE, 3),
        (b"[,1]", VALUE, 1),
        (b"[1 2]", ELEMENT, 3),
        (b"[1}", ELEMENT, 2),
        (b"]", VALUE, 0),
        (b"{", END, 1),
        (b"{\"a\"", END, 4),
        (b"{\"a\":", END, 5),
        (b"{\"a\":1", END, 6),
        (b"{\"a\":1,}", NAME, 7),
        (b"{,}", NAME, 1),
        (b"{a:1}", NAME, 1),
        (b"{\"a\" 1}", COLON, 5),
        (b"{\"a\":1]", MEMBER, 6),
        (b"{\"a\":1 \"b\":2}", MEMBER, 7),
        (b"[1]// comment", BEHIND, 3),
        (b"\xef\xbb\xbf{}", "a byte-order mark is not allowed before JSON", 0),
        (b"\"a\xff\"", "not valid UTF-8", 2),
        (b"\"\xed\xa0\x80\"", "not valid UTF-8", 1),
        (b"\"\xc0\x80\"", "not valid UTF-8", 1),
        (b"\"\xe6\x97", "not valid UTF-8", 1),
    ];
    for (text, why, at) in texts {
        check(text, Some((why, *at)));
    }
    check(b"[".repeat(129), Some(("nested deeper than 128 levels", 128)));
    check([b"{\"a\":".repeat(128), b"[]".to_vec()].concat(), Some(("nested deeper than 128 levels", 640)));
    check(b"[".repeat(1_000_000), Some(("nested deeper than 128 levels", 128)));
}

#[test]
fn says_line_and_column() {
    let error = Raw::parse(b"{\n  \"a\": 1,\n  \"b\" 2\n}").unwrap_err();
    assert_eq!(error.to_string(), "expected `:` after a member's name at line 3, column 7");
}

#[test]
fn reads_values() {
    let text = br#" {"a":[1, "x" ,{"b":null}],"mo\u0064el":"m\n\ud83d\ude00\ud800","t":true,"e":{},"a":2} "#;
    let raw = Raw::parse(text).unwrap();
    assert_eq!(raw.kind(), Kind::Object);
    let keys: Vec<_> = raw.members().map(|m| String::from_utf8_lossy(m.key).into_owned()).collect();
    assert_eq!(keys, ["a", r"mo\u0064el", "t", "e", "a"]);
    let elements: Vec<_> = raw.get("a").unwrap().elements().map(Raw::bytes).collect();
    assert_eq!(elements, [&b"1"[..], b"\"x\"", b"{\"b\":null}"]);
    assert_eq!(raw.get("model").unwrap().string().unwrap(), "m\n\u{1f600}\u{fffd}");
    assert!(raw.get("model").unwrap().is_str("m\n\u{1f600}\u{fffd}"));
    assert_eq!(raw.get("t").unwrap().bool(), Some(true));
    assert_eq!(raw.get("e").unwrap().members().count(), 0);
    assert!(raw.get("none").is_none());
    assert_eq!(raw.unique_members().unwrap().unwrap_err(), "a");
    assert!(raw.get("a").unwrap().unique_members().is_none());
    assert_eq!(raw.elements().count() + raw.get("a").unwrap().members().count(), 0);
}

#[test]
fn keeps_memory_or_copies() {
    let owner = bytes::Bytes::from_static(br#"{"a":"text","b":[1]}"#);
    let raw = Raw::parse(&owner).unwrap();
    let (a, b) = (raw.get("a").unwrap(), raw.get("b").unwrap());
    assert_eq!(a.text(&owner).unwrap().escaped().as_ptr(), owner[6..].as_ptr());
    assert_eq!(b.json(&owner).bytes().as_ptr(), owner[16..].as_ptr());
    let other = bytes::Bytes::from_static(b"{}");
    assert_eq!(a.text(&other).unwrap().plain(), "text");
    assert_ne!(a.text(&other).unwrap().escaped().as_ptr(), owner[6..].as_ptr());
    assert!(b.text(&owner).is_none());
}

#[test]
fn names_are_compared_by_meaning() {
    let is = |key: &'static [u8], name| Member { key, value: Raw::from_valid(b"1") }.is(name);
    assert!(is(br"a\u0062", "ab"));
    assert!(is(br"a\n", "a\n"));
    assert!(!is(br"a\n", r"a\n"));
    assert!(is(br"a\\n", r"a\n"));
    assert!(!is(b"ab", "abc"));
}

#[test]
fn whole_numbers() {
    let cases: &[(&str, Option<u64>)] = &[
        ("0", Some(0)),
        ("-0", Some(0)),
        ("-0.0e5", Some(0)),
        ("7", Some(7)),
        ("-7", None),
        ("1.0", Some(1)),
        ("1.5", None),
        ("1.50e1", Some(15)),
        ("1.55e1", None),
        ("1e2", Some(100)),
        ("100e-2", Some(1)),
        ("100e-3", None),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551615.000", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("1e19", Some(10_000_000_000_000_000_000)),
        ("1e20", None),
        ("0e999999999999999999999", Some(0)),
        ("1e999999999999999999999", None),
        ("\"1\"", None),
        ("null", None),
        ("+1", None),
        ("e1", None),
    ];
    for (text, value) in cases {
        assert_eq!(Raw::from_valid(text.as_bytes()).u64(), *value, "{text}");
    }
    let f64 = |text: &'static str| Raw::from_valid(text.as_bytes()).f64();
    assert_eq!((f64("-1.5e2"), f64("1e999"), f64("true"), f64("inf")), (Some(-150.0), None, None, None));
}

#[test]
fn unescapes() {
    let cases: &[(&str, &str)] = &[
        ("", ""),
        ("plain \u{65e5}", "plain \u{65e5}"),
        (r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r"a\u00e9\u00E9b", "a\u{e9}\u{e9}b"),
        (r"\ud83d\ude00", "\u{1f600}"),
        (r"\ud869\udea5", "\u{2a6a5}"),
        (r"\ud800\udc00\udbff\udfff", "\u{10000}\u{10ffff}"),
        (r"\ud800", "\u{fffd}"),
        (r"\ud800x\udc00", "\u{fffd}x\u{fffd}"),
        (r"\ud800\ud83d\ude00", "\u{fffd}\u{1f600}"),
        (r"\ud800\n", "\u{fffd}\n"),
        // not valid, yet read without harm
        (r"a\", "a\u{fffd}"),
        (r"\x", "\u{fffd}x"),
        (r"\u12", "\u{fffd}u12"),
        ("\\\u{e9}", "\u{fffd}\u{e9}"),
    ];
    for (escaped, plain) in cases {
        assert_eq!(unescape(escaped.as_bytes()), *plain, "{escaped}");
        let mut again = Vec::new();
        escape(plain, &mut again);
        assert_eq!(unescape(&again), *plain);
        Raw::parse(&[b"\"", &again[..], b"\""].concat()).unwrap();
    }
    assert_eq!(unescape(b"\xff\\n"), "\u{fffd}\n");
    assert_eq!(unescape(b"\xff"), "\u{fffd}");
}

#[test]
fn a_value_that_is_written_into_an_event_has_one_line() {
    let value = b"{\n  \"a\\n\": [\r\n1]\n}";
    let mut writer = Writer::append_to(b"data: ".to_vec());
    writer.raw(value);
    assert_eq!(writer.finish(), br#"data: {   "a\n": [  1] }"#);
    let mut writer = Writer::with_capacity(0);
    writer.raw(value);
    assert_eq!(writer.finish(), value);
}

#[test]
fn writes_with_commas() {
    let mut writer = Writer::append_to(b"data: ".to_vec());
    writer.begin_object();
    writer.key("a\"");
    writer.begin_array();
    writer.u64(1);
    writer.string("x\u{1}\n[");
    writer.begin_object();
    writer.end_object();
    writer.null();
    writer.end_array();
    writer.key_escaped(br"b\n");
    writer.texts([&"p".into(), &"q\t".into()]);
    writer.key("c");
    writer.bool(false);
    writer.end_object();
    let text = String::from_utf8(writer.finish()).unwrap();
    assert_eq!(text, r#"data: {"a\"":[1,"x\u0001\n[",{},null],"b\n":"pq\t","c":false}"#);
}

#[test]
fn an_outline_misses_no_cut() {
    let whole = r#" {"a":[1,{"b":"}\""}],"c":null,"d":"x","usage":{"n":-1.5e3}} "#;
    let usage = Raw::outline(whole.as_bytes(), "usage").unwrap().unwrap();
    assert_eq!(usage.bytes(), br#"{"n":-1.5e3}"#);
    let last = whole.trim_end().len();
    for cut in 0..last {
        assert_eq!(Raw::outline(&whole.as_bytes()[..cut], "usage"), Err(Incomplete), "{}", &whole[..cut]);
    }
    for wrong in ["", "[]", "null", "<html>{}</html>", "{}{}", "{\"a\":1}}", "{\"a\" 1}"] {
        assert_eq!(Raw::outline(wrong.as_bytes(), "a"), Err(Incomplete), "{wrong}");
    }
    assert_eq!(Raw::outline(b"{}", "a"), Ok(None));
}
