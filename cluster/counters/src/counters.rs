//! The counters of this node: one for each limit and subject that it has seen.

use crate::{
    Actor, Changes, Counter, CounterId, Rights, Settled, Settlement, Table, View, WindowId, counter::Beside,
    hash, live::LiveCell,
};
use std::{
    array,
    collections::{BTreeMap, HashMap},
    hash::{BuildHasherDefault, DefaultHasher},
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, AtomicUsize, Ordering::AcqRel, Ordering::Acquire},
        mpsc::{self, Sender},
    },
};
use thiserror::Error;

/// As many as [`hash::bucket_of`] has values.
const SHARDS: usize = 256;

/// The counters of one incarnation of a node, found from any thread: [`Self::get`] reads one of many shards. A request
/// need not even do that: a caller keeps the counter that it opened beside the limit, as long as the limit is the same.
///
/// With other nodes it belongs to one owner with the node's [`Table`] ([`Cells`](crate::Cells)), so that no merge comes
/// between a counter's first look at the table and its being told of changes. A node that is alone has an empty table, and drops the
/// [`Changes`], or collects them: cells wait there until they are collected.
///
/// Bounds: at most `counters_max` counters; one more is refused ([`CountersFull`]). Counters without a window live as
/// long as the incarnation, since their cells do. [`Self::expire`] drops counters that idle, and of those that someone
/// keeps the cells that no longer count.
///
/// A clock that was ahead and came back finds its counters in windows yet to come, where they stay until it has caught
/// up: a cell that counted anew would lose against what is published. Who cannot wait begins a new incarnation.
#[derive(Debug)]
pub struct Counters {
    actor: Actor,
    counters_max: usize,
    len: AtomicUsize,
    shards: Box<[RwLock<Shard>; SHARDS]>,
    /// The latest time of a sweep: no counter begins in a window before it, whose cell may have been dropped.
    swept_ms: AtomicU64,
    changes: Sender<Arc<LiveCell>>,
    rights: Arc<Rights>,
}

#[derive(Debug, Default)]
struct Shard {
    counters: HashMap<CounterId, Arc<Counter>, BuildHasherDefault<DefaultHasher>>,
    /// What was settled by earlier incarnations, where it was restored.
    restored: BTreeMap<(CounterId, WindowId), u64>,
}

/// There are as many counters as there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("there are as many counters as there may be")]
pub struct CountersFull;

/// The counters of one incarnation of this node, and what they change.
pub fn counters(actor: Actor, counters_max: usize) -> (Counters, Changes) {
    let (sender, receiver) = mpsc::channel();
    let counters = Counters {
        actor,
        counters_max,
        len: AtomicUsize::new(0),
        shards: Box::new(array::from_fn(|_| RwLock::default())),
        swept_ms: AtomicU64::new(0),
        changes: sender,
        rights: Arc::default(),
    };
    (counters, Changes::new(receiver))
}

impl Counters {
    /// Counts what earlier incarnations settled, beside what others contribute. Before the first counter is opened.
    ///
    /// What they held is not among it: whoever folds the journal settles the calls that never ended. Cells of this
    /// node's earlier incarnations that others send back have the same amounts again: they count only in windows of
    /// which the journal says nothing.
    pub fn restore(&mut self, settled: &Settled) {
        for settlement in settled.checkpoint() {
            let key = (settlement.counter, settlement.window_id);
            self.write(&settlement.counter).restored.insert(key, settlement.amount);
        }
    }

    /// What was restored of the counters of a bucket.
    pub(crate) fn restored_in(&self, bucket: u8) -> Vec<Settlement> {
        // A byte is below SHARDS.
        let shard = self.shards[usize::from(bucket)].read().unwrap_or_else(PoisonError::into_inner);
        let one = |(key, amount): (&(CounterId, WindowId), &u64)| Settlement {
            counter: key.0,
            window_id: key.1,
            amount: *amount,
        };
        shard.restored.iter().map(one).collect()
    }

    /// Whose counters they are.
    pub fn actor(&self) -> Actor {
        self.actor
    }

    /// What this node may spend by itself.
    pub fn rights(&self) -> &Arc<Rights> {
        &self.rights
    }

    /// The counter with that id, where there is one.
    pub fn get(&self, id: &CounterId) -> Option<Arc<Counter>> {
        self.read(id).counters.get(id).cloned()
    }

    /// The counter with that id, made where there is none. `table` has what others contribute.
    ///
    /// # Errors
    ///
    /// There are as many counters as there may be.
    pub fn open(&self, id: CounterId, table: &Table, now_ms: u64) -> Result<Arc<Counter>, CountersFull> {
        if let Some(counter) = self.get(&id) {
            return Ok(counter);
        }
        let mut shard = self.write(&id);
        if let Some(counter) = shard.counters.get(&id) {
            return Ok(Arc::clone(counter));
        }
        let one_more = |len: usize| (len < self.counters_max).then_some(len + 1);
        self.len.fetch_update(AcqRel, Acquire, one_more).map_err(|_| CountersFull)?;
        let begin_ms = now_ms.max(self.swept_ms.load(Acquire));
        let counter = Arc::new(self.begin(id, begin_ms));
        shard.tell(&counter, table);
        shard.counters.insert(id, Arc::clone(&counter));
        Ok(counter)
    }

    /// What the counter with that id counts. Where there is none it is made for this look alone, so that to look at many
    /// takes no room. `table` has what others contribute.
    pub fn view(&self, id: CounterId, table: &Table, now_ms: u64) -> View {
        if let Some(counter) = self.get(&id) {
            return counter.view(now_ms);
        }
        let counter = self.begin(id, now_ms);
        self.read(&id).tell(&counter, table);
        counter.view(now_ms)
    }

    /// Tells a counter what others contribute, after the table changed for it. Counters that nobody opened need no
    /// telling.
    pub fn refresh(&self, id: &CounterId, table: &Table) {
        let shard = self.read(id);
        if let Some(counter) = shard.counters.get(id) {
            shard.tell(counter, table);
        }
    }

    /// Drops the counters that nobody keeps and whose newest window is no longer kept, and returns how many.
    pub fn expire(&self, now_ms: u64) -> usize {
        let swept_ms = self.swept_ms.fetch_max(now_ms, AcqRel).max(now_ms);
        let dropped = self.shards.iter().map(|shard| write(shard).expire(swept_ms)).sum();
        self.len.fetch_sub(dropped, AcqRel);
        dropped
    }

    /// How many counters there are.
    pub fn len(&self) -> usize {
        self.len.load(Acquire)
    }

    /// Whether there are no counters.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn begin(&self, id: CounterId, now_ms: u64) -> Counter {
        Counter::new(id, self.actor, self.changes.clone(), Arc::clone(&self.rights), now_ms)
    }

    fn read(&self, id: &CounterId) -> RwLockReadGuard<'_, Shard> {
        // A byte is below SHARDS.
        let shard = &self.shards[usize::from(hash::bucket_of(id))];
        shard.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, id: &CounterId) -> RwLockWriteGuard<'_, Shard> {
        // A byte is below SHARDS.
        write(&self.shards[usize::from(hash::bucket_of(id))])
    }
}

impl Shard {
    fn tell(&self, counter: &Counter, table: &Table) {
        let id = *counter.id();
        let oldest = id.window.oldest_in_view(counter.newest());
        let mut beside = table.beside(&id, oldest);
        for ((_, window_id), amount) in self.restored.range((id, oldest)..=(id, WindowId(u64::MAX))) {
            // What the journal says, in place of what others remember of the same.
            match beside.binary_search_by_key(window_id, |beside| beside.window_id) {
                Ok(at) => beside[at].before = *amount,
                Err(at) => {
                    beside.insert(at, Beside { window_id: *window_id, others: 0, before: *amount });
                }
            }
        }
        counter.set_beside(beside);
    }

    fn expire(&mut self, swept_ms: u64) -> usize {
        self.restored.retain(|(counter, window_id), _| !counter.window.is_expired(*window_id, swept_ms));
        let before = self.counters.len();
        self.counters.retain(|id, counter| {
            let kept = Arc::strong_count(counter) > 1;
            if kept {
                counter.trim(swept_ms);
            }
            kept || !id.window.is_expired(counter.newest(), swept_ms)
        });
        before - self.counters.len()
    }
}

/// Nothing that is locked here is left half done by a panic.
fn write(shard: &RwLock<Shard>) -> RwLockWriteGuard<'_, Shard> {
    shard.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
