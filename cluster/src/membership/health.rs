//! What a node has seen of routes: packed by others, opaque here.

use std::collections::BTreeMap;

/// Values of a node.
const VALUES_MAX: usize = 16;
const VALUE_BYTES_MAX: usize = 1024;
const PREFIX: &str = "health.";

/// More than a node may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a node may say {VALUES_MAX} values of {VALUE_BYTES_MAX} bytes of the health of its routes")]
pub struct HealthTooLarge;

/// Values that may be said.
pub(super) fn check(values: &[String]) -> Result<(), HealthTooLarge> {
    let fit = values.len() <= VALUES_MAX && values.iter().all(|value| value.len() <= VALUE_BYTES_MAX);
    if fit { Ok(()) } else { Err(HealthTooLarge) }
}

/// Keys and values. What is no longer said becomes empty: deleting would be remembered for longer.
pub(super) fn write(values: &[String], before: usize) -> Vec<(String, String)> {
    let count = values.len().max(before).min(VALUES_MAX);
    (0..count).map(|at| (format!("{PREFIX}{at:x}"), values.get(at).cloned().unwrap_or_default())).collect()
}

/// The values of a node, in their order, up to the last one that is not empty.
pub(super) fn read(values: &BTreeMap<&str, &str>) -> Vec<String> {
    let mut read: Vec<String> = (0..VALUES_MAX)
        .map(|at| values.get(format!("{PREFIX}{at:x}").as_str()).copied().unwrap_or_default().to_owned())
        .collect();
    while read.last().is_some_and(String::is_empty) {
        read.pop();
    }
    read
}
