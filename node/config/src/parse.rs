//! Text to document: YAML (and so JSON), with every structural problem at once.

use crate::{
    Document, Problem, Problems,
    path::Path,
    structure::{self, Fault},
};
use serde_json::Value;
use serde_saphyr::{Error, MessageFormatter, UserMessageFormatter};
use std::sync::LazyLock;

/// Largest text of a document.
const TEXT_BYTES_MAX: usize = 64 << 20;

/// Reads YAML (and so JSON). Unknown members, wrong types, missing members, values that are none of those allowed: all
/// at once, each with its path and, for what is misspelt, what was meant. Syntax errors and duplicate keys come alone,
/// with line and column.
pub fn parse(text: &str) -> Result<Document, Problems> {
    let Read { value, faults } = read(text)?;
    if faults.is_empty() {
        return document(value);
    }
    Err(Problems(faults.into_iter().map(|fault| fault.problem).collect()))
}

/// A text that is YAML, and what is wrong with its form.
pub(crate) struct Read {
    pub(crate) value: Value,
    pub(crate) faults: Vec<Fault>,
}

/// Which words are true and false.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Booleans {
    /// `true` and `false` alone.
    Strict,
    /// Those of YAML 1.1 too: `True`, `yes`, `on`, and so on.
    Loose,
}

/// Reads YAML into a value and checks its form.
pub(crate) fn read(text: &str) -> Result<Read, Problems> {
    let value = value(text, Booleans::Strict)?;
    let faults = structure::check(document_schema(), &value);
    Ok(Read { value, faults })
}

/// Reads YAML into a value, whatever its form.
pub(crate) fn value(text: &str, booleans: Booleans) -> Result<Value, Problems> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(one(root(), format!("is larger than {TEXT_BYTES_MAX} bytes; make it smaller")));
    }
    let value: Value = serde_saphyr::from_str_with_options(text, options(booleans)).map_err(|error| {
        let place = error.location().filter(|place| place.line() > 0);
        let path = place.map_or_else(root, |at| format!("line {}, column {}", at.line(), at.column()));
        one(path, explain(&error))
    })?;
    if value.is_null() {
        return Err(one(root(), "is empty; write `{}` if nothing is to be set".to_owned()));
    }
    Ok(value)
}

/// A value of the right form as a document.
pub(crate) fn document(value: Value) -> Result<Document, Problems> {
    // What the schema lets through, serde takes too, so this error is of no one's making but ours.
    serde_json::from_value(value).map_err(|error| one(root(), format!("cannot be read: {error}")))
}

/// A document, as a value, written as YAML.
pub fn to_yaml(document: &Value) -> String {
    // A value has text for keys and finite numbers, so it can always be written.
    serde_saphyr::to_string(document).unwrap_or_default()
}

fn one(path: String, message: String) -> Problems {
    Problems(vec![Problem { path, message }])
}

fn root() -> String {
    Path::Root.to_string()
}

/// The JSON Schema of the document.
pub(crate) fn document_schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| schemars::schema_for!(Document).to_value());
    &SCHEMA
}

/// The JSON Schema (2020-12) of the document, pretty-printed.
pub fn schema() -> String {
    format!("{:#}", document_schema())
}

fn options(booleans: Booleans) -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            // Enough for the largest text; replayed aliases count too.
            max_events: 20_000_000,
            max_nodes: 10_000_000,
            max_recorded_anchor_events: 100_000,
            max_depth: 32,
            // One more than is taken, so that the second is refused in better words.
            max_documents: 2,
            enforce_alias_anchor_ratio: false,
        },
        strict_booleans: booleans == Booleans::Strict,
        reject_unsupported_tags: true,
        // A snippet could show a secret.
        with_snippet: false,
    }
}

fn explain(error: &Error) -> String {
    match error.without_snippet() {
        Error::AliasError { error, .. } => explain(error),
        Error::DuplicateMappingKey { key: Some(key), .. } => format!("`{key}` is there twice; remove one"),
        Error::MultipleDocuments { .. } => "begins a second document; put everything into one".to_owned(),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            "is too deep or expands to too much; use fewer aliases or less nesting".to_owned()
        }
        other => format!("is not YAML: {}", UserMessageFormatter.format_message(other)),
    }
}

#[cfg(test)]
mod tests;
