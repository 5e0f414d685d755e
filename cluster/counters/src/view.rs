//! What counts now, for refusals and for show.

use crate::{LimitId, Share, Window, WindowId};
use smallvec::SmallVec;
use thiserror::Error;

/// What a counter counts at a time, in the limit's unit. A look, not a decision: threads charge meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// What was settled, with all that others contribute.
    pub spent: u64,
    /// What requests of this node hold and have not settled.
    pub held: u64,
    /// The window that runs.
    pub window_id: WindowId,
    /// When the oldest window that counts began (unix milliseconds).
    pub start_ms: u64,
    /// When something that counts leaves for the first time: the calendar window's end, or the end of the oldest part
    /// of a rolling window that holds something. Nothing without a window.
    pub resets_at_ms: Option<u64>,
}

impl View {
    /// What counts against the limit.
    pub fn used(&self) -> u64 {
        self.spent.saturating_add(self.held)
    }
}

/// A charge that its limit does not allow. Nothing is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("limit {} is exhausted", limit.0)]
pub struct Refused {
    /// Which of the charges that were asked for.
    pub at: usize,
    /// The limit that refuses.
    pub limit: LimitId,
    /// What it has left for this node, in its unit: less than was asked for.
    pub left: u64,
    /// As [`View::resets_at_ms`].
    pub resets_at_ms: Option<u64>,
    /// When windows that now count will have left enough room, if nothing else is charged (unix milliseconds).
    /// Nothing where time alone makes no room: a limit without a window, or an amount above the whole limit.
    pub retry_at_ms: Option<u64>,
    /// The share of a strict limit that this node has to itself; none of others, nor where it is alone.
    pub share: Option<Share>,
}

impl Refused {
    /// Where the node itself may spend less than the limit has left.
    pub(crate) fn at_most(self, left: u64, share: Option<Share>) -> Self {
        Self { left: self.left.min(left), share, ..self }
    }
}

/// What each window up to the newest contributes, in any order, a window more than once.
pub(crate) struct Counted {
    pub(crate) window: Window,
    pub(crate) newest: WindowId,
    pub(crate) parts: SmallVec<[(WindowId, u64); 4]>,
}

impl Counted {
    pub(crate) fn used(&self) -> u64 {
        self.used_after(None)
    }

    /// Those of later windows, or all.
    fn used_after(&self, left: Option<WindowId>) -> u64 {
        let kept = self.parts.iter().filter(|(id, _)| left.is_none_or(|left| *id > left));
        kept.fold(0, |sum: u64, (_, amount)| sum.saturating_add(*amount))
    }

    pub(crate) fn oldest(&self) -> WindowId {
        self.window.oldest_in_view(self.newest)
    }

    pub(crate) fn resets_at_ms(&self) -> Option<u64> {
        let holding = self.parts.iter().filter(|(_, amount)| *amount > 0).map(|(id, _)| *id);
        self.window.leaves_view_ms(holding.min().unwrap_or(self.newest))
    }

    /// When so many of the oldest windows will have left the view that the amount fits.
    fn retry_at_ms(&self, amount: u64, limit: u64) -> Option<u64> {
        let room = limit.checked_sub(amount)?;
        // At most PARTS_MAX + 1 windows, each with a pass over as many amounts; only refusals pay for it.
        let mut windows = (self.oldest().0..=self.newest.0).map(WindowId);
        self.window.leaves_view_ms(windows.find(|left| self.used_after(Some(*left)) <= room)?)
    }

    /// The refusal of an amount.
    pub(crate) fn refuse(&self, limit: LimitId, amount: u64, limit_amount: u64) -> Refused {
        Refused {
            at: 0,
            limit,
            left: limit_amount.saturating_sub(self.used()),
            resets_at_ms: self.resets_at_ms(),
            retry_at_ms: self.retry_at_ms(amount, limit_amount),
            share: None,
        }
    }
}
