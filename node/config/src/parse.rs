//! Text to document: YAML, JSON or TOML, with every structural problem at once.

use crate::{Document, Problems};

/// Reads YAML (and so JSON). Unknown members, wrong types, duplicate keys: all problems at once, each with its path
/// and, for misspelt members, the one that was meant.
#[allow(unused_variables, clippy::unimplemented)]
pub fn parse(text: &str) -> Result<Document, Problems> {
    unimplemented!()
}

/// The JSON Schema of the document, pretty-printed.
#[allow(clippy::unimplemented)]
pub fn schema() -> String {
    unimplemented!()
}
