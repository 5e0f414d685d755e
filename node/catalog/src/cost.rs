//! What a request costs, in whole numbers.

use crate::{Counts, Price, Rates, Unit};

/// Pico-USD in a nano-USD.
const PICO: u128 = 1000;

/// On what terms a request was served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Terms<'t> {
    /// The service tier, in the vendor's word: `batch`, `flex`, `priority`. One that has no prices is the standard.
    pub service: Option<&'t str>,
    /// What was made, such as `1080p` or `hd/1024x1024`. One that has no prices is the standard.
    pub variant: Option<&'t str>,
}

impl Price {
    /// What it costs on standard terms, in nano-USD, rounded half up once at the end. Too much for the type is its maximum.
    pub fn cost(&self, counts: &Counts) -> u64 {
        self.cost_on(&Terms::default(), counts)
    }

    /// What it costs on such terms, in nano-USD.
    pub fn cost_on(&self, terms: &Terms<'_>, counts: &Counts) -> u64 {
        let input_tokens = counts.input_tokens();
        let mut pico: u128 = 0;
        for (unit, count) in counts.used() {
            let Some((_, rate)) = self.charged(unit, terms, input_tokens) else { continue };
            let each = if unit.is_tokens() { u128::from(rate) } else { u128::from(rate) * PICO };
            pico = pico.saturating_add(each.saturating_mul(u128::from(count)));
        }
        let nano = pico / PICO + u128::from(pico % PICO >= PICO / 2);
        u64::try_from(nano).unwrap_or(u64::MAX)
    }

    /// The rate of a unit for a request with so many input tokens, and the unit that it is charged as.
    pub fn charged(&self, unit: Unit, terms: &Terms<'_>, input_tokens: u64) -> Option<(Unit, u64)> {
        let own = |unit| self.own_rate(unit, terms, input_tokens);
        let mut at = unit;
        loop {
            if let Some(rate) = own(at) {
                return Some((at, rate));
            }
            at = at.otherwise(|unit| own(unit).is_some())?;
        }
    }

    /// Tokens that were used and have no price: what they cost is not known, and `cost` leaves them out. Things without a
    /// price are not told, as most models do not charge by them.
    pub fn unpriced(&self, counts: &Counts) -> impl Iterator<Item = Unit> {
        let input_tokens = counts.input_tokens();
        let used = counts.used().map(|(unit, _)| unit).filter(|unit| unit.is_tokens());
        used.filter(move |unit| self.charged(*unit, &Terms::default(), input_tokens).is_none())
    }

    fn own_rate(&self, unit: Unit, terms: &Terms<'_>, input_tokens: u64) -> Option<u64> {
        let variant = terms.variant.and_then(|name| self.variants.get(name));
        if let Some(rate) = variant.and_then(|rates| rates.get(unit)) {
            return Some(rate);
        }
        let of_step = self.step_rate(unit, input_tokens, None);
        let standard = of_step.or_else(|| self.rates.get(unit));
        let Some(service) = terms.service else { return standard };
        let of_service = self.services.get(service).and_then(|rates| rates.get(unit));
        self.step_rate(unit, input_tokens, Some(service))
            // A service that does not say what a long input costs: never less than on standard terms.
            .or_else(|| of_service.map(|rate| rate.max(of_step.unwrap_or(rate))))
            .or(standard)
    }

    /// The rate of the highest step that holds and names the unit.
    fn step_rate(&self, unit: Unit, input_tokens: u64, service: Option<&str>) -> Option<u64> {
        let holding = self.steps().iter().filter(|step| input_tokens > step.tokens);
        let rates = holding.filter_map(|step| {
            let rates: Option<&Rates> =
                service.map_or(Some(&step.rates), |service| step.services.get(service));
            Some((step.tokens, rates?.get(unit)?))
        });
        rates.max_by_key(|(tokens, _)| *tokens).map(|(_, rate)| rate)
    }
}

#[cfg(test)]
mod tests;
