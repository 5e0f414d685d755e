//! Headers that Bifrost wants to see.

use crate::import::{
    members::{Members, text},
    report::Report,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// Headers that requests must have, as our keys name them.
#[derive(Debug, Clone, Default)]
pub(super) struct Required {
    pub(super) headers: BTreeMap<String, String>,
    /// Some of them cannot be said, so nobody may be let through by them.
    pub(super) broken: bool,
}

/// Reads `required_headers`: names alone, or each with `*`, a text, or what has no equivalent.
pub(super) fn read(members: &mut Members, report: &mut Report) -> Required {
    let (at, mut made) = (members.at("required_headers"), Required::default());
    match members.take("required_headers") {
        None => {}
        Some(Value::Array(names)) => {
            for (index, name) in names.into_iter().enumerate() {
                made.headers.extend(text(name, &at.item(index), report).map(|name| (name, "*".to_owned())));
            }
        }
        Some(other) => {
            let Some(headers) = Members::new(other, at, report) else { return made };
            for (name, place, value) in headers.entries() {
                let Some(wanted) = text(value, &place, report) else { continue };
                if wanted == "*" || is_plain(&wanted) {
                    made.headers.insert(name, wanted);
                } else {
                    made.broken = true;
                    report.note(
                        &place,
                        "is a reference or a regular expression, which has no equivalent: write `*` for any value, or the value itself, into `required_headers` of keys",
                    );
                }
            }
        }
    }
    made
}

/// Whether an expression fits itself alone.
fn is_plain(expression: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | ':' | ',' | ';' | '=');
    !expression.is_empty() && expression.chars().all(plain)
}
