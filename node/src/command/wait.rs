//! Looks at a node again and again until it says what is waited for.

use super::failure::Failure;
use anyhow::anyhow;
use std::{
    thread::sleep,
    time::{Duration, Instant},
};

/// Between two looks.
const AGAIN: Duration = Duration::from_millis(500);

/// What a look found.
pub(super) enum Look<T> {
    /// What was waited for.
    Found(T),
    /// What is missing.
    Missing(String),
}

/// Looks until something is found. A node that cannot be reached or answers that it cannot do it now is asked again; what is
/// missing in the end is the error.
pub(super) fn until<T>(
    within: Duration,
    mut look: impl FnMut() -> Result<Look<T>, Failure>,
) -> Result<T, Failure> {
    let end = Instant::now() + within;
    loop {
        let missing = match look() {
            Ok(Look::Found(found)) => return Ok(found),
            Ok(Look::Missing(what)) => anyhow!("after {} s: {what}", within.as_secs()).into(),
            Err(error) if is_passing(&error) => error,
            Err(error) => return Err(error),
        };
        if Instant::now() + AGAIN > end {
            return Err(missing);
        }
        sleep(AGAIN);
    }
}

fn is_passing(error: &Failure) -> bool {
    match error {
        Failure::NoNode(_) => true,
        Failure::Refused(refusal) => refusal.status >= 500,
        Failure::Closed | Failure::Other(_) => false,
    }
}
