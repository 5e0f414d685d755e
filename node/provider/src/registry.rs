//! The vendors that ship with the binary.

use crate::{Listed, Provider, Row, coded};
use std::{collections::BTreeMap, sync::LazyLock};

/// Makes a vendor of its row.
type Make = fn(Row) -> Result<Box<dyn Provider>, Vec<String>>;

/// Vendors that need more than a row, by the row's `coded`.
const CODED: [(&str, Make); 2] = [("bedrock", coded::bedrock), ("vertex", coded::vertex)];

const LISTED: &str = include_str!("listed.toml");

/// The rows of `listed.toml` by name.
pub fn listed() -> &'static BTreeMap<String, Row> {
    // A test reads the file, so the default is never taken.
    static ROWS: LazyLock<BTreeMap<String, Row>> =
        LazyLock::new(|| toml::from_str(LISTED).unwrap_or_default());
    &ROWS
}

/// The vendor that a row describes, or all that is wrong with the row: `member: what is wrong, and how to mend it`.
pub fn provider(row: Row) -> Result<Box<dyn Provider>, Vec<String>> {
    let Some(coded) = &row.coded else { return Ok(Box::new(Listed::new(row)?)) };
    match CODED.iter().find(|(name, _)| name == coded) {
        Some((_, make)) => make(row),
        None => Err(vec![format!("coded: `{coded}` is not in the registry")]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cloud;

    #[test]
    fn every_listed_row_is_valid() {
        let rows: BTreeMap<String, Row> = toml::from_str(LISTED).unwrap();
        assert!(rows.len() >= 25, "{}", rows.len());
        assert_eq!(listed().len(), rows.len());
        for (name, row) in rows {
            let fine = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
            assert!(fine, "{name}");
            let keyless = row.base_url.starts_with("http://127.0.0.1:") || row.cloud == Some(Cloud::Google);
            assert_eq!(row.env.is_empty(), keyless, "{name}");
            let beta = row.forward_headers.iter().any(|h| h == "anthropic-beta");
            let takes_beta = ["anthropic", "azure-anthropic", "vertex-anthropic"].contains(&name.as_str());
            assert_eq!(beta, takes_beta, "{name}");
            let mut row = row;
            row.variables
                .values_mut()
                .filter(|value| value.is_empty())
                .for_each(|value| *value = "x".to_owned());
            provider(row).unwrap_or_else(|problems| panic!("{name}: {problems:?}"));
        }
    }
}
