//! Forms as clients write them, and as nobody should.

use super::{Error, Form, Scanner, is_early, is_form};
use crate::{Quirks, Target, ir::Json};
use bytes::Bytes;

const TYPE: &[u8] = b"multipart/form-data; boundary=b0";

fn scan(content_type: &[u8], body: &[u8], piece: usize) -> Result<Scanner, Error> {
    let mut scanner = Scanner::new(content_type)?;
    body.chunks(piece).try_for_each(|piece| scanner.feed(piece))?;
    scanner.finish()?;
    Ok(scanner)
}

/// Name, content and whether it is a file, of each part; the same in any pieces.
fn parts(body: &str) -> Result<Vec<(String, String, bool)>, Error> {
    let read = |piece| {
        let scanner = scan(TYPE, body.as_bytes(), piece)?;
        let of = |part: &super::Part| {
            let content = &body[part.content as usize..part.end.unwrap() as usize];
            assert!(body[part.begin as usize..].starts_with("--b0"));
            (part.name.to_string(), content.to_owned(), part.file)
        };
        Ok(scanner.parts().iter().map(of).collect())
    };
    let whole = read(usize::MAX);
    for piece in [1, 2, 3, 5, 7, 16] {
        assert_eq!(read(piece), whole, "{body:?} in pieces of {piece}");
    }
    whole
}

fn part(head: &str, content: &str) -> String {
    format!("--b0\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n")
}

fn good(body: &str, expected: &[(&str, &str, bool)]) {
    let expected = expected.iter().map(|(name, text, file)| ((*name).to_owned(), (*text).to_owned(), *file));
    assert_eq!(parts(body), Ok(expected.collect()), "{body:?}");
}

#[test]
fn forms_are_read_as_they_are_written() {
    let (model, file) =
        (part("name=\"model\"", "whisper-1"), part("name=\"file\"; filename=\"a.wav\"", "RIFF"));
    let both = [("model", "whisper-1", false), ("file", "RIFF", true)];
    good(&format!("{model}{file}--b0--\r\n"), &both);
    good(&format!("{model}{file}--b0--"), &both);
    good(&format!("a preamble --b0\r\n{model}{file}--b0-- \t\r\nan epilogue"), &both);
    good(&format!("{}{file}--b0--", model.replacen("--b0", "--b0 \t ", 1)), &both);
    good(&format!("\r\n{model}{file}--b0--"), &both);
    good("--b0--\r\n", &[]);
    for head in [
        "name=model",
        "NAME=\"model\"",
        "name=\"model\" ; x=y",
        "name=\"model\";",
        "x=\";name=file\"; name=\"model\"",
        "name=\"model\"\r\nContent-Type: text/plain; charset=utf-8\r\nX:",
        "name=\"model\"\r\ncontent-transfer-encoding: Binary",
    ] {
        good(&format!("{}--b0--", part(head, "")), &[("model", "", false)]);
    }
    let case =
        part("name=f", "x").replace("Content-Disposition", "CONTENT-disposition").replace("form", "Form");
    good(&format!("{case}--b0--"), &[("f", "x", false)]);
    for head in [
        "name=f; filename=\"a \\\"quoted\\\" one\"",
        "name=f; filename=\"C:\\dir\\file\"",
        "name=f; filename=\"a\\\\\"",
        "filename*=UTF-8''%e2%82%ac; name=f",
        "name=f; filename=",
        "filename=x; name=f",
    ] {
        good(&format!("{}--b0--", part(head, "x")), &[("f", "x", true)]);
    }
}

#[test]
fn what_only_looks_like_a_boundary_is_content() {
    for content in [
        "--b0",
        "x--b0\r\n",
        "\r\n",
        "\r\n\r\n--b",
        "\r\n--b1",
        "\r\n-b0\r",
        "--b0--\r\n\r\n--",
        "a\r\n--B0\r\n",
    ] {
        let content = format!("_{content}");
        good(&format!("{}--b0--", part("name=f", &content)), &[("f", &content, false)]);
    }
}

#[test]
fn what_two_readers_could_read_in_two_ways_is_refused() {
    let check = |body: String, error: Error| assert_eq!(parts(&body), Err(error), "{body:?}");
    let whole = part("name=f", "x");
    check(String::new(), Error::Unended);
    check(whole.clone(), Error::Unended);
    check(format!("{whole}--b0"), Error::Unended);
    check(format!("{whole}--b0-"), Error::Unended);
    check(format!("{whole}--b0--\r\n{whole}--b0--"), Error::BehindEnd);
    check(format!("{whole}--b0--x"), Error::BoundaryInside);
    for content in ["\r\n--b0x", "\n--b0\r\n", "\r--b0\r\n", "\r\n--b0 x", "\r\n--b0\n"] {
        check(format!("{}--b0--", part("name=f", &format!("_{content}"))), Error::BoundaryInside);
    }
    for head in [
        "name*=UTF-8''model",
        "name=a; name=b",
        "name=\"a\"; Name=b",
        "x=y",
        "name=\"\"",
        "name=\"a\\\"b\"",
        "name=\"a",
        "name=\"a\"b",
        "name a",
        "filename=\"\\\"; name=model; x=\"; name=f",
        "name=a\r\nContent-Disposition: form-data; name=b",
        "name=a\r\n folded",
        "name=a\r\nno header",
        "name=a\r\nspaced : x",
        "name=a\nx: y",
        "name=a\r\nContent-Transfer-Encoding: base64",
    ] {
        let refused = parts(&format!("{}--b0--", part(head, "x")));
        assert!(matches!(refused, Err(Error::Head(_))), "{head}: {refused:?}");
    }
    for text in [
        "--b0\r\n\r\nx\r\n--b0--",
        "--b0\r\nX: y\r\n\r\nx\r\n--b0--",
        "--b0\r\nContent-Disposition: file; name=f\r\n\r\n\r\n--b0--",
        "--b0\r\nContent-Disposition: form-data; name=f\r\n\r\n--b0--",
    ] {
        assert!(matches!(parts(text), Err(Error::Head(_))), "{text}: {:?}", parts(text));
    }
    check(part(&format!("name={}", "x".repeat(9000)), ""), Error::HeadTooLarge);
    check(format!("--b0{}\r\n", " ".repeat(65)), Error::BoundaryInside);
    check(whole.repeat(257), Error::TooManyParts);
}

#[test]
fn boundaries_come_from_the_header() {
    for (content_type, boundary) in [
        ("multipart/form-data; boundary=b0", Some("b0")),
        ("Multipart/Form-Data ;charset=utf-8; BOUNDARY=\"b 0\"", Some("b 0")),
        ("multipart/form-data; boundary=----WebKitFormBoundary/+=?:", Some("----WebKitFormBoundary/+=?:")),
        ("multipart/form-data", None),
        ("multipart/form-data; boundary=", None),
        ("multipart/form-data; boundary=a; boundary=a", None),
        ("multipart/form-data; boundary*=a", None),
        ("multipart/form-data; boundary=\"a \"", None),
        ("multipart/form-data; boundary=\"a\\\"\"", None),
        ("multipart/form-data; boundary=\u{e9}", None),
    ] {
        assert!(is_form(content_type.as_bytes()), "{content_type}");
        let body = format!("--{}--", boundary.unwrap_or("b0"));
        let scanned = scan(content_type.as_bytes(), body.as_bytes(), 1).map(|_| ());
        assert_eq!(scanned, if boundary.is_some() { Ok(()) } else { Err(Error::Boundary) }, "{content_type}");
    }
    assert!(scan(format!("a; boundary={}", "x".repeat(71)).as_bytes(), b"", 1).is_err());
    assert!(
        !is_form(b"multipart/form-database; boundary=b0") && !is_form(b"application/json") && !is_form(b"")
    );
}

fn form(body: &str) -> Form {
    let mut scanner = Scanner::new(TYPE).unwrap();
    scanner.feed(body.as_bytes()).unwrap();
    Form::new(Bytes::copy_from_slice(body.as_bytes()), &scanner)
}

#[test]
fn fields_are_text_and_stand_once() {
    let form = form(&format!(
        "{}{}{}{}{}--b0--",
        part("name=model", "m"),
        part("name=\"fallbacks[]\"", "a"),
        part("name=\"fallbacks[]\"", "b"),
        part("name=twice", "1") + &part("name=twice", "2"),
        part("name=stream; filename=x", "true"),
    ));
    assert_eq!(form.field("model").unwrap(), Some("m"));
    assert_eq!(form.field("none").unwrap(), None);
    assert_eq!(form.list("fallbacks").unwrap(), Some(vec!["a", "b"]));
    assert!(form.list("none").unwrap().is_none());
    assert!(form.field("twice").unwrap_err().message.contains("two parts `twice`"));
    assert!(form.field("stream").unwrap_err().message.contains("must be a field"));
}

#[test]
fn only_what_must_change_is_changed() {
    let params = [
        ("temperature".to_owned(), Json::from_valid("0.5".into())),
        ("list".to_owned(), Json::from_valid(r#"["a","b"]"#.into())),
        ("object".to_owned(), Json::from_valid(r#"{"type":"x","n":[1,null,true]}"#.into())),
        ("gone".to_owned(), Json::from_valid("null".into())),
    ];
    let quirks = Quirks::default();
    let target =
        |params| Target { model: "theirs", quirks: &quirks, params, wants_max_completion_tokens: false };
    let edited = |body: &str, params| -> String {
        let pieces = form(body).edit(&target(params)).unwrap();
        String::from_utf8(pieces.concat()).unwrap()
    };
    let file = part("name=\"file\"; filename=\"a\"\r\nContent-Type: audio/wav", "\0\r\n-");
    let (ours, theirs) = (part("name=\"model\"", "ours"), part("name=\"model\"", "theirs"));
    let fallbacks = part("name=fallbacks", "a") + &part("name=\"fallbacks[]\"", "b");
    let whole = |model: &str, more: &str| format!("pre\r\n{file}{more}{model}--b0--\r\nepilogue");
    assert_eq!(edited(&whole(&ours, ""), &[]), whole(&theirs, ""));
    assert_eq!(edited(&whole(&ours, &fallbacks), &[]), whole(&theirs, ""));
    // What the path names is told as well.
    assert_eq!(edited(&whole("", ""), &[]), whole("", "").replacen("--b0", &format!("{theirs}--b0"), 1));
    let old = part("name=temperature", "1") + &part("name=\"list[]\"", "z") + &part("name=gone", "x");
    let set = part("name=\"temperature\"", "0.5")
        + &part("name=\"list[]\"", "a")
        + &part("name=\"list[]\"", "b")
        + &part("name=\"object[type]\"", "x")
        + &part("name=\"object[n][]\"", "1")
        + &part("name=\"object[n][]\"", "true");
    let expected = whole(&theirs, "").replacen("--b0", &format!("{set}--b0"), 1);
    assert_eq!(edited(&whole(&ours, &old), &params), expected);
    // A beginning alone, cut inside of a file.
    let open = format!("{ours}--b0\r\nContent-Disposition: form-data; name=f; filename=x\r\n\r\nabc");
    assert_eq!(edited(&open, &[]), open.replace("ours", "theirs"));
    // The boundary must not come in by the values of others.
    let smuggled = [("x".to_owned(), Json::from_valid(r#""a\r\n--b0""#.into()))];
    assert!(form(&ours).edit(&target(&smuggled)).is_err());
    for (name, early) in [
        ("model", true),
        ("fallbacks[]", true),
        ("list[]", true),
        ("list", true),
        ("listed", false),
        ("file", false),
    ] {
        assert_eq!(is_early(name, &params), early, "{name}");
    }
}
