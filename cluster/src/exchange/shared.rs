//! What all tasks of the exchange have in common.

use super::{
    clock::Clock,
    counts::{Tally, add},
    outgoing::Flags,
    roster::{Known, Reach, Roster, Unwanted},
    settings::ExchangeSettings,
};
use crate::{Channels, NodeId};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};
use trestle_counters::{Actor, Cell, Cells, Taken};

pub(super) struct Shared {
    pub(super) cells: Arc<Cells>,
    pub(super) channels: Channels,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) settings: ExchangeSettings,
    pub(super) tally: Tally,
    /// The sequence of the last change that was collected; sent anew at each beat.
    pub(super) beats: watch::Sender<u64>,
    /// Wakes who waits for acknowledgements.
    pub(super) acknowledged: Notify,
    roster: Mutex<Roster>,
    cut: AtomicBool,
    ended: AtomicBool,
    /// What only the journal knew was put into the table.
    owed: AtomicBool,
    random: AtomicU64,
    /// Messages whose cells are lost on purpose.
    #[cfg(test)]
    pub(super) lose: AtomicU64,
}

impl Shared {
    pub(super) fn new(
        cells: Arc<Cells>,
        channels: Channels,
        clock: Arc<dyn Clock>,
        settings: ExchangeSettings,
    ) -> Self {
        Self {
            random: AtomicU64::new(settings.seed ^ cells.own().node.0),
            cells,
            channels,
            clock,
            settings,
            tally: Tally::default(),
            beats: watch::Sender::new(0),
            acknowledged: Notify::new(),
            roster: Mutex::default(),
            cut: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            owed: AtomicBool::new(false),
            #[cfg(test)]
            lose: AtomicU64::new(0),
        }
    }

    pub(super) fn own(&self) -> NodeId {
        self.cells.own().node.0
    }

    /// Nothing that is locked here is left half done by a panic.
    pub(super) fn roster(&self) -> MutexGuard<'_, Roster> {
        self.roster.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A node says who it is.
    pub(super) fn meet(&self, actor: Actor) -> Result<(), Unwanted> {
        self.roster().meet(actor, self.own())?;
        self.cells.alive(actor);
        Ok(())
    }

    /// Changes what is known of a life of a node, unless it is over.
    pub(super) fn note(&self, actor: Actor, change: impl FnOnce(&mut Known)) -> Result<(), Unwanted> {
        self.roster().meet(actor, self.own()).map(change)
    }

    /// The connection to a node is closed.
    pub(super) fn disconnected(&self, node: NodeId) {
        if let Some(known) = self.roster().get_mut(node) {
            known.answered = None;
            known.synced = false;
        }
    }

    /// Takes in cells that came, and counts them.
    pub(super) fn take(&self, cells: &[Cell]) -> Taken {
        let taken = self.cells.merge(cells, self.clock.now_ms());
        add(&self.tally.cells_new, taken.changed);
        add(&self.tally.cells_full, taken.full);
        taken
    }

    pub(super) fn flags(&self) -> Flags {
        Flags { cut: self.cut.load(Relaxed), ended: self.ended.load(Relaxed) }
    }

    /// From here on this life counts no more.
    pub(super) fn end(&self) {
        self.ended.store(true, Relaxed);
    }

    /// Collects what changed, looks whether all members are within reach, and wakes those who send.
    pub(super) fn beat(&self) {
        self.cells.collect(self.clock.now_ms());
        self.look();
        self.beats.send_replace(self.cells.sequence());
    }

    /// Looks whether all members are within reach, and has counters spend by it.
    pub(super) fn look(&self) {
        // Locked until counters spend by it: else a look that came too late could end a cut that has just begun.
        let roster = self.roster();
        let reach = roster.reach(self.own(), self.settings.unreachable_after, Instant::now());
        self.cut.store(reach.cut, Relaxed);
        self.spend_by(reach, roster.members_len());
    }

    /// Whether it is time to tell what only the journal knows: all others were compared with. True once.
    pub(super) fn owes(&self) -> bool {
        let is_time = self.roster().members_len() > 1 && !self.cells.rights().is_frozen();
        is_time && !self.owed.swap(true, Relaxed)
    }

    fn spend_by(&self, reach: Reach, members: usize) {
        let rights = self.cells.rights();
        match (reach.frozen, rights.is_frozen()) {
            (true, false) => {
                rights.freeze(members.try_into().unwrap_or(u32::MAX));
                add(&self.tally.freezes, 1);
                tracing::warn!(
                    members,
                    "a member is out of reach: limits are spent by shares until it is back"
                );
            }
            (false, true) => {
                rights.heal();
                tracing::info!(members, "all members are within reach: limits are spent by what all see");
            }
            _ => {}
        }
    }

    /// A number that differs from call to call and from node to node: SplitMix64. For choices that want to differ only.
    pub(super) fn random(&self) -> u64 {
        let word = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Relaxed);
        let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Whether the cells of this message are to be lost on purpose.
    pub(super) fn loses(&self) -> bool {
        #[cfg(test)]
        if self.lose.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
            return true;
        }
        false
    }
}
