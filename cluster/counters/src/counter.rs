//! A counter of this node: charges one limit for one subject, and sees what the other nodes charged.

use crate::{
    Actor, Bound, CellId, CounterId, Refused, Rights, Rule, Share, View, Window, WindowId,
    hold::Hold,
    live::{Charged, LiveCell},
    rights::{Cut, Frozen},
    view::Counted,
};
use arc_swap::{ArcSwap, Guard};
use std::sync::{Arc, mpsc::Sender};

/// Counts one limit for one subject, from any thread, without a lock.
///
/// It holds no amount: the limit comes with each charge, so a changed one applies at once.
#[derive(Debug)]
pub struct Counter {
    cells: ArcSwap<InView>,
    id: CounterId,
    actor: Actor,
    changes: Sender<Arc<LiveCell>>,
    rights: Arc<Rights>,
}

/// What counts now. In one piece, since a charge to a counter that was idle pays for each piece that it must fetch.
#[derive(Debug)]
struct InView {
    newest: WindowId,
    /// This node's, in the newest window.
    current: Arc<LiveCell>,
    /// This node's of earlier parts of a rolling window, ascending.
    earlier: Box<[Arc<LiveCell>]>,
    /// What counts beside, ascending by window.
    beside: Arc<[Beside]>,
    /// What had been counted when the node was last found to be cut off.
    frozen: Option<Arc<Frozen>>,
}

/// What counts in one window beside the cells of this life of the node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Beside {
    pub(crate) window_id: WindowId,
    /// By other nodes.
    pub(crate) others: u64,
    /// By earlier lives of this node.
    pub(crate) before: u64,
}

impl Beside {
    pub(crate) fn sum(&self) -> u64 {
        self.others.saturating_add(self.before)
    }
}

impl Counter {
    /// An empty counter in the window of `now_ms`.
    pub(crate) fn new(
        id: CounterId,
        actor: Actor,
        changes: Sender<Arc<LiveCell>>,
        rights: Arc<Rights>,
        now_ms: u64,
    ) -> Self {
        let newest = id.window.id_at(now_ms);
        let current = LiveCell::new(CellId { counter: id, window_id: newest, actor }, changes.clone());
        let cells = InView { newest, current, earlier: Box::default(), beside: Arc::default(), frozen: None };
        Self { cells: ArcSwap::from_pointee(cells), id, actor, changes, rights }
    }

    /// What it counts.
    pub fn id(&self) -> &CounterId {
        &self.id
    }

    /// Charges `amount` if that, what this node and the others charged, and what the rule leaves to this node, allow it.
    ///
    /// # Errors
    ///
    /// The limit has no room.
    pub(crate) fn charge(&self, amount: u64, limit: impl Into<Bound>, now_ms: u64) -> Result<Hold, Refused> {
        let limit = limit.into();
        // Ends: a sealed cell means that another thread moved the view on, which happens once a window.
        loop {
            let cells = self.frozen(limit.rule, self.cells_at(now_ms));
            let most = self.most(&cells, limit, self.in_view(&cells));
            let earlier = cells.sealed_sum();
            let charged = match most.and_then(|most| most.checked_sub(earlier)) {
                Some(room) => cells.current.charge_within(amount, room),
                None => Charged::NoRoom,
            };
            match charged {
                Charged::Yes => {
                    let hold = Hold::new(Arc::clone(&cells.current), amount);
                    if cells.fit_still(earlier, most.unwrap_or(0)) {
                        return Ok(hold);
                    }
                    // It gives itself back, through the refund side as after any refusal.
                    drop(hold);
                    return Err(self.refuse(&cells, amount, (limit, most)));
                }
                Charged::NoRoom => return Err(self.refuse(&cells, amount, (limit, most))),
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
        limit: impl Into<Bound>,
        now_ms: u64,
    ) -> Result<(), Refused> {
        let limit = limit.into();
        if let Window::Rolling(_) = self.id.window {
            hold.absorb(self.charge(amount, limit, now_ms)?);
            return Ok(());
        }
        let id = hold.cell().id().window_id;
        let cells = self.frozen(limit.rule, self.cells.load());
        let most = self.most(&cells, limit, (id, id));
        // Only earlier parts of a rolling window are ever sealed.
        if most.map(|most| hold.cell().charge_within(amount, most)) == Some(Charged::Yes) {
            hold.add(amount);
            return Ok(());
        }
        let own = hold.cell().totals().contribution();
        let parts = [(id, own), (id, cells.beside_between((id, id)).sum())];
        let counted = Counted { window: self.id.window, newest: id, parts: parts.into_iter().collect() };
        let refused = counted.refuse(self.id.limit, amount, limit.amount);
        Err(refused.at_most(most.unwrap_or(0).saturating_sub(own), self.share(limit.rule, id)))
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

    /// The share of its limit, if that is strict, that this node has to itself in the newest view; none on a node that is
    /// alone.
    pub fn own_share(&self) -> Option<Share> {
        self.rights.share(self.id.window, self.newest())
    }

    /// The newest window in which it has counted. It never goes back, even if the clock does.
    pub fn newest(&self) -> WindowId {
        self.cells.load().newest
    }

    /// Replaces what counts beside: by window, ascending.
    pub(crate) fn set_beside(&self, beside: Vec<Beside>) {
        let beside: Arc<[_]> = beside.into();
        self.cells.rcu(|cells| {
            // What was frozen in a cut that healed is of no use any more.
            let frozen = self.rights.cut().and(cells.frozen.clone());
            InView { beside: Arc::clone(&beside), frozen, ..cells.parts() }
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
    fn cells_at(&self, now_ms: u64) -> Guard<Arc<InView>> {
        let id = self.id.window.id_at(now_ms);
        let mut cells = self.cells.load();
        // Ends: after the exchange, ours or another thread's is the newer view.
        while cells.newest < id {
            self.cells.compare_and_swap(&*cells, Arc::new(self.next_cells(&cells, id)));
            cells = self.cells.load();
        }
        cells
    }

    fn next_cells(&self, cells: &InView, id: WindowId) -> InView {
        let oldest = self.id.window.oldest_in_view(id);
        let earlier = cells.iter().filter(|cell| cell.id().window_id >= oldest).cloned().collect();
        let cell_id = CellId { counter: self.id, window_id: id, actor: self.actor };
        let current = LiveCell::new(cell_id, self.changes.clone());
        InView { newest: id, current, earlier, ..cells.parts() }
    }

    /// The same cells, or later ones; where the rule has it so and the node is cut off, with what was counted at the cut.
    fn frozen(&self, rule: Rule, mut cells: Guard<Arc<InView>>) -> Guard<Arc<InView>> {
        let Some(cut) = self.cut_for(rule) else { return cells };
        // Ends: after the exchange the cells have it, or they were replaced meanwhile, which happens a few times a second.
        while !cells.frozen.as_ref().is_some_and(|frozen| frozen.is_of(cut)) {
            let own = cells.iter().map(|cell| (cell.id().window_id, cell.totals().contribution(), 0));
            let beside = cells.beside.iter().map(|beside| (beside.window_id, 0, beside.sum()));
            let frozen = Some(Arc::new(Frozen::new(cut, own.chain(beside))));
            self.cells.compare_and_swap(&*cells, Arc::new(InView { frozen, ..cells.parts() }));
            cells = self.cells.load();
        }
        cells
    }

    fn cut_for(&self, rule: Rule) -> Option<Cut> {
        if rule == Rule::Share { self.rights.cut() } else { None }
    }

    fn share(&self, rule: Rule, newest: WindowId) -> Option<Share> {
        if rule == Rule::Strict { self.rights.share(self.id.window, newest) } else { None }
    }

    fn in_view(&self, cells: &InView) -> (WindowId, WindowId) {
        (self.id.window.oldest_in_view(cells.newest), cells.newest)
    }

    /// Most that the cells of this node's life may come to in the windows of a view together; nothing if others have
    /// more than there is.
    fn most(&self, cells: &InView, limit: Bound, view: (WindowId, WindowId)) -> Option<u64> {
        let Beside { others, before, .. } = cells.beside_between(view);
        let left = limit.amount.checked_sub(others.saturating_add(before))?;
        match limit.rule {
            Rule::Optimistic => Some(left),
            Rule::Share => {
                let frozen = self.rights.cut().and(cells.frozen.as_ref());
                Some(frozen.map_or(left, |frozen| left.min(frozen.most(limit.amount, view))))
            }
            Rule::Strict => {
                let own = self.rights.strict_most(limit.amount, self.id.window, view);
                Some(left.min(own.checked_sub(before)?))
            }
        }
    }

    /// What all contribute to the view in which `newest` runs.
    fn counted(&self, cells: &InView, newest: WindowId) -> Counted {
        let oldest = self.id.window.oldest_in_view(newest);
        let own = cells.iter().map(|cell| (cell.id().window_id, cell.totals().contribution()));
        let beside = cells.beside.iter().map(|beside| (beside.window_id, beside.sum()));
        let all = beside.chain(own);
        let parts = all.filter(|(id, _)| (oldest..=newest).contains(id)).collect();
        Counted { window: self.id.window, newest, parts }
    }

    /// `limit` comes with the most that this node may come to.
    fn refuse(&self, cells: &InView, amount: u64, limit: (Bound, Option<u64>)) -> Refused {
        let view = self.in_view(cells);
        let in_view = cells.iter().filter(|cell| cell.id().window_id >= view.0);
        let own = in_view.fold(0, |sum: u64, cell| sum.saturating_add(cell.totals().contribution()));
        let refused = self.counted(cells, cells.newest).refuse(self.id.limit, amount, limit.0.amount);
        let share = self.share(limit.0.rule, cells.newest);
        refused.at_most(limit.1.unwrap_or(0).saturating_sub(own), share)
    }
}

impl InView {
    fn iter(&self) -> impl Iterator<Item = &Arc<LiveCell>> {
        self.earlier.iter().chain([&self.current])
    }

    /// The same pieces, to replace some of them.
    fn parts(&self) -> Self {
        Self {
            newest: self.newest,
            current: Arc::clone(&self.current),
            earlier: self.earlier.clone(),
            beside: Arc::clone(&self.beside),
            frozen: self.frozen.clone(),
        }
    }

    /// What counts beside in these windows, both among them.
    fn beside_between(&self, (oldest, newest): (WindowId, WindowId)) -> Beside {
        let first = self.beside.partition_point(|beside| beside.window_id < oldest);
        let in_view = self.beside.iter().skip(first).take_while(|beside| beside.window_id <= newest);
        in_view.fold(Beside::default(), |sum, beside| Beside {
            others: sum.others.saturating_add(beside.others),
            before: sum.before.saturating_add(beside.before),
            ..sum
        })
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
