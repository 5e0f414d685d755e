//! What limits have counted up to a place in the ledger, in one file: a start goes on from there.

use crate::private_file;
use anyhow::{Context, ensure};
use std::{fmt::Write, fs, io, path::Path};
use trestle_counters::{Settled, Settlement};
use trestle_store::{Change, Ledger, Position};

/// The first line, before the place: the format, and its version.
const HEAD: &str = "trestle counters 1 ";
/// Sums of all limits and windows together; one is 56 bytes.
const SUMS_MAX: usize = 2_000_000;

/// What limits have counted, and up to where.
pub(super) struct Checkpoint {
    /// Sums by limit and window.
    pub(super) settled: Settled,
    /// All before is in them, nothing behind.
    pub(super) position: Position,
}

impl Checkpoint {
    /// Of a ledger from its beginning on.
    pub(super) fn first() -> anyhow::Result<Self> {
        Ok(Self { settled: Settled::new(SUMS_MAX), position: "0".parse()? })
    }

    /// Reads the file; `None` if there is none.
    pub(super) fn read(path: &Path) -> anyhow::Result<Option<Self>> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let end = bytes.iter().position(|byte| *byte == b'\n').context("has no first line")?;
        let (head, rest) = bytes.split_at(end + 1);
        let head = std::str::from_utf8(head).context("has no first line")?;
        let mut words = head.trim_end().strip_prefix(HEAD).context("is of another format")?.split(' ');
        let mut word = || words.next().context("is cut off");
        let (position, count) = (word()?.parse()?, word()?.parse::<usize>()?);
        let (sums, left) = rest.as_chunks::<{ Settlement::BYTES }>();
        ensure!(left.is_empty() && sums.len() == count, "is cut off");
        let mut settled = Settled::new(SUMS_MAX);
        for sum in sums {
            settled.add(Settlement::from_bytes(sum)?)?;
        }
        Ok(Some(Self { settled, position }))
    }

    /// Writes the file: the old one or the new one is there, never a part.
    pub(super) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let mut head = HEAD.to_owned();
        let _ = writeln!(head, "{} {}", self.position, self.settled.len());
        let mut bytes = Vec::with_capacity(head.len() + self.settled.len() * Settlement::BYTES);
        bytes.extend_from_slice(head.as_bytes());
        for sum in self.settled.checkpoint() {
            bytes.extend_from_slice(&sum.to_bytes());
        }
        private_file::write(path, &bytes)
    }

    /// Adds what the ledger tells up to a place; how many records could not be read.
    pub(super) fn advance(&mut self, ledger: &Ledger, to: Position) -> io::Result<u64> {
        let mut full = false;
        let settled = &mut self.settled;
        let skipped = ledger.replay(&self.position, &to, &mut |change| {
            let Change::Settled { charges, amounts, .. } = change else { return };
            for (charge, amount) in charges.iter().zip(amounts) {
                let Some(settlement) = settlement(charge, *amount) else { continue };
                full |= settled.add(settlement).is_err();
            }
        })?;
        if full {
            tracing::error!(
                sums = SUMS_MAX,
                "more limits and windows are counted than there is room for: after a restart some begin at nothing"
            );
        }
        self.position = to;
        Ok(skipped)
    }
}

fn settlement(charge: &trestle_store::Charge, amount: u64) -> Option<Settlement> {
    use trestle_counters::{CounterId, LimitId, Subject, Window, WindowId};
    let counter = CounterId {
        limit: LimitId(charge.limit),
        subject: Subject(charge.subject),
        window: Window::from_word(charge.window_kind)?,
    };
    Some(Settlement { counter, window_id: WindowId(charge.window), amount })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trestle_counters::{Calendar, CounterId, LimitId, Subject, Window, WindowId};

    fn sum(limit: u64, amount: u64) -> Settlement {
        let window = Window::Calendar(Calendar::Day);
        let counter = CounterId { limit: LimitId(limit), subject: Subject(7), window };
        Settlement { counter, window_id: WindowId(20_000), amount }
    }

    #[test]
    fn it_is_read_as_it_was_written_and_refused_when_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counters");
        assert!(Checkpoint::read(&path).unwrap().is_none());
        let mut checkpoint = Checkpoint::first().unwrap();
        checkpoint.position = "3,2:4096".parse().unwrap();
        for limit in 1..4 {
            checkpoint.settled.add(sum(limit, limit * 10)).unwrap();
        }
        checkpoint.write(&path).unwrap();
        let read = Checkpoint::read(&path).unwrap().unwrap();
        assert_eq!((read.settled, read.position), (checkpoint.settled, checkpoint.position));
        let good = fs::read(&path).unwrap();
        for at in [0, HEAD.len() + 3, good.len() - 60, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 0x15;
            fs::write(&path, bad).unwrap();
            assert!(Checkpoint::read(&path).is_err(), "byte {at}");
        }
        fs::write(&path, &good[..good.len() - Settlement::BYTES]).unwrap();
        assert!(Checkpoint::read(&path).is_err());
    }
}
