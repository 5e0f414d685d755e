//! What must hold for any bytes as a form: the same parts in any pieces, those that a plain split finds, and edits that
//! change what they should and nothing else.
#![allow(clippy::expect_used)] // a panic here is a failed check

use bytes::Bytes;
use trestle_dialect::{
    Quirks, Target,
    ir::Json,
    multipart::{Error, Form, Part, Scanner},
};

const TYPE: &[u8] = b"multipart/form-data; boundary=b0";
/// Behind the last byte of this value stand the sizes of the pieces.
const SIZES_MARK: u8 = 0xff;

/// Checks a form, and sizes of pieces behind it, which are taken in turn; one byte each if there are none.
pub(crate) fn check(data: &[u8]) {
    let mark = data.iter().rposition(|&byte| byte == SIZES_MARK);
    let (body, sizes) = mark.map_or((data, &[1][..]), |at| (&data[..at], &data[at + 1..]));
    let whole = scan(body, &[usize::MAX]);
    let pieces: Vec<_> = sizes.iter().map(|&size| usize::from(size).max(1)).collect();
    let cut = scan(body, if pieces.is_empty() { &[1] } else { &pieces });
    match (&whole, &cut) {
        (Ok(whole), Ok(cut)) => assert_eq!(whole.parts(), cut.parts()),
        (whole, cut) => assert_eq!(whole.as_ref().err(), cut.as_ref().err()),
    }
    let Ok(scanner) = whole else { return };
    let found: Vec<_> = scanner.parts().iter().map(|part| content(body, part)).collect();
    assert_eq!(found, split(body));
    edits(body, &scanner);
}

fn scan(body: &[u8], sizes: &[usize]) -> Result<Scanner, Error> {
    let mut scanner = Scanner::new(TYPE).expect("a good type");
    let (mut rest, mut sizes) = (body, sizes.iter().cycle());
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(rest.len().min(sizes.next().copied().unwrap_or(1)));
        scanner.feed(piece)?;
        rest = behind;
    }
    scanner.finish()?;
    Ok(scanner)
}

fn content<'b>(body: &'b [u8], part: &Part) -> &'b [u8] {
    &body[part.content as usize..part.end.expect("the form is whole") as usize]
}

/// The contents between the boundaries, by the letter of the grammar.
fn split(body: &[u8]) -> Vec<&[u8]> {
    let find = |from: usize, what: &[u8]| {
        (from..body.len()).find(|&at| body[at..].starts_with(what)).map(|at| (at, at + what.len()))
    };
    let mut parts = Vec::new();
    let mut at = if body.starts_with(b"--b0") { 4 } else { find(0, b"\r\n--b0").expect("a boundary").1 };
    while !body[at..].starts_with(b"--") {
        let (_, content) = find(at, b"\r\n\r\n").expect("a head");
        let (end, behind) = find(content, b"\r\n--b0").expect("a boundary");
        parts.push(&body[content..end]);
        at = behind;
    }
    parts
}

/// A target's model goes in, its params too, what is for us comes out, and all else is as it was.
fn edits(body: &[u8], scanner: &Scanner) {
    let (quirks, params) = (Quirks::default(), [("set".to_owned(), Json::from_valid("7".into()))]);
    let target =
        Target { model: "theirs", quirks: &quirks, params: &params, wants_max_completion_tokens: false };
    let form = Form::new(Bytes::copy_from_slice(body), scanner);
    let sent = form.edit(&target).expect("all that is put in is plain").concat();
    let again = scan(&sent, &[usize::MAX]).expect("still a form");
    let kept = |part: &&Part| {
        let of = |name: &str| {
            part.name.strip_prefix(name).is_some_and(|rest| matches!(rest.as_bytes(), [] | [b'[', ..]))
        };
        !of("fallbacks") && !of("set") && &*part.name != "model"
    };
    let rest = |body: &[u8], scanner: &Scanner| -> Vec<_> {
        scanner
            .parts()
            .iter()
            .filter(kept)
            .map(|part| (part.name.clone(), content(body, part).to_vec()))
            .collect()
    };
    assert_eq!(rest(&sent, &again), rest(body, scanner));
    if !scanner.parts().is_empty() {
        let models = again.parts().iter().filter(|part| &*part.name == "model");
        assert!(models.clone().count() > 0);
        models.for_each(|part| assert_eq!(content(&sent, part), b"theirs"));
        assert_eq!(again.parts().iter().filter(|part| &*part.name == "set").count(), 1);
    }
}
