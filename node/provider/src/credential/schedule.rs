//! When a credential is fetched again. Pure: times and chance are arguments.

use std::time::Duration;

/// Longest time ahead of its end.
const AHEAD_MAX: Duration = Duration::from_secs(600);
/// No credential is renewed more often.
const RENEW_MIN: Duration = Duration::from_secs(1);
/// First wait after a failure; it doubles.
const RETRY_FIRST: Duration = Duration::from_millis(500);
/// Longest wait after a failure.
const RETRY_MAX: Duration = Duration::from_secs(60);

/// How long after a success the next fetch is, for a credential that ends in `left`: a quarter of its time ahead of its
/// end, at most ten minutes, and up to a fifth of that earlier by chance (from 0 to 1), so that not all come at once.
pub(super) fn renew_in(left: Duration, chance: f64) -> Duration {
    let ahead = (left / 4).min(AHEAD_MAX);
    left.saturating_sub(ahead + ahead.mul_f64(0.2 * chance.clamp(0.0, 1.0))).max(RENEW_MIN)
}

/// How long after a failure the next fetch is: the wait doubles up to a minute, and is up to half of it shorter by chance.
pub(super) fn retry_in(failures: u32, chance: f64) -> Duration {
    let wait = RETRY_FIRST.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(RETRY_MAX);
    wait.mul_f64(0.5 + 0.5 * chance.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renewals_are_well_ahead_of_the_end() {
        for (left, chance, expected) in [
            (3600, 0.0, 3000.0),
            (3600, 1.0, 2880.0),
            (43_200, 0.0, 42_600.0),
            (400, 0.0, 300.0),
            (400, 1.0, 280.0),
            (2, 0.0, 1.5),
            (1, 0.0, 1.0),
            (0, 1.0, 1.0),
        ] {
            let renewed = renew_in(Duration::from_secs(left), chance);
            assert_eq!(renewed.as_secs_f64(), expected, "{left} s, {chance}");
        }
    }

    #[test]
    fn waits_double_up_to_a_minute() {
        for (failures, chance, expected) in [
            (1, 1.0, 0.5),
            (1, 0.0, 0.25),
            (2, 1.0, 1.0),
            (7, 1.0, 32.0),
            (8, 1.0, 60.0),
            (u32::MAX, 0.0, 30.0),
        ] {
            assert_eq!(retry_in(failures, chance).as_secs_f64(), expected, "{failures} failures, {chance}");
        }
    }
}
