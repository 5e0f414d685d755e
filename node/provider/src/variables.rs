//! Variables of a row: what stands for `{name}` in its URL and paths.

use crate::Row;
use std::collections::{BTreeMap, BTreeSet};

/// Stands for the name of the model, which only a request knows.
const MODEL: &str = "model";
/// Longest name and value, in bytes.
const NAME_BYTES_MAX: usize = 32;
const VALUE_BYTES_MAX: usize = 128;

/// The row with its variables put in. What is wrong is told as `variables.NAME: what, and how to mend it`.
pub(crate) fn expand(mut row: Row, problems: &mut Vec<String>) -> Row {
    let found = problems.len();
    let host_end = row.base_url.find("://").map_or(0, |at| at + 3);
    let host_end = row.base_url[host_end..].find('/').map_or(row.base_url.len(), |at| host_end + at);
    let in_host: BTreeSet<&str> = names(&row.base_url[..host_end]).collect();
    let everywhere = || std::iter::once(&row.base_url).chain(row.endpoints.0.values());
    let used: BTreeSet<&str> = everywhere().flat_map(|text| names(text)).collect();
    for (name, value) in &row.variables {
        let wrong = match value.as_str() {
            _ if !is_name(name) => Some("is no name of a variable; use lower case letters, digits and `_`"),
            "" if !used.contains(name.as_str()) => None,
            "" => Some("is missing; set it"),
            value if in_host.contains(name.as_str()) => cannot_be_in_host(value),
            value => cannot_be_in_path(value),
        };
        problems.extend(wrong.map(|why| format!("variables.{name}: {why}")));
    }
    for name in used.into_iter().filter(|name| *name != MODEL && !row.variables.contains_key(*name)) {
        problems.push(format!("variables.{name}: is missing; set it"));
    }
    if problems.len() == found {
        row.base_url = filled(&row.base_url, &row.variables);
        row.endpoints.0.values_mut().for_each(|path| *path = filled(path, &row.variables));
    }
    row
}

/// Whether a text of the row refers to a variable.
pub(crate) fn is_used(row: &Row, name: &str) -> bool {
    std::iter::once(&row.base_url).chain(row.endpoints.0.values()).any(|text| names(text).any(|n| n == name))
}

/// The names between braces; what is no name is left for those who read URLs.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let inside = text.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name));
    inside.filter(|name| is_name(name))
}

fn is_name(name: &str) -> bool {
    let fine = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.bytes().all(fine)
}

fn cannot_be_in_host(value: &str) -> Option<&'static str> {
    let fine = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    let label =
        value.len() <= 63 && value.bytes().all(fine) && !value.starts_with('-') && !value.ends_with('-');
    (!label).then_some("stands in a host name: use letters, digits and `-`, at most 63")
}

fn cannot_be_in_path(value: &str) -> Option<&'static str> {
    let fine = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~' | b':');
    let segment = value.len() <= VALUE_BYTES_MAX && value.bytes().all(fine) && !matches!(value, "." | "..");
    (!segment).then_some("stands in a path: use letters, digits, `-`, `.`, `_`, `~` and `:`, at most 128")
}

/// Each value is put in once: what it holds is not looked at again, and no value has a brace.
fn filled(text: &str, variables: &BTreeMap<String, String>) -> String {
    variables.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endpoints, Operation};

    fn row(base_url: &str, path: &str, variables: &[(&str, &str)]) -> Row {
        Row {
            endpoints: Endpoints([(Operation::Chat, path.to_owned())].into()),
            variables: variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..Row::new(base_url.to_owned(), Vec::new())
        }
    }

    #[test]
    fn variables_are_put_in() {
        let mut problems = Vec::new();
        let variables = [("region", "eu-west-1"), ("v", "2024-10-21"), ("unused", "")];
        let made =
            expand(row("https://a.{region}.b/{region}", "/{model}/x?v={v}", &variables), &mut problems);
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(made.base_url, "https://a.eu-west-1.b/eu-west-1");
        assert_eq!(made.endpoints.0[&Operation::Chat], "/{model}/x?v=2024-10-21");
    }

    #[test]
    fn bad_values_are_told_where_they_stand() {
        let check = |value: &str, in_host: bool, expected: &str| {
            let base = if in_host { "https://{x}.b" } else { "https://b/{x}" };
            let mut problems = Vec::new();
            expand(row(base, "", &[("x", value)]), &mut problems);
            let told = problems.first().map_or("", |told| told.split(';').next().unwrap_or_default());
            assert_eq!(told, expected, "{value}");
        };
        let host = "variables.x: stands in a host name: use letters, digits and `-`, at most 63";
        let path =
            "variables.x: stands in a path: use letters, digits, `-`, `.`, `_`, `~` and `:`, at most 128";
        for value in ["a.b", "a/b", "a@b", "a#", "-a", "a-", "a:1", "a_b", "{x}", "é", " a"] {
            check(value, true, host);
        }
        for value in ["a/b", "..", ".", "a?b", "a#b", "a%2f", "{model}", "a b", &"x".repeat(129)] {
            check(value, false, path);
        }
        for value in ["example.com:project-1", "2024-05-01-preview"] {
            check(value, false, "");
        }
        check("", true, "variables.x: is missing");
        check("eu-west-1", true, "");
    }

    #[test]
    fn names_without_a_value_are_missing() {
        let mut problems = Vec::new();
        expand(row("https://{resource}.b", "/{model}?v={v}", &[("A", "b")]), &mut problems);
        assert_eq!(
            problems,
            [
                "variables.A: is no name of a variable; use lower case letters, digits and `_`",
                "variables.resource: is missing; set it",
                "variables.v: is missing; set it",
            ]
        );
    }
}
