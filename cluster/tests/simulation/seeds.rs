//! Which seeds a test runs: as many as CI has time for, or those that a variable says.

use std::ops::Range;

/// The first ones; or of the environment's variable `COUNT`, or `FROM..TO` to see one again.
pub(crate) fn seeds(variable: &str, count: u64) -> Range<u64> {
    let Ok(text) = std::env::var(variable) else { return 0..count };
    let range = text.split_once("..").unwrap_or(("0", &text));
    match (range.0.parse(), range.1.parse()) {
        (Ok(from), Ok(to)) => from..to,
        _ => panic!("{variable} is `{text}`: a COUNT or FROM..TO is wanted"),
    }
}
