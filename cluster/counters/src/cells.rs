//! All that a node counts and all that it knows of others, in one owner, so that neither is told without the other.

use crate::{
    Actor, BUCKETS, Cell, CellId, Changes, Collected, Counter, CounterId, Counters, CountersFull, Merged,
    Rights, Settled, Table, View, counters, hash,
};
use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering::AcqRel, Ordering::Acquire},
    },
};

/// Cells that are merged or published before others may use the table: so a thread that opens a counter waits for no
/// more than these.
const AT_ONCE: usize = 250;

/// The counters of a node, the table of all cells that it knows, and what it has changed.
///
/// A counter takes its first look at the table, and is told of what changed there, under one lock: no merge comes
/// between. Charges take no lock of this; opening a counter that does not exist yet waits for the merge of at most 250
/// cells. No lock is held while another one's holder may wait for it: changes, then the table, then a shard of counters.
///
/// What the sweep dropped does not come back, even if the clock goes back.
#[derive(Debug)]
pub struct Cells {
    own: Actor,
    counters: Counters,
    table: RwLock<Table>,
    changes: Mutex<Changes>,
    /// The latest time of a sweep.
    swept_ms: AtomicU64,
}

/// What became of cells that were merged, each counted in one of these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// The table knows more now, and so do the counters.
    pub changed: usize,
    /// The table knew as much; or it is this incarnation's own.
    pub known: usize,
    /// Not taken, since its window is no longer kept, or its actor not known to live.
    pub ignored: usize,
    /// Not taken, since the table is full.
    pub full: usize,
}

/// Some of the cells of this node that changed after a sequence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delta {
    /// They, as they are now.
    pub cells: Vec<Cell>,
    /// Who has these has all that this node changed up to this sequence.
    pub up_to: u64,
    /// There are more behind it.
    pub more: bool,
}

/// Some of the cells of some buckets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// They, of all actors, in the order of their buckets, then of their ids.
    pub cells: Vec<Cell>,
    /// There are more behind the last.
    pub more: bool,
}

impl Cells {
    /// Of a node that begins a life, with what its earlier ones settled. Bounds: at most so many counters, and cells.
    pub fn new(own: Actor, settled: &Settled, counters_max: usize, cells_max: usize) -> Self {
        let (mut counters, changes) = counters(own, counters_max);
        counters.restore(settled);
        Self {
            own,
            counters,
            table: RwLock::new(Table::new(own, cells_max)),
            changes: Mutex::new(changes),
            swept_ms: AtomicU64::new(0),
        }
    }

    /// Whose life this is.
    pub fn own(&self) -> Actor {
        self.own
    }

    /// What this node may spend by itself.
    pub fn rights(&self) -> &Arc<Rights> {
        self.counters.rights()
    }

    /// The counter with that id, made where there is none.
    ///
    /// # Errors
    ///
    /// There are as many counters as there may be.
    pub fn open(&self, id: CounterId, now_ms: u64) -> Result<Arc<Counter>, CountersFull> {
        match self.counters.get(&id) {
            Some(counter) => Ok(counter),
            None => self.counters.open(id, &self.read(), now_ms),
        }
    }

    /// What the counter with that id counts; nothing is made for a look.
    pub fn view(&self, id: CounterId, now_ms: u64) -> View {
        match self.counters.get(&id) {
            Some(counter) => counter.view(now_ms),
            None => self.counters.view(id, &self.read(), now_ms),
        }
    }

    /// How many counters there are.
    pub fn counters_len(&self) -> usize {
        self.counters.len()
    }

    /// How many cells there are, of all actors.
    pub fn cells_len(&self) -> usize {
        self.read().len()
    }

    /// Takes in cells of others, in any order and however often, and tells the counters.
    pub fn merge(&self, cells: &[Cell], now_ms: u64) -> Taken {
        let now_ms = now_ms.max(self.swept_ms.load(Acquire));
        let mut taken = Taken::default();
        for cells in cells.chunks(AT_ONCE) {
            let mut table = self.write();
            let mut touched = BTreeSet::new();
            for cell in cells {
                let count = match table.merge(cell, now_ms) {
                    Merged::Changed => {
                        touched.insert(cell.id.counter);
                        &mut taken.changed
                    }
                    Merged::Unchanged | Merged::Own => &mut taken.known,
                    Merged::Expired | Merged::NotAlive => &mut taken.ignored,
                    Merged::Full => &mut taken.full,
                };
                *count += 1;
            }
            for id in &touched {
                self.counters.refresh(id, &table);
            }
        }
        taken
    }

    /// Publishes what this node changed.
    pub fn collect(&self, now_ms: u64) -> Collected {
        let now_ms = now_ms.max(self.swept_ms.load(Acquire));
        let mut changes = self.changes();
        let mut all = Collected::default();
        // What changes meanwhile is for the next time: the counters' number bounds this one.
        let most = self.counters.len().saturating_mul(2).max(AT_ONCE);
        while all.taken < most {
            let one = changes.collect(&mut self.write(), now_ms, AT_ONCE);
            all.taken += one.taken;
            all.expired += one.expired;
            all.full += one.full;
            if one.taken < AT_ONCE {
                break;
            }
        }
        all
    }

    /// The sequence of the last change that was published; 0 before the first.
    pub fn sequence(&self) -> u64 {
        self.changes().sequence()
    }

    /// At most so many of the cells of this node that changed after a sequence, the earliest change first.
    pub fn delta(&self, after: u64, cells_max: usize) -> Delta {
        let changes = self.changes();
        let mut since = changes.since(after);
        let (mut cells, mut up_to) = (Vec::new(), after);
        for (sequence, cell) in since.by_ref().take(cells_max) {
            cells.push(*cell);
            up_to = sequence;
        }
        let more = since.next().is_some();
        // What has changed again since has a later sequence, and what has expired none.
        let up_to = if more { up_to } else { changes.sequence().max(up_to) };
        Delta { cells, up_to, more }
    }

    /// A hash for each bucket of cells.
    pub fn hashes(&self) -> [u64; BUCKETS] {
        self.read().hashes()
    }

    /// At most so many cells of these buckets, ascending, behind that cell or from the first on.
    pub fn page(&self, buckets: &[u8], after: Option<CellId>, cells_max: usize) -> Page {
        let table = self.read();
        let first = after.map_or(0, |after| hash::bucket_of(&after.counter));
        let behind = |bucket: u8| after.filter(|_| bucket == first);
        let buckets = buckets.iter().filter(|bucket| **bucket >= first);
        let mut all = buckets.flat_map(|bucket| table.cells_after(*bucket, behind(*bucket)));
        let cells = all.by_ref().take(cells_max).collect();
        let more = all.next().is_some();
        Page { cells, more }
    }

    /// Says that a node lives as this actor: concurrency of its earlier lives ended with them.
    pub fn alive(&self, actor: Actor) {
        let mut table = self.write();
        let touched = table.alive(actor);
        self.refresh(touched, &table);
    }

    /// Says that an actor is dead: its concurrency ended.
    pub fn dead(&self, actor: Actor) {
        let mut table = self.write();
        let touched = table.dead(actor);
        self.refresh(touched, &table);
    }

    /// Puts what the journal says of this node's earlier lives, and no peer does, into the table, so that comparisons carry it
    /// to them; of the counters in one bucket. To be called once all members have been compared with: what another one
    /// knows and this one does not would count twice for others. Returns how many cells changed.
    pub fn owe(&self, bucket: u8, now_ms: u64) -> usize {
        let now_ms = now_ms.max(self.swept_ms.load(Acquire));
        let restored = self.counters.restored_in(bucket);
        let owed = restored.chunks(AT_ONCE).map(|settled| {
            let mut table = self.write();
            settled.iter().filter(|settled| table.owe(settled, now_ms) == Merged::Changed).count()
        });
        owed.sum()
    }

    /// Drops what is no longer kept, of counters and of cells, bucket by bucket.
    pub fn sweep(&self, now_ms: u64) {
        let now_ms = self.swept_ms.fetch_max(now_ms, AcqRel).max(now_ms);
        self.counters.expire(now_ms);
        for bucket in 0..=u8::MAX {
            self.write().expire_in(bucket, now_ms);
        }
        self.changes().expire(now_ms);
    }

    fn refresh(&self, touched: Vec<CounterId>, table: &Table) {
        for id in touched {
            self.counters.refresh(&id, table);
        }
    }

    // Nothing that is locked here is left half done by a panic.

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn changes(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
