//! A counter of this node: charges one limit for one subject, and sees what the other nodes charged.

use crate::{
    Actor, CellId, CounterId, Hold, LimitId, WindowId,
    live::{Charged, LiveCell},
};
use arc_swap::{ArcSwap, Guard};
use std::sync::{Arc, mpsc::Sender};
use thiserror::Error;

/// Counts one limit for one subject, from any thread, without a lock.
///
/// It holds no amount: the limit comes with each charge, so a changed one applies at once.
#[derive(Debug)]
pub struct Counter {
    id: CounterId,
    actor: Actor,
    view: ArcSwap<View>,
    /// What others contribute, ascending by window.
    others: ArcSwap<Vec<(WindowId, u64)>>,
    changes: Sender<Arc<LiveCell>>,
}

/// This node's cells that count now.
#[derive(Debug)]
struct View {
    /// Those of earlier parts of a rolling window, ascending.
    earlier: Vec<Arc<LiveCell>>,
    current: Arc<LiveCell>,
}

/// A charge that its limit does not allow. Nothing is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("limit {} is exhausted", limit.0)]
pub struct Refused {
    /// The limit that refuses.
    pub limit: LimitId,
    /// When windows that now count will have left enough room, if nothing else is charged (unix milliseconds).
    /// Nothing where time alone makes no room: a limit without a window, or an amount above the whole limit.
    pub retry_at_ms: Option<u64>,
}

impl Counter {
    /// An empty counter in the window of `now_ms`.
    pub(crate) fn new(id: CounterId, actor: Actor, changes: Sender<Arc<LiveCell>>, now_ms: u64) -> Self {
        let cell_id = CellId { counter: id, window_id: id.window.id_at(now_ms), actor };
        let current = LiveCell::new(cell_id, changes.clone());
        let view = View { earlier: Vec::new(), current };
        Self { id, actor, view: ArcSwap::from_pointee(view), others: ArcSwap::default(), changes }
    }

    /// What it counts.
    pub fn id(&self) -> &CounterId {
        &self.id
    }

    /// Charges `amount` if this node's and the others' share of the view, and the amount, are at most `limit`.
    ///
    /// # Errors
    ///
    /// The limit has no room.
    pub fn charge(&self, amount: u64, limit: u64, now_ms: u64) -> Result<Hold, Refused> {
        // Ends: a sealed cell means that another thread moved the view on, which happens once a window.
        loop {
            let view = self.view_at(now_ms);
            let taken = self.others_in(&view).saturating_add(view.sealed_sum());
            let charged = match limit.checked_sub(taken) {
                Some(room) => view.current.charge_within(amount, room),
                None => Charged::NoRoom,
            };
            match charged {
                Charged::Yes => return Ok(Hold::new(Arc::clone(&view.current), amount)),
                Charged::NoRoom => {
                    let retry_at_ms = self.retry_at_ms(&view, amount, limit);
                    return Err(Refused { limit: self.id.limit, retry_at_ms });
                }
                Charged::Sealed => {}
            }
        }
    }

    /// What counts at a time, of this node and of the others, in the limit's unit.
    pub fn used(&self, now_ms: u64) -> u64 {
        let view = self.view_at(now_ms);
        let own = view.cells().fold(0, |sum: u64, cell| sum.saturating_add(cell.totals().contribution()));
        own.saturating_add(self.others_in(&view))
    }

    /// The newest window in which it has counted. It never goes back, even if the clock does.
    pub fn newest(&self) -> WindowId {
        self.view.load().newest()
    }

    /// Replaces what the others contribute: by window, ascending.
    pub(crate) fn set_others(&self, others: Vec<(WindowId, u64)>) {
        self.others.store(Arc::new(others));
    }

    /// The view at a time, or the newest there is where the clock went back.
    fn view_at(&self, now_ms: u64) -> Guard<Arc<View>> {
        let id = self.id.window.id_at(now_ms);
        let mut view = self.view.load();
        // Ends: after the exchange, ours or another thread's is the newer view.
        while view.newest() < id {
            self.view.compare_and_swap(&*view, Arc::new(self.next_view(&view, id)));
            view = self.view.load();
        }
        view
    }

    fn next_view(&self, view: &View, id: WindowId) -> View {
        let oldest = self.id.window.oldest_in_view(id);
        let earlier = view.cells().filter(|cell| cell.id().window_id >= oldest).cloned().collect();
        let cell_id = CellId { counter: self.id, window_id: id, actor: self.actor };
        View { earlier, current: LiveCell::new(cell_id, self.changes.clone()) }
    }

    fn others_in(&self, view: &View) -> u64 {
        let (oldest, newest) = (self.id.window.oldest_in_view(view.newest()), view.newest());
        let others = self.others.load();
        let first = others.partition_point(|(id, _)| *id < oldest);
        let in_view = others.iter().skip(first).take_while(|(id, _)| *id <= newest);
        in_view.fold(0, |sum, (_, amount)| sum.saturating_add(*amount))
    }

    /// When so many of the oldest windows will have left the view that the amount fits.
    fn retry_at_ms(&self, view: &View, amount: u64, limit: u64) -> Option<u64> {
        let room = limit.checked_sub(amount)?;
        let (oldest, newest) = (self.id.window.oldest_in_view(view.newest()), view.newest());
        let others = self.others.load();
        let own = view.cells().map(|cell| (cell.id().window_id, cell.totals().contribution()));
        let parts = || others.iter().copied().chain(own.clone());
        // At most PARTS_MAX + 1 windows, each with a pass over as many amounts; only refusals pay for it.
        let freed = (oldest.0..=newest.0).map(WindowId).find(|&left| {
            let kept = parts().filter(|(id, _)| *id > left && *id <= newest);
            kept.fold(0, |sum: u64, (_, amount)| sum.saturating_add(amount)) <= room
        })?;
        self.id.window.leaves_view_ms(freed)
    }
}

impl View {
    fn newest(&self) -> WindowId {
        self.current.id().window_id
    }

    fn cells(&self) -> impl Iterator<Item = &Arc<LiveCell>> + Clone {
        self.earlier.iter().chain([&self.current])
    }

    /// What the earlier cells contribute. They are sealed first: a thread that still has the view before this one
    /// could otherwise charge the cell before, unseen, while this one charges the current cell.
    fn sealed_sum(&self) -> u64 {
        self.earlier.iter().fold(0, |sum, cell| {
            cell.seal();
            sum.saturating_add(cell.totals().contribution())
        })
    }
}

#[cfg(test)]
mod tests;
