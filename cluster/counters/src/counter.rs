//! A counter of this node: charges one limit for one subject, and sees what the other nodes charged.

use crate::{
    Actor, CellId, CounterId, Refused, View, Window, WindowId,
    hold::Hold,
    live::{Charged, LiveCell},
    view::Counted,
};
use arc_swap::{ArcSwap, Guard};
use std::sync::{Arc, mpsc::Sender};

/// Counts one limit for one subject, from any thread, without a lock.
///
/// It holds no amount: the limit comes with each charge, so a changed one applies at once.
#[derive(Debug)]
pub struct Counter {
    cells: ArcSwap<Cells>,
    id: CounterId,
    actor: Actor,
    changes: Sender<Arc<LiveCell>>,
}

/// What counts now. In one piece, since a charge to a counter that was idle pays for each piece that it must fetch.
#[derive(Debug)]
struct Cells {
    newest: WindowId,
    /// This node's, in the newest window.
    current: Arc<LiveCell>,
    /// This node's of earlier parts of a rolling window, ascending.
    earlier: Box<[Arc<LiveCell>]>,
    /// What others contribute, ascending by window.
    others: Arc<[(WindowId, u64)]>,
}

impl Counter {
    /// An empty counter in the window of `now_ms`.
    pub(crate) fn new(id: CounterId, actor: Actor, changes: Sender<Arc<LiveCell>>, now_ms: u64) -> Self {
        let newest = id.window.id_at(now_ms);
        let current = LiveCell::new(CellId { counter: id, window_id: newest, actor }, changes.clone());
        let cells = Cells { newest, current, earlier: Box::default(), others: Arc::default() };
        Self { cells: ArcSwap::from_pointee(cells), id, actor, changes }
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
    pub(crate) fn charge(&self, amount: u64, limit: u64, now_ms: u64) -> Result<Hold, Refused> {
        // Ends: a sealed cell means that another thread moved the view on, which happens once a window.
        loop {
            let cells = self.cells_at(now_ms);
            let (others, earlier) = (self.others_in(&cells), cells.sealed_sum());
            let charged = match limit.checked_sub(others.saturating_add(earlier)) {
                Some(room) => cells.current.charge_within(amount, room),
                None => Charged::NoRoom,
            };
            match charged {
                Charged::Yes => {
                    let hold = Hold::new(Arc::clone(&cells.current), amount);
                    if cells.fit_still(earlier, limit.saturating_sub(others)) {
                        return Ok(hold);
                    }
                    // It gives itself back, through the refund side as after any refusal.
                    drop(hold);
                    return Err(self.refuse(&cells, amount, limit));
                }
                Charged::NoRoom => return Err(self.refuse(&cells, amount, limit)),
                Charged::Sealed => {}
            }
        }
    }

    /// Adds to a hold of this counter, in the window in which it was admitted, if the limit has room.
    ///
    /// A calendar window is asked itself, even if it has ended. A part of a rolling window takes no new charges once
    /// another runs: what runs now is asked, and has the amount until the hold's own part has it.
    ///
    /// # Errors
    ///
    /// The limit has no room.
    pub(crate) fn top_up(
        &self,
        hold: &mut Hold,
        amount: u64,
        limit: u64,
        now_ms: u64,
    ) -> Result<(), Refused> {
        if let Window::Rolling(_) = self.id.window {
            hold.absorb(self.charge(amount, limit, now_ms)?);
            return Ok(());
        }
        let id = hold.cell().id().window_id;
        let others = self.cells.load().others_between(id, id);
        let room = limit.checked_sub(others);
        // Only earlier parts of a rolling window are ever sealed.
        if room.map(|room| hold.cell().charge_within(amount, room)) == Some(Charged::Yes) {
            hold.add(amount);
            return Ok(());
        }
        let parts = [(id, hold.cell().totals().contribution()), (id, others)];
        let counted = Counted { window: self.id.window, newest: id, parts: parts.into_iter().collect() };
        Err(counted.refuse(self.id.limit, amount, limit))
    }

    /// What counts at a time, without a charge. The clock may have gone back: then it is what counts in the newest
    /// window there is.
    pub fn view(&self, now_ms: u64) -> View {
        let cells = self.cells.load();
        let newest = cells.newest.max(self.id.window.id_at(now_ms));
        let counted = self.counted(&cells, newest);
        let in_view = cells.iter().filter(|cell| cell.id().window_id >= counted.oldest());
        let held = in_view.fold(0, |sum: u64, cell| sum.saturating_add(cell.held()));
        View {
            spent: counted.used().saturating_sub(held),
            held,
            window_id: newest,
            start_ms: self.id.window.start_ms(counted.oldest()),
            resets_at_ms: counted.resets_at_ms(),
        }
    }

    /// The newest window in which it has counted. It never goes back, even if the clock does.
    pub fn newest(&self) -> WindowId {
        self.cells.load().newest
    }

    /// Replaces what the others contribute: by window, ascending.
    pub(crate) fn set_others(&self, others: Vec<(WindowId, u64)>) {
        let others: Arc<[_]> = others.into();
        self.cells.rcu(|cells| Cells {
            newest: cells.newest,
            current: Arc::clone(&cells.current),
            earlier: cells.earlier.clone(),
            others: Arc::clone(&others),
        });
    }

    /// Lets go of cells that no longer count, where it idles.
    pub(crate) fn trim(&self, now_ms: u64) {
        let cells = self.cells.load();
        if !cells.earlier.is_empty() && self.id.window.is_expired(cells.newest, now_ms) {
            self.cells_at(now_ms);
        }
    }

    /// The cells in view at a time, or in the newest view there is where the clock went back.
    fn cells_at(&self, now_ms: u64) -> Guard<Arc<Cells>> {
        let id = self.id.window.id_at(now_ms);
        let mut cells = self.cells.load();
        // Ends: after the exchange, ours or another thread's is the newer view.
        while cells.newest < id {
            self.cells.compare_and_swap(&*cells, Arc::new(self.next_cells(&cells, id)));
            cells = self.cells.load();
        }
        cells
    }

    fn next_cells(&self, cells: &Cells, id: WindowId) -> Cells {
        let oldest = self.id.window.oldest_in_view(id);
        let earlier = cells.iter().filter(|cell| cell.id().window_id >= oldest).cloned().collect();
        let cell_id = CellId { counter: self.id, window_id: id, actor: self.actor };
        let current = LiveCell::new(cell_id, self.changes.clone());
        Cells { newest: id, current, earlier, others: Arc::clone(&cells.others) }
    }

    fn others_in(&self, cells: &Cells) -> u64 {
        cells.others_between(self.id.window.oldest_in_view(cells.newest), cells.newest)
    }

    /// What all contribute to the view in which `newest` runs.
    fn counted(&self, cells: &Cells, newest: WindowId) -> Counted {
        let oldest = self.id.window.oldest_in_view(newest);
        let own = cells.iter().map(|cell| (cell.id().window_id, cell.totals().contribution()));
        let all = cells.others.iter().copied().chain(own);
        let parts = all.filter(|(id, _)| (oldest..=newest).contains(id)).collect();
        Counted { window: self.id.window, newest, parts }
    }

    fn refuse(&self, cells: &Cells, amount: u64, limit: u64) -> Refused {
        self.counted(cells, cells.newest).refuse(self.id.limit, amount, limit)
    }
}

impl Cells {
    fn iter(&self) -> impl Iterator<Item = &Arc<LiveCell>> {
        self.earlier.iter().chain([&self.current])
    }

    /// What the others contribute in these windows, both among them.
    fn others_between(&self, oldest: WindowId, newest: WindowId) -> u64 {
        let first = self.others.partition_point(|(id, _)| *id < oldest);
        let in_view = self.others.iter().skip(first).take_while(|(id, _)| *id <= newest);
        in_view.fold(0, |sum, (_, amount)| sum.saturating_add(*amount))
    }

    /// What the earlier cells contribute. They are sealed first: a thread that still has the view before this one
    /// could otherwise charge the cell before, unseen, while this one charges the current cell.
    fn sealed_sum(&self) -> u64 {
        self.earlier.iter().fold(0, |sum, cell| {
            cell.seal();
            sum.saturating_add(cell.totals().contribution())
        })
    }

    /// Whether a charge that went through still fits, the earlier cells having been summed before it. A top-up may
    /// have moved from the current cell to an earlier one in between, and then neither was seen with it.
    fn fit_still(&self, earlier_before: u64, room: u64) -> bool {
        let earlier = self.sealed_sum();
        earlier <= earlier_before || earlier.saturating_add(self.current.totals().contribution()) <= room
    }
}

#[cfg(test)]
mod tests;
