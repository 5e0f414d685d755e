//! What becomes of the files of others.

use super::{Imported, bifrost, litellm};
use crate::{
    Problems, Secrets, compile, dump,
    parse::{self, parse},
};
use serde_json::{Value, json};

const BIFROST: &str = include_str!("../../fixtures/import/bifrost.json");
const LITELLM: &str = include_str!("../../fixtures/import/litellm.yaml");

type Import = fn(&str) -> Result<Imported, Problems>;

/// Every variable is set, each to something else.
struct AllSet;

impl Secrets for AllSet {
    fn env(&self, name: &str) -> Result<String, String> {
        Ok(if name.ends_with("_CA") { "-----BEGIN CERTIFICATE-----".into() } else { format!("value-{name}") })
    }

    fn file(&self, path: &str) -> Result<String, String> {
        Err(format!("{path} cannot be read"))
    }

    fn sealed(&self, _: &str) -> Result<String, String> {
        Err("there is nothing sealed in their files".to_owned())
    }
}

/// The document as it is written, after the checks that hold for every import.
fn written(imported: &Imported) -> Value {
    let value = dump(&imported.document).unwrap();
    let read = parse(&value.to_string()).unwrap();
    assert_eq!(read, imported.document, "{value:#}");
    if let Err(problems) = compile(&read, 1, &AllSet) {
        panic!("{problems}\n{value:#}");
    }
    value
}

fn notes(imported: &Imported) -> Vec<String> {
    imported.notes.iter().map(ToString::to_string).collect()
}

fn check(import: Import, text: &str, expected: Value, paths: &[&str]) {
    let imported = import(text).unwrap_or_else(|problems| panic!("{text}: {problems}"));
    assert_eq!(written(&imported), expected, "{text}");
    let found: Vec<_> = imported.notes.iter().map(|note| note.path.as_str()).collect();
    assert_eq!(found, paths, "{text}\n{}", notes(&imported).join("\n"));
}

fn refused(import: Import, text: &str, expected: &[&str]) {
    let problems = import(text).unwrap_err().0;
    let found: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(found, expected, "{text}");
}

mod files;
mod small;
