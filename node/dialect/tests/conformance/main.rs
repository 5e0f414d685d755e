//! Drives each feature through each pair of dialects and holds docs/conformance.md to what is seen.
//!
//! A feature is one request or answer in our representation. It is written in the dialect of one side by that dialect's
//! own codec, read again, written for the other side and read once more; what came of it is compared with what went
//! in. What is lost without being named fails the test.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[path = "../strategies/mod.rs"]
#[allow(dead_code)]
mod strategies;

mod answers;
mod asked;
mod drive;
mod embeddings;
mod said;

use drive::{Cell, Cells, answer, request, stream};
use std::{fmt::Write as _, fs, path::Path};
use trestle_dialect::Dialect;

const HEAD: &str = "# Conformance

What becomes of a feature on its way between the dialects, as seen by `cargo test -p trestle-dialect --test conformance`, which writes
this page with `CONFORMANCE=write` and fails where it is stale. No line of it is written by hand.

`=` arrives as it was; `~` arrives in other words or in another place; `d` is left out and named in `x-trestle-dropped` (with
`x-trestle-strict: true` the request is refused); `x` is refused before the first attempt, or goes to another target. Empty: the
client's dialect (in answers the provider's) cannot say it. Media by URL that a dialect cannot be told so are fetched by the gateway.
";

#[test]
fn the_matrix_is_what_is_seen() {
    let mut page = HEAD.to_owned();
    let mut lost = Vec::new();
    let mut part = |title: &str, from: &str, to: &str, rows: Vec<(&str, Cells)>| {
        write!(page, "\n## {title}\n\n| feature | {from} |").unwrap();
        Dialect::ALL.iter().for_each(|dialect| write!(page, " {to} {} |", dialect.name()).unwrap());
        page.push_str("\n|---|---|");
        page.push_str(&"---|".repeat(Dialect::ALL.len()));
        page.push('\n');
        for (feature, cells) in rows {
            for client in Dialect::ALL {
                let row: Vec<_> =
                    Dialect::ALL.iter().filter_map(|target| cells.get(&(client, *target))).collect();
                if row.is_empty() {
                    continue;
                }
                write!(page, "| {feature} | {} |", client.name()).unwrap();
                for target in Dialect::ALL {
                    let cell = &cells[&(client, target)];
                    if let Cell::Lost(what) = cell {
                        lost.push(format!(
                            "{title}: {feature}: {} to {}: {what}",
                            client.name(),
                            target.name()
                        ));
                    }
                    write!(page, " {} |", cell.mark()).unwrap();
                }
                page.push('\n');
            }
        }
    };
    part(
        "Requests",
        "client",
        "to",
        asked::features().iter().map(|feature| (feature.name, request(feature))).collect(),
    );
    part(
        "Answers",
        "provider",
        "for",
        answers::features().iter().map(|feature| (feature.name, answer(feature))).collect(),
    );
    part(
        "Streams",
        "provider",
        "for",
        answers::features()
            .iter()
            .filter(|feature| feature.name != "picture")
            .map(|feature| (feature.name, stream(feature)))
            .collect(),
    );
    embeddings::section(&mut page, &mut lost);
    assert!(lost.is_empty(), "lost in silence:\n{}", lost.join("\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
    if std::env::var_os("CONFORMANCE").is_some_and(|word| word == "write") {
        fs::write(&path, &page).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    let differs = page.lines().zip(known.lines()).find(|(seen, known)| seen != known);
    assert!(known == page, "docs/conformance.md is stale ({differs:?}): write it with CONFORMANCE=write");
}
