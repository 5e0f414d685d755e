//! The catalogue of metrics in docs/metrics.md, and what a node serves.

use std::{collections::BTreeSet, fs, path::Path};

/// `name type` of each row of the page, or of the part below one of its headings.
pub(crate) fn written(heading: Option<&str>) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/metrics.md");
    let page = fs::read_to_string(path).expect("docs/metrics.md");
    let part = heading.map_or(Some(&*page), |heading| {
        let (_, rest) = page.split_once(&format!("\n## {heading}\n"))?;
        rest.split("\n## ").next()
    });
    let rows = part.expect("the heading").lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split("` | ");
        Some(format!("{} {}", cells.next()?, cells.next()?.split(' ').next()?))
    });
    rows.collect()
}

/// The same of an answer to `GET /metrics`.
pub(crate) fn served(answer: &str) -> BTreeSet<String> {
    let families: Vec<_> = answer.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let served: BTreeSet<_> = families.iter().map(|family| (*family).to_owned()).collect();
    assert!(served.len() > 5, "no metrics:\n{answer}");
    assert_eq!(served.len(), families.len(), "a family is there twice:\n{answer}");
    served
}

/// All that is served is in the page.
pub(crate) fn has_all_of(answer: &str) {
    let (served, written) = (served(answer), written(None));
    let missing: Vec<_> = served.difference(&written).collect();
    assert!(missing.is_empty(), "metrics.md lacks {missing:?}");
}
