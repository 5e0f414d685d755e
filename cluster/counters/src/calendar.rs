//! Units of the UTC calendar: from a time to the number of its unit, and back.

use crate::civil;
use std::fmt;

const SECOND_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// Units of the UTC calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Calendar {
    /// A second.
    Second,
    /// A minute.
    Minute,
    /// An hour.
    Hour,
    /// A day.
    Day,
    /// A week that begins on that day. From Monday it is the week of ISO 8601.
    Week(Weekday),
    /// A month.
    Month,
    /// A year that begins with that month. It has the number of the civil year in which it begins.
    Year(Month),
}

/// A day of the week.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Weekday {
    #[default]
    Monday = 0,
    Tuesday = 1,
    Wednesday = 2,
    Thursday = 3,
    Friday = 4,
    Saturday = 5,
    Sunday = 6,
}

/// A month of the year.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Month {
    #[default]
    January = 0,
    February = 1,
    March = 2,
    April = 3,
    May = 4,
    June = 5,
    July = 6,
    August = 7,
    September = 8,
    October = 9,
    November = 10,
    December = 11,
}

impl Weekday {
    /// All, from Monday on.
    pub const ALL: [Self; 7] = [
        Self::Monday,
        Self::Tuesday,
        Self::Wednesday,
        Self::Thursday,
        Self::Friday,
        Self::Saturday,
        Self::Sunday,
    ];

    /// Its English name, in small letters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Monday => "monday",
            Self::Tuesday => "tuesday",
            Self::Wednesday => "wednesday",
            Self::Thursday => "thursday",
            Self::Friday => "friday",
            Self::Saturday => "saturday",
            Self::Sunday => "sunday",
        }
    }

    /// Days from the last such day up to the epoch (a Thursday) to the epoch.
    fn days_to_epoch(self) -> u64 {
        (10 - u64::from(self as u8)) % 7
    }
}

impl Month {
    /// All, from January on.
    pub const ALL: [Self; 12] = [
        Self::January,
        Self::February,
        Self::March,
        Self::April,
        Self::May,
        Self::June,
        Self::July,
        Self::August,
        Self::September,
        Self::October,
        Self::November,
        Self::December,
    ];

    /// Its English name, in small letters.
    pub fn name(self) -> &'static str {
        match self {
            Self::January => "january",
            Self::February => "february",
            Self::March => "march",
            Self::April => "april",
            Self::May => "may",
            Self::June => "june",
            Self::July => "july",
            Self::August => "august",
            Self::September => "september",
            Self::October => "october",
            Self::November => "november",
            Self::December => "december",
        }
    }

    /// 1 to 12.
    fn number(self) -> u64 {
        u64::from(self as u8) + 1
    }
}

impl Calendar {
    /// The number of the unit that a time (unix milliseconds) lies in.
    pub(crate) fn number_at(self, unix_ms: u64) -> u64 {
        let days = unix_ms / DAY_MS;
        match self {
            Self::Second => unix_ms / SECOND_MS,
            Self::Minute => unix_ms / MINUTE_MS,
            Self::Hour => unix_ms / HOUR_MS,
            Self::Day => days,
            Self::Week(first) => (days + first.days_to_epoch()) / 7,
            Self::Month => {
                let (year, month) = civil::year_month(days);
                year * 12 + month - 1
            }
            Self::Year(first) => {
                let (year, month) = civil::year_month(days);
                year - u64::from(month < first.number())
            }
        }
    }

    /// When the unit of that number begins (unix milliseconds), but never before the epoch.
    pub(crate) fn start_ms(self, number: u64) -> u64 {
        let days = |days: u64| days.saturating_mul(DAY_MS);
        match self {
            Self::Second => number.saturating_mul(SECOND_MS),
            Self::Minute => number.saturating_mul(MINUTE_MS),
            Self::Hour => number.saturating_mul(HOUR_MS),
            Self::Day => days(number),
            Self::Week(first) => days(number.saturating_mul(7).saturating_sub(first.days_to_epoch())),
            Self::Month => days(civil::first_day(number / 12, number % 12 + 1)),
            Self::Year(first) => days(civil::first_day(number, first.number())),
        }
    }

    /// The unit in two bytes: which, and where it begins. They enter hashes that nodes compare and what is on the
    /// disk: they never change.
    pub(crate) fn bytes(self) -> [u8; 2] {
        match self {
            Self::Second => [0, 0],
            Self::Minute => [1, 0],
            Self::Hour => [2, 0],
            Self::Day => [3, 0],
            Self::Week(first) => [4, first as u8],
            Self::Month => [5, 0],
            Self::Year(first) => [6, first as u8],
        }
    }

    /// The unit of [`Self::bytes`].
    pub(crate) fn from_bytes(bytes: [u8; 2]) -> Option<Self> {
        Some(match bytes {
            [0, 0] => Self::Second,
            [1, 0] => Self::Minute,
            [2, 0] => Self::Hour,
            [3, 0] => Self::Day,
            [4, first] => Self::Week(*Weekday::ALL.get(usize::from(first))?),
            [5, 0] => Self::Month,
            [6, first] => Self::Year(*Month::ALL.get(usize::from(first))?),
            _ => return None,
        })
    }
}

impl fmt::Display for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Second => f.write_str("second"),
            Self::Minute => f.write_str("minute"),
            Self::Hour => f.write_str("hour"),
            Self::Day => f.write_str("day"),
            Self::Week(Weekday::Monday) => f.write_str("week"),
            Self::Week(first) => write!(f, "week from {}", first.name()),
            Self::Month => f.write_str("month"),
            Self::Year(Month::January) => f.write_str("year"),
            Self::Year(first) => write!(f, "year from {}", first.name()),
        }
    }
}
