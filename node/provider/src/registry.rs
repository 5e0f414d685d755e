//! The vendors that ship with the binary.

use crate::Row;
use std::{collections::BTreeMap, sync::LazyLock};

const LISTED: &str = include_str!("listed.toml");

/// The rows of `listed.toml` by name.
pub fn listed() -> &'static BTreeMap<String, Row> {
    // A test reads the file, so the default is never taken.
    static ROWS: LazyLock<BTreeMap<String, Row>> =
        LazyLock::new(|| toml::from_str(LISTED).unwrap_or_default());
    &ROWS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Listed;

    #[test]
    fn every_listed_row_is_valid() {
        let rows: BTreeMap<String, Row> = toml::from_str(LISTED).unwrap();
        assert!(rows.len() >= 25, "{}", rows.len());
        assert_eq!(listed().len(), rows.len());
        for (name, row) in rows {
            let fine = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
            assert!(fine, "{name}");
            assert_eq!(row.env.is_empty(), row.base_url.starts_with("http://127.0.0.1:"), "{name}");
            let beta = row.forward_headers.iter().any(|h| h == "anthropic-beta");
            assert_eq!(beta, name == "anthropic", "{name}");
            Listed::new(row).unwrap_or_else(|problems| panic!("{name}: {problems:?}"));
        }
    }
}
