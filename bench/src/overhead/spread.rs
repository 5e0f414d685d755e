//! The median and the quartiles of a few measurements.

use serde::Serialize;

/// Median and quartiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) count: usize,
}

impl Spread {
    /// Of at least one value; all zero of none.
    pub(super) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |quarter: usize| {
            let Some(last) = values.len().checked_sub(1) else { return 0.0 };
            let (low, rest) = (last * quarter / 4, last * quarter % 4);
            let next = values[(low + 1).min(last)];
            values[low] + (next - values[low]) * (rest as f64 / 4.0)
        };
        Self { median: at(2), low: at(1), high: at(3), count: values.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_interpolated() {
        let check = |values: &[f64], low: f64, median: f64, high: f64| {
            let expected = Spread { median, low, high, count: values.len() };
            assert_eq!(Spread::of(values.to_vec()), expected);
        };
        check(&[], 0.0, 0.0, 0.0);
        check(&[3.0], 3.0, 3.0, 3.0);
        check(&[4.0, 1.0, 3.0, 2.0, 5.0], 2.0, 3.0, 4.0);
        check(&[1.0, 2.0], 1.25, 1.5, 1.75);
    }
}
