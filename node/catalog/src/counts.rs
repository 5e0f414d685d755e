//! How much of each unit was used.

use crate::Unit;

/// How much of each unit was used. No token is in two of them: `Cached` is not in `Input` as well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts([u64; Unit::COUNT]);

/// Tokens as vendors report them: totals, and parts of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// All input tokens.
    pub input: u64,
    /// Of them, read from a cache.
    pub cached: u64,
    /// Of them, written to a cache.
    pub cache_write: u64,
    /// Of the written ones, those with a lifetime of an hour.
    pub cache_write_1h: u64,
    /// Of the input, sound.
    pub audio_input: u64,
    /// All output tokens.
    pub output: u64,
    /// Of them, reasoning.
    pub reasoning: u64,
    /// Of the output, sound.
    pub audio_output: u64,
}

impl Counts {
    /// How much of a unit.
    pub fn get(&self, unit: Unit) -> u64 {
        self.0.get(unit as usize).copied().unwrap_or_default()
    }

    /// With so much of a unit, instead of what was there.
    #[must_use]
    pub fn with(mut self, unit: Unit, count: u64) -> Self {
        if let Some(slot) = self.0.get_mut(unit as usize) {
            *slot = count;
        }
        self
    }

    /// Both together.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        for (mine, more) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(more);
        }
        self
    }

    /// What was used, in the order of the units.
    pub fn used(&self) -> impl Iterator<Item = (Unit, u64)> {
        Unit::ALL.into_iter().map(|(unit, _)| unit).zip(self.0).filter(|(_, count)| *count > 0)
    }

    /// All tokens of the input, by which steps of a price are chosen.
    pub fn input_tokens(&self) -> u64 {
        let tokens = self.used().filter(|(unit, _)| unit.is_input_tokens());
        tokens.fold(0, |sum, (_, count)| sum.saturating_add(count))
    }
}

impl From<Totals> for Counts {
    /// Takes the totals apart. Vendors do not say how much of the sound was cached: only what can be nothing else is
    /// taken for both. Parts that are larger than their total count in full, and nothing else of that total.
    fn from(totals: Totals) -> Self {
        let fresh = totals.input.saturating_sub(totals.cached).saturating_sub(totals.cache_write);
        let sound = totals.audio_input.min(fresh);
        let sound_cached = (totals.audio_input - sound).min(totals.cached);
        let written_1h = totals.cache_write_1h.min(totals.cache_write);
        let text = totals.output.saturating_sub(totals.reasoning).saturating_sub(totals.audio_output);
        Self::default()
            .with(Unit::Input, fresh - sound)
            .with(Unit::AudioInput, sound)
            .with(Unit::AudioCached, sound_cached)
            .with(Unit::Cached, totals.cached - sound_cached)
            .with(Unit::CacheWrite, totals.cache_write - written_1h)
            .with(Unit::CacheWrite1h, written_1h)
            .with(Unit::Output, text)
            .with(Unit::Reasoning, totals.reasoning)
            .with(Unit::AudioOutput, totals.audio_output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_taken_apart() {
        let totals = Totals {
            input: 1000,
            cached: 600,
            cache_write: 100,
            cache_write_1h: 30,
            audio_input: 350,
            output: 90,
            reasoning: 40,
            audio_output: 20,
        };
        let counts = Counts::from(totals);
        let expected = [
            (Unit::Cached, 550),
            (Unit::CacheWrite, 70),
            (Unit::CacheWrite1h, 30),
            (Unit::AudioInput, 300),
            (Unit::AudioCached, 50),
            (Unit::Reasoning, 40),
            (Unit::Output, 30),
            (Unit::AudioOutput, 20),
        ];
        for (unit, count) in expected {
            assert_eq!(counts.get(unit), count, "{unit:?}");
        }
        assert_eq!(counts.used().count(), expected.len());
        assert_eq!(counts.input_tokens(), totals.input);
    }

    #[test]
    fn parts_that_exceed_their_total_count_in_full() {
        let totals = Totals { input: 5, cached: 9, cache_write: 1, cache_write_1h: 7, ..Totals::default() };
        let counts = Counts::from(totals);
        assert_eq!(counts.used().collect::<Vec<_>>(), [(Unit::Cached, 9), (Unit::CacheWrite1h, 1)]);
    }
}
