//! The counters of this node: one for each limit and subject that it has seen.

use crate::{Actor, Changes, Counter, CounterId, Table, live::LiveCell};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        mpsc::{self, Sender},
    },
};
use thiserror::Error;

/// The counters of one incarnation of a node. Callers keep what they opened at hand: opening is not for every request.
/// It belongs behind one lock with the node's [`Table`], so that no merge comes between a counter's first look at the
/// table and its being told of changes.
///
/// Bounds: at most `counters_max` counters; one more is refused ([`CountersFull`]). Counters without a window live as
/// long as the incarnation, since their cells do.
///
/// A clock that was ahead and came back finds its counters in windows yet to come, where they stay until it has caught
/// up: a cell that counted anew would lose against what is published. Who cannot wait begins a new incarnation.
#[derive(Debug)]
pub struct Counters {
    actor: Actor,
    counters_max: usize,
    counters: BTreeMap<CounterId, Arc<Counter>>,
    /// The latest time of a sweep: no counter begins in a window before it, whose cell may have been dropped.
    swept_ms: u64,
    changes: Sender<Arc<LiveCell>>,
}

/// There are as many counters as there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("there are as many counters as there may be")]
pub struct CountersFull;

/// The counters of one incarnation of this node, and what they change.
pub fn counters(actor: Actor, counters_max: usize) -> (Counters, Changes) {
    let (sender, receiver) = mpsc::channel();
    let counters = Counters { actor, counters_max, counters: BTreeMap::new(), swept_ms: 0, changes: sender };
    (counters, Changes::new(receiver))
}

impl Counters {
    /// The counter with that id, made where there is none. `table` has what others contribute.
    ///
    /// # Errors
    ///
    /// There are as many counters as there may be.
    pub fn open(&mut self, id: CounterId, table: &Table, now_ms: u64) -> Result<Arc<Counter>, CountersFull> {
        if let Some(counter) = self.counters.get(&id) {
            return Ok(Arc::clone(counter));
        }
        if self.counters.len() >= self.counters_max {
            return Err(CountersFull);
        }
        let begin_ms = now_ms.max(self.swept_ms);
        let counter = Arc::new(Counter::new(id, self.actor, self.changes.clone(), begin_ms));
        self.counters.insert(id, Arc::clone(&counter));
        self.refresh(&id, table);
        Ok(counter)
    }

    /// Tells a counter what others contribute, after the table changed for it. Counters that nobody opened need no
    /// telling.
    pub fn refresh(&self, id: &CounterId, table: &Table) {
        if let Some(counter) = self.counters.get(id) {
            let oldest = id.window.oldest_in_view(counter.newest());
            counter.set_others(table.others(id, oldest));
        }
    }

    /// Drops the counters that nobody holds and whose newest window is no longer kept, and returns how many.
    pub fn expire(&mut self, now_ms: u64) -> usize {
        self.swept_ms = self.swept_ms.max(now_ms);
        let before = self.counters.len();
        self.counters.retain(|id, counter| {
            let held = Arc::strong_count(counter) > 1;
            held || !id.window.is_expired(counter.newest(), self.swept_ms)
        });
        before - self.counters.len()
    }

    /// How many counters there are.
    pub fn len(&self) -> usize {
        self.counters.len()
    }

    /// Whether there are no counters.
    pub fn is_empty(&self) -> bool {
        self.counters.is_empty()
    }
}

#[cfg(test)]
mod tests;
