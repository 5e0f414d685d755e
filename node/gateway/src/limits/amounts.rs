//! Tokens and money in the unit of a limit.

use crate::estimate::{Amounts, Estimate, Unbounded};
use trestle_config::{Limit, Measure, Mode};

/// What calls came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// Input tokens.
    pub(crate) input: u64,
    /// Output tokens.
    pub(crate) output: u64,
    /// Money.
    pub(crate) nano_usd: u64,
}

impl Spent {
    /// In the unit of a measure. A request counts as one, however many calls it makes.
    pub(crate) fn measured(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Requests | Measure::Concurrent => 1,
            Measure::InputTokens => self.input,
            Measure::OutputTokens => self.output,
            Measure::Tokens => self.input.saturating_add(self.output),
            Measure::NanoUsd => self.nano_usd,
        }
    }
}

impl From<Amounts> for Spent {
    fn from(Amounts { input, output, nano_usd }: Amounts) -> Self {
        Self { input, output, nano_usd }
    }
}

/// What is held for a call of one limit: the worst case where the limit is strict, what is likely where it is soft.
pub(crate) fn amount_of(limit: &Limit, estimate: &Estimate) -> Result<u64, Unbounded> {
    if limit.mode == Mode::Soft || matches!(limit.measure, Measure::Requests | Measure::Concurrent) {
        // What costs something may not begin where nothing is left, little as it may be.
        let least = u64::from(estimate.tokens != Ok((0, 0)));
        return Ok(Spent::from(estimate.likely).measured(limit.measure).max(least));
    }
    match limit.measure {
        Measure::NanoUsd => estimate.nano_usd,
        measure => {
            let (input, output) = estimate.tokens?;
            Ok(Spent { input, output, nano_usd: 0 }.measured(measure))
        }
    }
}
