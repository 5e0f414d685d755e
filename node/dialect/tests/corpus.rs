//! Every file of the fuzz corpus holds what the fuzz targets check.
#![allow(clippy::unwrap_used)] // a panic here is a failed test
#![allow(clippy::duplicate_mod)] // each check is a file that stands alone in its fuzz target

use std::{fs, path::Path};

#[path = "../fuzz/checks/embed.rs"]
mod embed;
#[path = "../fuzz/checks/envelope.rs"]
mod envelope;
#[path = "../fuzz/checks/event_stream.rs"]
mod event_stream;
#[path = "../fuzz/checks/multipart.rs"]
mod multipart;
#[path = "../fuzz/checks/pick.rs"]
mod pick;
#[path = "../fuzz/checks/request.rs"]
mod request;
#[path = "../fuzz/checks/response.rs"]
mod response;
#[path = "../fuzz/checks/sse.rs"]
mod sse;
#[path = "../fuzz/checks/stream.rs"]
mod stream;

fn check(corpus: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(corpus);
    let mut count = 0;
    for file in fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        println!("{}", path.display());
        check(&fs::read(&path).unwrap());
        count += 1;
    }
    assert!(count >= 20, "{count} files in {}", folder.display());
}

#[test]
fn envelopes() {
    check("envelope", envelope::check);
}

#[test]
fn streams() {
    check("sse", sse::check);
}

#[test]
fn forms() {
    check("multipart", multipart::check);
}

#[test]
fn event_streams() {
    check("event_stream", event_stream::check);
}

#[test]
fn requests() {
    check("request", request::check);
}

#[test]
fn responses() {
    check("response", response::check);
}

#[test]
fn answers_in_streams() {
    check("stream", stream::check);
}

#[test]
fn fixtures_hold_it_too() {
    for dialect in trestle_dialect::Dialect::ALL {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(dialect.name());
        for file in fs::read_dir(&folder).unwrap() {
            let path = file.unwrap().path();
            let (name, body) = (path.to_str().unwrap(), fs::read(&path).unwrap());
            println!("{name}");
            let picked = |more: &[u8]| [&[pick::digit(dialect)], more, &body].concat();
            match name {
                _ if name.ends_with(".snap") => {}
                _ if name.ends_with(".request.json") => request::check(&picked(b"")),
                _ if name.ends_with(".response.json") => response::check(&picked(b"")),
                _ => [b"\x01\x01\x01", b"\x07\x40\x02", b"\xff\xff\xff"]
                    .iter()
                    .for_each(|sizes| stream::check(&picked(*sizes))),
            }
        }
    }
}

#[test]
fn embeddings() {
    check("embed", embed::check);
}
