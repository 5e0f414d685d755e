//! What was settled in each window, folded from the lines of the journal: what a restart begins with.

use crate::{CounterId, LimitId, Subject, Window, WindowId, hash};
use std::collections::BTreeMap;
use thiserror::Error;

/// Sums of what was settled, by counter and window.
///
/// It is not read from counters that run, but folded from the journal, one line after the other: so a checkpoint that is
/// written between two lines holds all lines before, none after, and nothing of what was held. To restore is to add the
/// checkpoint to an empty one, then the lines after its place, then an estimate for each call that never ended; and then
/// [`Counters::restore`](crate::Counters::restore). Which lines it has seen is the caller's to know.
///
/// Bounds: at most `sums_max` sums; one more is refused ([`SettledFull`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    sums_max: usize,
    sums: BTreeMap<(CounterId, WindowId), u64>,
}

/// What was settled of one limit for one subject: by a line of the journal, or by all of one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Settlement {
    /// The limit, the subject, the window.
    pub counter: CounterId,
    /// In which window.
    pub window_id: WindowId,
    /// How much, in the limit's unit.
    pub amount: u64,
}

/// There are as many sums as there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("there are as many sums as there may be")]
pub struct SettledFull;

/// Bytes that are no settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a settlement on the disk is damaged")]
pub struct Damaged;

impl Settled {
    /// Nothing settled.
    pub fn new(sums_max: usize) -> Self {
        Self { sums_max, sums: BTreeMap::new() }
    }

    /// Adds what was settled. Limits without a window (concurrency) hold nothing that outlives the process: they are
    /// passed over.
    ///
    /// # Errors
    ///
    /// There are as many sums as there may be. Nothing is added.
    pub fn add(&mut self, settlement: Settlement) -> Result<(), SettledFull> {
        let Settlement { counter, window_id, amount } = settlement;
        if counter.window == Window::Standing || amount == 0 {
            return Ok(());
        }
        let full = self.sums.len() >= self.sums_max;
        match self.sums.get_mut(&(counter, window_id)) {
            Some(sum) => *sum = sum.saturating_add(amount),
            None if full => return Err(SettledFull),
            None => {
                self.sums.insert((counter, window_id), amount);
            }
        }
        Ok(())
    }

    /// Drops the sums of windows that are no longer kept ([`Window::kept_until_ms`]) and returns how many.
    pub fn expire(&mut self, now_ms: u64) -> usize {
        let before = self.sums.len();
        self.sums.retain(|(counter, window_id), _| !counter.window.is_expired(*window_id, now_ms));
        before - self.sums.len()
    }

    /// The sums, each a settlement: what a checkpoint holds, in the order of their ids.
    pub fn checkpoint(&self) -> impl Iterator<Item = Settlement> {
        let one = |(id, amount): (&(CounterId, WindowId), &u64)| Settlement {
            counter: id.0,
            window_id: id.1,
            amount: *amount,
        };
        self.sums.iter().map(one)
    }

    /// How many sums there are.
    pub fn len(&self) -> usize {
        self.sums.len()
    }

    /// Whether nothing was settled.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }
}

impl Settlement {
    /// How many bytes it has on the disk.
    pub const BYTES: usize = 56;

    /// As it is on the disk, which never changes: seven words, little-endian. Limit, subject (low half, high half),
    /// window ([`Window::to_word`]), window id, amount, and a hash of these six.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let words = self.words();
        let all = words.into_iter().chain([hash::of_words(words)]);
        let mut bytes = [0; Self::BYTES];
        for (eight, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(all) {
            *eight = word.to_le_bytes();
        }
        bytes
    }

    /// The settlement of [`Self::to_bytes`].
    ///
    /// # Errors
    ///
    /// The hash is another, or the window is none.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Result<Self, Damaged> {
        let mut words = [0; 7];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let [limit, low, high, window, window_id, amount, check] = words;
        if hash::of_words([limit, low, high, window, window_id, amount]) != check {
            return Err(Damaged);
        }
        let counter = CounterId {
            limit: LimitId(limit),
            subject: Subject(u128::from(high) << 64 | u128::from(low)),
            window: Window::from_word(window).ok_or(Damaged)?,
        };
        Ok(Self { counter, window_id: WindowId(window_id), amount })
    }

    fn words(&self) -> [u64; 6] {
        let CounterId { limit, subject: Subject(subject), window } = self.counter;
        // Both halves of the subject, each cut to 64 bits.
        [limit.0, subject as u64, (subject >> 64) as u64, window.to_word(), self.window_id.0, self.amount]
    }
}

#[cfg(test)]
mod tests;
