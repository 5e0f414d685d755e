//! What this node changed, in order, so that each peer gets what it has not acknowledged.

use crate::{Cell, Merged, Table, live::LiveCell};
use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{Arc, mpsc::Receiver},
};

/// The changes of this node's cells.
///
/// Threads that charge only queue the cell, once until it is collected; collecting gives each changed cell the next
/// sequence. So many changes between two collections cost one line in a delta.
#[derive(Debug)]
pub struct Changes {
    queue: Receiver<Arc<LiveCell>>,
    sequence: u64,
    /// Each published cell once, at its last change. The table that they are published to bounds it.
    by_sequence: BTreeMap<u64, Cell>,
}

/// What a collection did, in cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    /// Taken from the queue; as many as were asked for means that there may be more.
    pub taken: usize,
    /// Of these, not published because their window is no longer kept: a late settlement.
    pub expired: usize,
    /// Of these, not published because the table is full: they count on this node alone, until they change again and
    /// there is room.
    pub full: usize,
}

impl Changes {
    pub(crate) fn new(queue: Receiver<Arc<LiveCell>>) -> Self {
        Self { queue, sequence: 0, by_sequence: BTreeMap::new() }
    }

    /// Publishes up to `cells_max` changed cells to the table of this node.
    pub fn collect(&mut self, table: &mut Table, now_ms: u64, cells_max: usize) -> Collected {
        let mut collected = Collected::default();
        for live in self.queue.try_iter().take(cells_max) {
            collected.taken += 1;
            let cell = Cell { id: *live.id(), totals: live.collect() };
            match table.publish(&cell, now_ms) {
                Merged::Changed => {
                    self.sequence += 1;
                    self.by_sequence.remove(&live.renumber(self.sequence));
                    self.by_sequence.insert(self.sequence, cell);
                }
                Merged::Expired => collected.expired += 1,
                Merged::Full => collected.full += 1,
                // A change that an earlier collection has read already. The others are of cells that are not ours.
                Merged::Unchanged | Merged::Own | Merged::NotAlive => {}
            }
        }
        collected
    }

    /// The last sequence that was given; 0 before the first.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The cells that changed after a sequence, in order, each with the sequence of its last change.
    pub fn since(&self, sequence: u64) -> impl Iterator<Item = (u64, &Cell)> {
        let after = (Bound::Excluded(sequence), Bound::Unbounded);
        self.by_sequence.range(after).map(|(sequence, cell)| (*sequence, cell))
    }

    /// Forgets the cells of windows that are no longer kept, as [`Table::expire`] does.
    pub fn expire(&mut self, now_ms: u64) {
        self.by_sequence.retain(|_, cell| !cell.id.counter.window.is_expired(cell.id.window_id, now_ms));
    }
}

#[cfg(test)]
mod tests;
