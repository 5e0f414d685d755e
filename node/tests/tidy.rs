//! House rules as ordinary tests: the edges between our crates, the shape of the tree, manifests and files.

#[path = "tidy/house.rs"]
mod house;

use house::{House, code_of, joined};
use std::collections::{BTreeMap, BTreeSet};

/// Lines that a Rust file may have.
const LINES_MAX: usize = 600;

/// What each crate of ours may use. Tests may also use `bench`, for its mock upstream.
const EDGES: [(&str, &[&str]); 11] = [
    ("trestle-proto", &[]),
    ("trestle-cluster", &["trestle-counters", "trestle-proto"]),
    ("trestle-bench", &[]),
    ("trestle-counters", &[]),
    ("trestle-dialect", &[]),
    ("trestle-catalog", &[]),
    ("trestle-provider", &["trestle-dialect"]),
    ("trestle-config", &["trestle-catalog", "trestle-counters", "trestle-dialect", "trestle-provider"]),
    ("trestle-store", &[]),
    (
        "trestle-gateway",
        &[
            "trestle-catalog",
            "trestle-config",
            "trestle-counters",
            "trestle-dialect",
            "trestle-provider",
            "trestle-store",
        ],
    ),
    (
        "trestle",
        &[
            "trestle-cluster",
            "trestle-config",
            "trestle-counters",
            "trestle-dialect",
            "trestle-gateway",
            // For what nodes ask each other about lines and traces: the cluster knows neither.
            "trestle-proto",
            "trestle-provider",
            "trestle-store",
        ],
    ),
];

/// Crates whose exact version was chosen: what is on the disk or sealed on the wire, and what was found safe, depends on it.
const EXACT: [&str; 3] = ["chitchat", "openraft", "sled"];

/// The names that the top level may hold, beside dotfiles.
const TOP: [&str; 11] = [
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "bench",
    "charts",
    "cluster",
    "docs",
    "node",
    "proto",
    "terraform",
];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 5] = ["utils", "common", "helpers", "manager", "misc"];

/// The only files that may hold `unsafe`: the SIMD scanner, and the ledger's memory map.
const UNSAFE_UNDER: [&str; 2] = ["node/dialect/src/json/", "node/store/src/map.rs"];

/// Crates that would bring a second crypto backend.
const CRYPTO_BANNED: [&str; 7] =
    ["aws-lc-rs", "aws-lc-sys", "boring", "boring-sys", "native-tls", "openssl", "openssl-sys"];

#[test]
fn crates_use_only_what_they_may() {
    let mut broken = Vec::new();
    for package in House::packages() {
        let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == package.name.as_str()) else {
            broken.push(format!("{}: not in EDGES of tidy.rs; say there what it may use", package.name));
            continue;
        };
        for dependency in package.dependencies.iter().filter(|d| d.path.is_some()) {
            let name = dependency.name.as_str();
            let development = dependency.kind == cargo_metadata::DependencyKind::Development;
            let test_bed = development && name == "trestle-bench";
            if !allowed.contains(&name) && !test_bed {
                broken.push(format!("{} must not use {name}", package.name));
            }
        }
    }
    assert!(broken.is_empty(), "{}", joined(&broken));
}

#[test]
fn top_level_holds_only_known_names() {
    let house = House::read();
    let strange: BTreeSet<_> = house
        .paths()
        .filter_map(|path| path.split('/').next())
        .filter(|name| !name.starts_with('.') && !TOP.contains(name))
        .collect();
    assert!(strange.is_empty(), "unknown at the top level: {strange:?}");
}

#[test]
fn names_say_what_is_inside() {
    let house = House::read();
    let broken: Vec<_> = house
        .paths()
        .filter(|path| {
            path.split('/').any(|part| EMPTY_NAMES.contains(&part.split('.').next().unwrap_or(part)))
        })
        .collect();
    assert!(broken.is_empty(), "names that say nothing:\n{}", broken.join("\n"));
}

#[test]
fn rust_files_say_their_purpose_and_are_short() {
    let mut broken = Vec::new();
    for (path, text) in House::read().rust() {
        if !text.starts_with("//! ") {
            broken.push(format!("{path}: the first line must be `//!` and say the file's purpose"));
        }
        let lines = text.lines().count();
        if lines > LINES_MAX {
            broken.push(format!("{path}: {lines} lines, at most {LINES_MAX}; split it by purpose"));
        }
    }
    assert!(broken.is_empty(), "{}", joined(&broken));
}

#[test]
fn lib_and_mod_only_declare() {
    let mut broken = Vec::new();
    for (path, text) in House::read().rust() {
        if !path.contains("/src/") || !(path.ends_with("/lib.rs") || path.ends_with("/mod.rs")) {
            continue;
        }
        let code: Vec<_> = code_of(text).map(|(_, line)| line).filter(|line| !is_attribute(line)).collect();
        for statement in code.join(" ").split(';').map(str::trim).filter(|s| !s.is_empty()) {
            let words = statement.split_whitespace().filter(|word| !word.starts_with("pub"));
            let first = words.clone().next().unwrap_or_default();
            let inline = first == "mod" && statement.contains('{');
            if !["mod", "use"].contains(&first) || inline {
                let start: String = statement.chars().take(60).collect();
                broken.push(format!("{path}: only declarations and re-exports belong here, not `{start}`"));
                break;
            }
        }
    }
    assert!(broken.is_empty(), "{}", joined(&broken));
}

fn is_attribute(line: &str) -> bool {
    line.starts_with("#[") || line.starts_with("#![")
}

#[test]
fn unsafe_is_only_where_it_must_be() {
    let mut broken = Vec::new();
    for (path, text) in House::read().rust() {
        let lines: Vec<_> = text.lines().collect();
        for (number, line) in code_of(text) {
            if !has_word(line, "unsafe") {
                continue;
            }
            if !UNSAFE_UNDER.iter().any(|under| path.starts_with(under)) {
                broken.push(format!("{path}:{number}: `unsafe` outside of {UNSAFE_UNDER:?}"));
            }
            let near = lines.iter().take(number - 1).rev().take(4);
            let reason = near.clone().any(|above| above.contains("// SAFETY:") || above.contains("# Safety"));
            if !reason && line.contains("unsafe {") {
                broken.push(format!("{path}:{number}: `unsafe` without a `// SAFETY:` line above it"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", joined(&broken));
}

/// Whether a word stands in a line that is neither a lint's name nor text in quotes.
fn has_word(line: &str, word: &str) -> bool {
    let outside: String = line.split('"').step_by(2).collect();
    outside.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}

#[test]
fn versions_stand_in_the_root_manifest_alone() {
    let house = House::read();
    let mut broken = Vec::new();
    for (path, manifest) in house.manifests().filter(|(path, _)| *path != "Cargo.toml") {
        for (table, name, entry) in house::dependencies(&manifest) {
            if entry.get("workspace").and_then(toml::Value::as_bool) != Some(true) {
                broken.push(format!("{path}: [{table}] {name} must be `{name}.workspace = true`"));
            }
        }
    }
    for (name, version) in house.shared_versions() {
        if EXACT.contains(&name.as_str()) && version.starts_with('=') && version.split('.').count() == 3 {
            continue;
        }
        if version.split('.').count() != 2 || version.contains(['*', '^', '=', '<', '>']) {
            broken.push(format!("Cargo.toml: {name} = \"{version}\": pin the minor version, as in \"1.2\""));
        }
    }
    assert!(broken.is_empty(), "{}", joined(&broken));
}

#[test]
fn every_dependency_is_used() {
    let house = House::read();
    let mut users: BTreeMap<String, usize> = house.shared().into_iter().map(|name| (name, 0)).collect();
    let mut broken = Vec::new();
    for (path, manifest) in house.manifests().filter(|(path, _)| *path != "Cargo.toml") {
        let folder = path.trim_end_matches("Cargo.toml");
        let nested: Vec<_> = house.member_folders().filter(|f| f.len() > folder.len()).collect();
        let code: Vec<_> = house
            .rust()
            .filter(|(file, _)| file.starts_with(folder) && !nested.iter().any(|f| file.starts_with(f)))
            .flat_map(|(_, text)| code_of(text).map(|(_, line)| line))
            .collect();
        for (table, name, _) in house::dependencies(&manifest) {
            *users.entry(name.clone()).or_default() += 1;
            let ident = name.replace('-', "_");
            if !code.iter().any(|line| has_word(line, &ident)) {
                broken.push(format!("{path}: [{table}] {name} is used nowhere; remove it"));
            }
        }
    }
    for (name, count) in users {
        if count == 0 {
            broken.push(format!("Cargo.toml: {name} is used by no member; remove it"));
        }
    }
    assert!(broken.is_empty(), "{}", joined(&broken));
}

#[test]
fn ring_is_the_only_crypto_backend() {
    let lock = House::read().text("Cargo.lock");
    let packages: BTreeSet<_> =
        lock.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"')).collect();
    assert!(packages.contains("rustls"), "Cargo.lock does not look as expected");
    let found: Vec<_> = CRYPTO_BANNED.iter().filter(|name| packages.contains(**name)).collect();
    assert!(found.is_empty(), "Cargo.lock holds {found:?}");
}

#[test]
fn files_name_no_place_of_one_machine() {
    let places = ["ho\u{6d}e", "wor\u{6b}", "roo\u{74}"].map(|name| format!("/{name}/"));
    let mut broken = Vec::new();
    for (path, text) in House::read().files() {
        for (number, line) in text.lines().enumerate() {
            for place in places.iter().filter(|place| line.contains(place.as_str())) {
                broken.push(format!("{path}:{}: names {place}", number + 1));
            }
        }
    }
    assert!(broken.is_empty(), "{}", joined(&broken));
}

#[test]
fn links_in_the_docs_resolve() {
    let house = House::read();
    let mut broken = Vec::new();
    for (path, text) in house.files().filter(|(path, _)| path.ends_with(".md")) {
        for target in house::links(text) {
            if let Err(reason) = house.resolve(path, target) {
                broken.push(format!("{path}: ({target}): {reason}"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", joined(&broken));
}
