//! All cells that a node knows, its own as it published them and the others' as they came, with hashes to compare.

use crate::{
    Actor, Cell, CellId, CounterId, NodeId, Settlement, Totals, Window, WindowId, counter::Beside, hash,
};
use std::{array, collections::BTreeMap, ops::Bound::Excluded, ops::Bound::Unbounded};

/// How many buckets the cells of a table fall into.
pub const BUCKETS: usize = 256;

/// The cells that a node knows.
///
/// Bounds: at most `cells_max` cells. A cell that would be one more is not taken, and the caller is told
/// ([`Merged::Full`]): what it holds is then not counted here, so limits admit more than they should, until windows
/// expire and a repair brings the cell again. Cells that are known already always merge.
///
/// A window far in the future is taken like any other, since it is this node's clock that may be wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    own: Actor,
    cells_max: usize,
    cells: usize,
    /// The incarnation of each node that lives. Membership bounds it.
    alive: BTreeMap<NodeId, u64>,
    buckets: Box<[Bucket; BUCKETS]>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Bucket {
    /// The sum of the cells' hashes, which no order changes.
    hash: u64,
    cells: BTreeMap<CellId, Totals>,
}

impl Bucket {
    fn drop_where(&mut self, which: impl Fn(&CellId) -> bool) -> Vec<CellId> {
        let Self { hash, cells } = self;
        let mut dropped = Vec::new();
        cells.retain(|id, totals| {
            let drop = which(id);
            if drop {
                *hash = hash.wrapping_sub(hash::of_cell(&Cell { id: *id, totals: *totals }));
                dropped.push(*id);
            }
            !drop
        });
        dropped
    }
}

/// What became of a cell that was merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Merged {
    /// The table knows more now: the counter's view of the others is to be refreshed.
    Changed,
    /// The table knew as much.
    Unchanged,
    /// Ignored: it is this very incarnation's, and only it knows its numbers.
    Own,
    /// Ignored: its window is no longer kept.
    Expired,
    /// Ignored: it has no window, and its actor is not known to live.
    NotAlive,
    /// Not taken: the table is full.
    Full,
}

impl Table {
    /// An empty table of a node that lives as `own`.
    pub fn new(own: Actor, cells_max: usize) -> Self {
        let alive = BTreeMap::from([(own.node, own.incarnation)]);
        Self { own, cells_max, cells: 0, alive, buckets: Box::new(array::from_fn(|_| Bucket::default())) }
    }

    /// How many cells there are.
    pub fn len(&self) -> usize {
        self.cells
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.cells == 0
    }

    /// Takes in a cell of another actor, in any order and however often. The cutoff of [`Self::expire`] holds here
    /// too: what has expired does not come back.
    pub fn merge(&mut self, cell: &Cell, now_ms: u64) -> Merged {
        let CellId { counter, actor, .. } = cell.id;
        if actor == self.own {
            return Merged::Own;
        }
        if counter.window == Window::Standing && self.alive.get(&actor.node) != Some(&actor.incarnation) {
            return Merged::NotAlive;
        }
        self.put(cell, now_ms)
    }

    /// Takes in a cell of this node as it is published.
    pub(crate) fn publish(&mut self, cell: &Cell, now_ms: u64) -> Merged {
        self.put(cell, now_ms)
    }

    fn put(&mut self, cell: &Cell, now_ms: u64) -> Merged {
        if cell.id.counter.window.is_expired(cell.id.window_id, now_ms) {
            return Merged::Expired;
        }
        let full = self.cells >= self.cells_max;
        let bucket = self.bucket_mut(&cell.id.counter);
        let known = bucket.cells.get(&cell.id).copied();
        if known.is_none() && full {
            return Merged::Full;
        }
        let totals = known.unwrap_or_default().merged(cell.totals);
        if known == Some(totals) {
            return Merged::Unchanged;
        }
        if let Some(known) = known {
            bucket.hash = bucket.hash.wrapping_sub(hash::of_cell(&Cell { id: cell.id, totals: known }));
        }
        bucket.hash = bucket.hash.wrapping_add(hash::of_cell(&Cell { id: cell.id, totals }));
        bucket.cells.insert(cell.id, totals);
        self.cells += usize::from(known.is_none());
        Merged::Changed
    }

    /// What counts of a counter beside this life of the node, by window from `oldest` on, ascending.
    pub(crate) fn beside(&self, counter: &CounterId, oldest: WindowId) -> Vec<Beside> {
        let from = CellId { counter: *counter, window_id: oldest, actor: Actor::FIRST };
        let to = CellId { counter: *counter, window_id: WindowId(u64::MAX), actor: Actor::LAST };
        let cells = self.bucket(hash::bucket_of(counter)).cells.range(from..=to);
        let mut sums: Vec<Beside> = Vec::new();
        for (id, totals) in cells.filter(|(id, _)| id.actor != self.own) {
            if sums.last().is_none_or(|last| last.window_id != id.window_id) {
                sums.push(Beside { window_id: id.window_id, ..Beside::default() });
            }
            let Some(last) = sums.last_mut() else { continue };
            let sum = if id.actor.node == self.own.node { &mut last.before } else { &mut last.others };
            *sum = sum.saturating_add(totals.contribution());
        }
        sums
    }

    /// Says that earlier lives of this node counted so much in a window, by its journal. What the cells of those lives lack is
    /// added to that of the latest one that is known, which is over: nobody else ever writes it, and a larger one that
    /// turns up merges with it. Where none is known, a life before this one stands for them.
    pub(crate) fn owe(&mut self, settled: &Settlement, now_ms: u64) -> Merged {
        let Settlement { counter, window_id, amount } = *settled;
        let node = self.own.node;
        let Some(before) = self.own.incarnation.checked_sub(1) else { return Merged::Own };
        let [from, to] =
            [0, before].map(|incarnation| CellId { counter, window_id, actor: Actor { node, incarnation } });
        let earlier = self.bucket(hash::bucket_of(&counter)).cells.range(from..=to);
        let (mut known, mut latest) = (0u64, Cell { id: to, totals: Totals::default() });
        for (id, totals) in earlier {
            known = known.saturating_add(totals.contribution());
            latest = Cell { id: *id, totals: *totals };
        }
        let Some(lacking @ 1..) = amount.checked_sub(known) else { return Merged::Unchanged };
        let Totals { charged, refunded } = latest.totals;
        let totals = Totals { charged: charged.max(refunded).saturating_add(lacking), refunded };
        self.put(&Cell { totals, ..latest }, now_ms)
    }

    /// Says that a node lives as this actor. Cells without a window of its earlier incarnations are dropped; their
    /// requests ended with them. Returns what counters that concerns. News of an earlier incarnation changes nothing.
    pub fn alive(&mut self, actor: Actor) -> Vec<CounterId> {
        let known = self.alive.get(&actor.node);
        if known.is_some_and(|known| *known >= actor.incarnation) || actor.node == self.own.node {
            return Vec::new();
        }
        self.alive.insert(actor.node, actor.incarnation);
        self.drop_standing(|other| other.node == actor.node && other != actor)
    }

    /// Says that an actor is dead. Its cells without a window are dropped, and none is taken until it is said to live
    /// again. Returns what counters that concerns. News of an earlier incarnation changes nothing.
    pub fn dead(&mut self, actor: Actor) -> Vec<CounterId> {
        if actor.node == self.own.node || self.alive.get(&actor.node) != Some(&actor.incarnation) {
            return Vec::new();
        }
        self.alive.remove(&actor.node);
        self.drop_standing(|other| other.node == actor.node)
    }

    /// Drops the cells of windows that are no longer kept ([`Window::kept_until_ms`]) and returns how many.
    pub fn expire(&mut self, now_ms: u64) -> usize {
        self.drop_where(|id| id.counter.window.is_expired(id.window_id, now_ms)).len()
    }

    /// As [`Self::expire`], of one bucket: for who shall not keep others waiting for long.
    pub(crate) fn expire_in(&mut self, bucket: u8, now_ms: u64) -> usize {
        // A byte is below BUCKETS.
        let bucket = &mut self.buckets[usize::from(bucket)];
        let dropped = bucket.drop_where(|id| id.counter.window.is_expired(id.window_id, now_ms)).len();
        self.cells -= dropped;
        dropped
    }

    /// A hash for each bucket. Two tables whose hashes of a bucket agree hold the same cells in it.
    pub fn hashes(&self) -> [u64; BUCKETS] {
        array::from_fn(|at| self.buckets[at].hash)
    }

    /// The cells of a bucket, of all actors, in the order of their ids.
    pub fn cells_in(&self, bucket: u8) -> impl Iterator<Item = Cell> {
        self.bucket(bucket).cells.iter().map(|(id, totals)| Cell { id: *id, totals: *totals })
    }

    /// The cells of a bucket behind that one, of all actors, in the order of their ids.
    pub fn cells_after(&self, bucket: u8, after: Option<CellId>) -> impl Iterator<Item = Cell> {
        let from = after.map_or(Unbounded, Excluded);
        let cells = self.bucket(bucket).cells.range((from, Unbounded));
        cells.map(|(id, totals)| Cell { id: *id, totals: *totals })
    }

    fn drop_standing(&mut self, which: impl Fn(Actor) -> bool) -> Vec<CounterId> {
        let dropped = self.drop_where(|id| id.counter.window == Window::Standing && which(id.actor));
        dropped.into_iter().map(|id| id.counter).collect()
    }

    fn drop_where(&mut self, which: impl Fn(&CellId) -> bool) -> Vec<CellId> {
        let dropped: Vec<_> = self.buckets.iter_mut().flat_map(|bucket| bucket.drop_where(&which)).collect();
        self.cells -= dropped.len();
        dropped
    }

    fn bucket(&self, bucket: u8) -> &Bucket {
        // A byte is below BUCKETS.
        &self.buckets[usize::from(bucket)]
    }

    fn bucket_mut(&mut self, counter: &CounterId) -> &mut Bucket {
        // A byte is below BUCKETS.
        &mut self.buckets[usize::from(hash::bucket_of(counter))]
    }
}

#[cfg(test)]
mod tests;
