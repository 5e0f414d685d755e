//! The reference pages hold what the program has: every member of the document, every metric, every kind of refusal.

#![allow(clippy::expect_used, clippy::panic)] // a panic is a failed test

#[path = "docs/catalogue.rs"]
mod catalogue;
#[path = "clients/node.rs"]
mod node;

use node::Node;
use std::{
    collections::BTreeSet,
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
};

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The part of a page below the heading that holds a text.
fn section<'a>(page: &'a str, heading: &str) -> Option<&'a str> {
    let starts = page.match_indices("\n#").map(|(at, _)| at + 1);
    let sections = starts.map(|at| {
        let rest = page.get(at..).unwrap_or_default();
        rest.split("\n#").next().unwrap_or_default()
    });
    sections.into_iter().find(|section| section.lines().next().is_some_and(|line| line.contains(heading)))
}

/// The names in the first column of the tables of a text.
fn rows(text: &str) -> BTreeSet<String> {
    let cells = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    cells.map(str::to_owned).collect()
}

#[test]
fn document_page_has_every_member_of_the_schema() {
    let schema: serde_json::Value = serde_json::from_str(&trestle_config::schema()).expect("a schema");
    let (page, catalog) = (page("document.md"), page("catalog.md"));
    let mut types = schema["$defs"].as_object().expect("definitions").clone();
    types.insert("Document".to_owned(), schema.clone());
    let mut seen = 0;
    for (name, definition) in &types {
        // Alternatives (`Auth`, `Fallback`) are told where they are used.
        let Some(members) =
            definition["properties"].as_object().filter(|_| definition.get("oneOf").is_none())
        else {
            continue;
        };
        let members: BTreeSet<String> = members.keys().cloned().collect();
        match section(&page, &format!("(`{name}`)")) {
            Some(section) => assert_eq!(rows(section), members, "the table of {name}"),
            // What is said of models has a page of its own.
            None => {
                let missing: Vec<_> =
                    members.iter().filter(|name| !catalog.contains(&format!("`{name}`"))).collect();
                assert!(
                    missing.is_empty(),
                    "neither document.md nor catalog.md tells of {name}: {missing:?}"
                );
            }
        }
        seen += members.len();
    }
    assert!(seen > 50, "the schema does not look as expected: {seen} members");
}

#[test]
fn architecture_page_names_what_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = page("ARCHITECTURE.md");
    let stages = section(&page, "One request").expect("the stages");
    let stages = rows(stages).into_iter().map(|file| format!("node/gateway/src/{file}"));
    let quoted = page.split('`').skip(1).step_by(2).map(str::to_owned);
    let paths = quoted.filter(|text| text.starts_with("node/") || text.starts_with("bench/")).chain(stages);
    let missing: Vec<_> = paths.filter(|path| !root.join(path).exists()).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names {missing:?}");
}

/// The words with which the pipeline calls what happened, as they stand in its source: `("word", Next::...)`.
fn causes() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("gateway/src");
    let files = fs::read_dir(&folder).expect("the pipeline").flatten().map(|entry| entry.path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let mut found = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(file).expect("a file");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let dense: String = code.chars().filter(|letter| !letter.is_whitespace()).collect();
        for (at, _) in dense.match_indices("\",Next::") {
            let word = dense.get(..at).and_then(|before| before.rsplit('"').next()).unwrap_or_default();
            found.insert(word.to_owned());
        }
    }
    found
}

#[test]
fn errors_page_has_every_kind_and_cause() {
    let page = page("errors.md");
    let written = rows(section(&page, "Causes").expect("the causes"));
    let mut causes = causes();
    assert!(causes.len() > 10, "the pipeline does not look as expected: {causes:?}");
    causes.remove("no_target");
    // Limits choose between two of their own.
    causes.extend(["budget_exceeded", "limit_reached"].map(str::to_owned));
    assert_eq!(written, causes);
    let kinds = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("dialect/src/failure.rs"));
    let kinds = kinds.expect("the kinds");
    let names = kinds.split("fn name").nth(1).and_then(|rest| rest.split("\n    }\n").next());
    let names: BTreeSet<_> =
        names.expect("their names").split('"').skip(1).step_by(2).map(str::to_owned).collect();
    assert_eq!(rows(section(&page, "Refusals").expect("the refusals")), names);
}

/// The answer to a plain request, head and body.
fn get(node: &Node, path: &str) -> String {
    let address = node.url().trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).expect("a connection");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn metrics_page_has_every_metric() {
    let node = Node::serve("settings: { require_keys: false }\n", &[]);
    get(&node, "/v1/models");
    catalogue::has_all_of(&get(&node, "/metrics"));
    // Some families are there only once they count something; their names stand in the source.
    let sources: String = ["src/metric", "src/cluster", "gateway/src/metrics", "../cluster/src"]
        .iter()
        .flat_map(|folder| {
            fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).expect("a folder")
        })
        .filter_map(|entry| fs::read_to_string(entry.expect("a file").path()).ok())
        .collect();
    let written = catalogue::written(None);
    let stale: Vec<_> = written
        .iter()
        .filter(|row| !sources.contains(&format!("\"{}\"", row.split(' ').next().unwrap_or_default())))
        .collect();
    assert!(stale.is_empty(), "metrics.md has {stale:?}, which nobody counts");
}

#[test]
fn documents_in_the_pages_are_valid() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut seen = 0;
    for name in ["../README.md", "document.md", "providers.md"] {
        for text in page(name).split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            let path = folder.path().join("gateway.yaml");
            fs::write(&path, text).expect("written");
            let checked = Command::new(env!("CARGO_BIN_EXE_trestle")).arg("check").arg(&path).output();
            let checked = checked.expect("trestle check");
            assert!(checked.status.success(), "{name}: {}", String::from_utf8_lossy(&checked.stderr));
            seen += 1;
        }
    }
    assert_eq!(seen, 8, "the pages do not look as expected");
}

#[test]
fn decisions_are_numbered() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/decisions");
    let files = fs::read_dir(folder).expect("the decisions").flatten();
    let mut pages: Vec<_> = files.map(|file| (file.file_name(), file.path())).collect();
    pages.sort();
    assert!(pages.len() > 5, "no decisions");
    for (number, (name, path)) in (1..).zip(pages) {
        let name = name.to_string_lossy();
        assert!(name.starts_with(&format!("{number:04}-")), "{name} should be number {number}");
        let text = fs::read_to_string(path).expect("a page");
        assert!(text.starts_with(&format!("# {number}. ")), "the heading of {name}");
    }
}
