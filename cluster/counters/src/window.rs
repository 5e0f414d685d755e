//! Windows: from a time to the number of its window, and back to the window's start and end.

use crate::{Calendar, Month, Weekday};
use std::fmt;
use thiserror::Error;

const SECOND_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const DAY_MS: u64 = 24 * 60 * MINUTE_MS;

/// How long a window is kept at least after its end: clocks of nodes must not differ by more.
const KEPT_MS_MIN: u64 = 10 * MINUTE_MS;

/// Most parts of a rolling window.
pub const PARTS_MAX: u32 = 64;
/// Longest rolling window, in milliseconds: ten years of 366 days.
pub const LENGTH_MS_MAX: u64 = 3_660 * DAY_MS;

/// Which time a limit counts over. A part of a counter's identity: a limit whose window is edited counts anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Window {
    /// No window: what is held now (concurrency).
    Standing,
    /// A unit of the UTC calendar.
    Calendar(Calendar),
    /// The last so many milliseconds.
    Rolling(Rolling),
}

/// A rolling window, made by [`Window::rolling`].
///
/// It is counted in parts that are aligned to the epoch, each with a window id of its own. The view at a time is the
/// part that runs and the `parts` before it, all counted whole: at least the length and at most one part more. So no
/// stretch of the window's length ever holds more than was let into one view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rolling {
    length_ms: u64,
    parts: u32,
}

/// The number of a window (of a part, where it rolls), derived from the clock. Numbers of one [`Window`] ascend with
/// time, one by one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WindowId(pub u64);

/// Why there is no such rolling window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WindowError {
    /// The length.
    #[error("a rolling window is from 1 to {LENGTH_MS_MAX} ms long")]
    Length,
    /// The number of parts.
    #[error("a rolling window has from 1 to {PARTS_MAX} parts of at least 1 ms")]
    Parts,
}

impl Window {
    /// A rolling window. More parts are closer to the length and cost more cells; parts are rounded up to whole
    /// milliseconds.
    ///
    /// # Errors
    ///
    /// A length of 0 or above [`LENGTH_MS_MAX`]; no parts, more than [`PARTS_MAX`], or more than milliseconds.
    pub fn rolling(length_ms: u64, parts: u32) -> Result<Self, WindowError> {
        if !(1..=LENGTH_MS_MAX).contains(&length_ms) {
            return Err(WindowError::Length);
        }
        if !(1..=PARTS_MAX).contains(&parts) || u64::from(parts) > length_ms {
            return Err(WindowError::Parts);
        }
        Ok(Self::Rolling(Rolling { length_ms, parts }))
    }

    /// A calendar week that begins on that day.
    pub fn week(first: Weekday) -> Self {
        Self::Calendar(Calendar::Week(first))
    }

    /// A year that begins with that month, as fiscal years do.
    pub fn year(first: Month) -> Self {
        Self::Calendar(Calendar::Year(first))
    }

    /// The window that a time (unix milliseconds) lies in.
    pub fn id_at(self, unix_ms: u64) -> WindowId {
        WindowId(match self {
            Self::Standing => 0,
            Self::Rolling(rolling) => unix_ms / rolling.part_ms(),
            Self::Calendar(unit) => unit.number_at(unix_ms),
        })
    }

    /// When a window begins (unix milliseconds), but never before the epoch.
    pub fn start_ms(self, id: WindowId) -> u64 {
        match self {
            Self::Standing => 0,
            Self::Rolling(rolling) => id.0.saturating_mul(rolling.part_ms()),
            Self::Calendar(unit) => unit.start_ms(id.0),
        }
    }

    /// When a window ends: its first millisecond (unix) that is no longer in it. Without a window that is never.
    pub fn end_ms(self, id: WindowId) -> Option<u64> {
        (self != Self::Standing).then(|| self.start_ms(WindowId(id.0.saturating_add(1))))
    }

    /// The oldest window that still counts while `newest` runs.
    pub fn oldest_in_view(self, newest: WindowId) -> WindowId {
        WindowId(newest.0.saturating_sub(self.earlier_in_view()))
    }

    /// When a window no longer counts (unix milliseconds): what it holds is free again. Without a window that is never.
    pub fn leaves_view_ms(self, id: WindowId) -> Option<u64> {
        self.end_ms(WindowId(id.0.saturating_add(self.earlier_in_view())))
    }

    /// Until when cells of a window are kept and taken from others (unix milliseconds, exclusive): its end and twice
    /// its length, or ten minutes where that is more. Without a window time ends nothing.
    pub fn kept_until_ms(self, id: WindowId) -> Option<u64> {
        let end = self.end_ms(id)?;
        let length = match self {
            Self::Rolling(rolling) => rolling.length_ms,
            _ => end - self.start_ms(id),
        };
        Some(end.saturating_add(length.saturating_mul(2).max(KEPT_MS_MIN)))
    }

    /// Whether the cells of a window are no longer kept.
    pub(crate) fn is_expired(self, id: WindowId, now_ms: u64) -> bool {
        self.kept_until_ms(id).is_some_and(|until| until <= now_ms)
    }

    /// Windows that count beside the newest.
    fn earlier_in_view(self) -> u64 {
        match self {
            Self::Rolling(rolling) => rolling.parts.into(),
            Self::Standing | Self::Calendar(_) => 0,
        }
    }

    /// The window in two numbers, for hashes: different windows, different numbers. They never change.
    pub(crate) fn words(self) -> [u64; 2] {
        match self {
            Self::Standing => [0, 0],
            Self::Calendar(unit) => [1, u64::from(u16::from_le_bytes(unit.bytes()))],
            Self::Rolling(Rolling { length_ms, parts }) => [2 + (u64::from(parts) << 8), length_ms],
        }
    }

    /// The window in one number, for the disk: the kind in the lowest byte, and above it what the kind has. It never
    /// changes.
    pub fn to_word(self) -> u64 {
        match self {
            Self::Standing => 0,
            Self::Calendar(unit) => 1 | u64::from(u16::from_le_bytes(unit.bytes())) << 8,
            Self::Rolling(Rolling { length_ms, parts }) => 2 | u64::from(parts) << 8 | length_ms << 16,
        }
    }

    /// The window of [`Self::to_word`]; nothing for a number that is no window's.
    pub fn from_word(word: u64) -> Option<Self> {
        let [kind, first, second, ..] = word.to_le_bytes();
        let window = match kind {
            0 => Self::Standing,
            1 => Self::Calendar(Calendar::from_bytes([first, second])?),
            2 => Self::rolling(word >> 16, first.into()).ok()?,
            _ => return None,
        };
        (window.to_word() == word).then_some(window)
    }
}

/// For messages: `minute`, `week from sunday`, `rolling 60s`.
impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standing => f.write_str("standing"),
            Self::Calendar(unit) => unit.fmt(f),
            Self::Rolling(Rolling { length_ms, .. }) if length_ms % SECOND_MS == 0 => {
                write!(f, "rolling {}s", length_ms / SECOND_MS)
            }
            Self::Rolling(Rolling { length_ms, .. }) => write!(f, "rolling {length_ms}ms"),
        }
    }
}

impl Rolling {
    /// The length, in milliseconds.
    pub fn length_ms(self) -> u64 {
        self.length_ms
    }

    /// In how many parts it is counted.
    pub fn parts(self) -> u32 {
        self.parts
    }

    /// The length of a part, in milliseconds: rounded up, so that all parts together are never shorter than the whole.
    fn part_ms(self) -> u64 {
        self.length_ms.div_ceil(self.parts.into())
    }
}

#[cfg(test)]
mod tests;
