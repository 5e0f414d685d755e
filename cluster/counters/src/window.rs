//! Windows: from a time to the number of its window, and back to the window's start and end.

use crate::civil;
use thiserror::Error;

const SECOND_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;
/// Days from the Monday before the epoch (1969-12-29) to the epoch, a Thursday.
const DAYS_FROM_MONDAY: u64 = 3;

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

/// Units of the UTC calendar. The numbers enter hashes that nodes compare: they never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Calendar {
    /// A second.
    Second = 0,
    /// A minute.
    Minute = 1,
    /// An hour.
    Hour = 2,
    /// A day.
    Day = 3,
    /// A week that begins on Monday (ISO 8601).
    Week = 4,
    /// A month.
    Month = 5,
    /// A year.
    Year = 6,
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

    /// The window that a time (unix milliseconds) lies in.
    pub fn id_at(self, unix_ms: u64) -> WindowId {
        let days = unix_ms / DAY_MS;
        WindowId(match self {
            Self::Standing => 0,
            Self::Rolling(rolling) => unix_ms / rolling.part_ms(),
            Self::Calendar(Calendar::Second) => unix_ms / SECOND_MS,
            Self::Calendar(Calendar::Minute) => unix_ms / MINUTE_MS,
            Self::Calendar(Calendar::Hour) => unix_ms / HOUR_MS,
            Self::Calendar(Calendar::Day) => days,
            Self::Calendar(Calendar::Week) => (days + DAYS_FROM_MONDAY) / 7,
            Self::Calendar(Calendar::Month) => {
                let (year, month) = civil::year_month(days);
                year * 12 + month - 1
            }
            Self::Calendar(Calendar::Year) => civil::year_month(days).0,
        })
    }

    /// When a window begins (unix milliseconds), but never before the epoch.
    pub fn start_ms(self, id: WindowId) -> u64 {
        let WindowId(id) = id;
        let days = |days: u64| days.saturating_mul(DAY_MS);
        match self {
            Self::Standing => 0,
            Self::Rolling(rolling) => id.saturating_mul(rolling.part_ms()),
            Self::Calendar(Calendar::Second) => id.saturating_mul(SECOND_MS),
            Self::Calendar(Calendar::Minute) => id.saturating_mul(MINUTE_MS),
            Self::Calendar(Calendar::Hour) => id.saturating_mul(HOUR_MS),
            Self::Calendar(Calendar::Day) => days(id),
            Self::Calendar(Calendar::Week) => days(id.saturating_mul(7).saturating_sub(DAYS_FROM_MONDAY)),
            Self::Calendar(Calendar::Month) => days(civil::first_day(id / 12, id % 12 + 1)),
            Self::Calendar(Calendar::Year) => days(civil::first_day(id, 1)),
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

    /// The window in two numbers, for hashes: different windows, different numbers.
    pub(crate) fn words(self) -> [u64; 2] {
        match self {
            Self::Standing => [0, 0],
            Self::Calendar(unit) => [1, unit as u64],
            Self::Rolling(Rolling { length_ms, parts }) => [2 + (u64::from(parts) << 8), length_ms],
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
