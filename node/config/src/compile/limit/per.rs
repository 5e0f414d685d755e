//! Over which time a limit counts.

use crate::{WeekStart, path::Path, problem::Findings, suggest::did_you_mean};
use std::{fmt, time::Duration};
use trestle_counters::{Calendar, LENGTH_MS_MAX, Month, Weekday, Window};

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Units of lengths, in milliseconds. A year has 365 days here; the unit of the calendar is another thing.
const UNITS: [(&str, u64); 6] =
    [("s", SECOND), ("m", MINUTE), ("h", HOUR), ("d", DAY), ("w", 7 * DAY), ("y", 365 * DAY)];

/// Words of the calendar.
const WORDS: [&str; 7] = ["second", "minute", "hour", "day", "week", "month", "year"];

/// In how many parts a window rolls: each makes it at most that part too long, and costs a cell.
const PARTS: u32 = 12;
/// The same for one below a minute.
const PARTS_SHORT: u32 = 10;

/// Over which time a limit counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Per {
    /// What runs now.
    Now,
    /// A unit of the calendar.
    Unit(Calendar),
    /// The last so many milliseconds.
    Last(u64),
}

/// As it is written.
#[derive(Clone, Copy)]
pub(super) struct Text<'a> {
    /// `None` where it is not said.
    pub(super) per: Option<&'a str>,
    pub(super) week_starts: Option<WeekStart>,
    pub(super) year_starts: Option<u8>,
}

/// Reads it; `path` is that of the limit. `None` after a problem, or where there is none.
pub(super) fn read(text: Text<'_>, path: &Path<'_>, findings: &mut Findings) -> Option<Per> {
    for (name, set, unit) in [
        ("week_starts", text.week_starts.is_some(), "week"),
        ("year_starts", text.year_starts.is_some(), "year"),
    ] {
        if set && text.per != Some(unit) {
            findings.problem(&path.member(name), format!("has no use, for `per` is not `{unit}`; remove it"));
        }
    }
    let unit = match text.per? {
        "second" => Calendar::Second,
        "minute" => Calendar::Minute,
        "hour" => Calendar::Hour,
        "day" => Calendar::Day,
        "week" => Calendar::Week(text.week_starts.map_or(Weekday::Monday, weekday)),
        "month" => Calendar::Month,
        "year" => Calendar::Year(month(text.year_starts.unwrap_or(1))),
        length => return length_of(length, &path.member("per"), findings).map(Per::Last),
    };
    Some(Per::Unit(unit))
}

fn weekday(start: WeekStart) -> Weekday {
    match start {
        WeekStart::Monday => Weekday::Monday,
        WeekStart::Tuesday => Weekday::Tuesday,
        WeekStart::Wednesday => Weekday::Wednesday,
        WeekStart::Thursday => Weekday::Thursday,
        WeekStart::Friday => Weekday::Friday,
        WeekStart::Saturday => Weekday::Saturday,
        WeekStart::Sunday => Weekday::Sunday,
    }
}

/// By its number from 1; the schema lets no other through.
fn month(number: u8) -> Month {
    let index = usize::from(number.saturating_sub(1));
    Month::ALL.get(index).copied().unwrap_or_default()
}

fn length_of(text: &str, path: &Path<'_>, findings: &mut Findings) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = UNITS.iter().find(|(name, _)| *name == unit);
    let (Some((_, unit)), false) = (unit, number.is_empty()) else {
        let meant = did_you_mean(text, WORDS);
        let message = format!(
            "is no time; write a length such as `30s`, `1m`, `1h` or `7d`, or one of {}{meant}",
            words()
        );
        findings.problem(path, message);
        return None;
    };
    let length = number.parse().ok().and_then(|number: u64| number.checked_mul(*unit));
    let length = length.filter(|length| (1..=LENGTH_MS_MAX).contains(length));
    if length.is_none() {
        findings.problem(path, "must be from `1s` to `10y`");
    }
    length
}

fn words() -> String {
    crate::suggest::list(WORDS)
}

/// The window of the counters: the one place where times become windows.
pub(super) fn window_of(per: Per) -> Window {
    match per {
        Per::Now => Window::Standing,
        Per::Unit(unit) => Window::Calendar(unit),
        // Lengths are from a second to ten years, so there always is such a window.
        Per::Last(length) => Window::rolling(length, parts_of(length)).unwrap_or(Window::Standing),
    }
}

/// How many ids of windows follow one another in one window.
pub(super) fn parts(per: Per) -> u64 {
    match per {
        Per::Now | Per::Unit(_) => 1,
        Per::Last(length) => parts_of(length).into(),
    }
}

fn parts_of(length: u64) -> u32 {
    if length < MINUTE { PARTS_SHORT } else { PARTS }
}

impl Per {
    /// The shortest and the longest that it may be.
    pub(super) fn span(self) -> (Duration, Duration) {
        let days = |days: u64| Duration::from_millis(days * DAY);
        let (least, most) = match self {
            Self::Now => (Duration::ZERO, Duration::ZERO),
            Self::Last(length) => (Duration::from_millis(length), Duration::from_millis(length)),
            Self::Unit(Calendar::Second) => (Duration::from_secs(1), Duration::from_secs(1)),
            Self::Unit(Calendar::Minute) => (Duration::from_secs(60), Duration::from_secs(60)),
            Self::Unit(Calendar::Hour) => (Duration::from_secs(3_600), Duration::from_secs(3_600)),
            Self::Unit(Calendar::Day) => (days(1), days(1)),
            Self::Unit(Calendar::Week(_)) => (days(7), days(7)),
            Self::Unit(Calendar::Month) => (days(28), days(31)),
            Self::Unit(Calendar::Year(_)) => (days(365), days(366)),
        };
        (least, most)
    }
}

impl fmt::Display for Per {
    /// For names of limits, so the same for ever: a length in the longest of seconds, minutes, hours and days that is whole.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now => f.write_str("now"),
            Self::Unit(Calendar::Second) => f.write_str("second"),
            Self::Unit(Calendar::Minute) => f.write_str("minute"),
            Self::Unit(Calendar::Hour) => f.write_str("hour"),
            Self::Unit(Calendar::Day) => f.write_str("day"),
            Self::Unit(Calendar::Week(_)) => f.write_str("week"),
            Self::Unit(Calendar::Month) => f.write_str("month"),
            Self::Unit(Calendar::Year(_)) => f.write_str("year"),
            Self::Last(length) => {
                let whole = |unit: &u64| length % unit == 0;
                let units = [("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND)];
                let (name, unit) = units.into_iter().find(|(_, unit)| whole(unit)).unwrap_or(("ms", 1));
                write!(f, "{}{name}", length / unit)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(per: &str) -> Text<'_> {
        Text { per: Some(per), week_starts: None, year_starts: None }
    }

    fn window(text: Text<'_>) -> (Window, String) {
        let mut findings = Findings::default();
        let per = read(text, &Path::Root, &mut findings);
        let per = per.unwrap_or_else(|| panic!("{:?}: {:?}", text.per, findings.problems));
        (window_of(per), per.to_string())
    }

    #[test]
    fn times_become_windows_and_names() {
        let rolling = |length, parts| Window::rolling(length, parts).unwrap();
        for (per, expected, name) in [
            ("1s", rolling(1_000, 10), "1s"),
            ("59s", rolling(59_000, 10), "59s"),
            ("1m", rolling(60_000, 12), "1m"),
            ("60s", rolling(60_000, 12), "1m"),
            ("90m", rolling(5_400_000, 12), "90m"),
            ("24h", rolling(86_400_000, 12), "1d"),
            ("1w", rolling(604_800_000, 12), "7d"),
            ("10y", rolling(3_650 * 86_400_000, 12), "3650d"),
            ("second", Window::Calendar(Calendar::Second), "second"),
            ("minute", Window::Calendar(Calendar::Minute), "minute"),
            ("hour", Window::Calendar(Calendar::Hour), "hour"),
            ("day", Window::Calendar(Calendar::Day), "day"),
            ("week", Window::Calendar(Calendar::Week(Weekday::Monday)), "week"),
            ("month", Window::Calendar(Calendar::Month), "month"),
            ("year", Window::Calendar(Calendar::Year(Month::January)), "year"),
        ] {
            assert_eq!(window(text(per)), (expected, name.to_owned()), "{per}");
        }
        let sunday = Text { week_starts: Some(WeekStart::Sunday), ..text("week") };
        assert_eq!(window(sunday).0, Window::Calendar(Calendar::Week(Weekday::Sunday)));
        let fiscal = Text { year_starts: Some(4), ..text("year") };
        assert_eq!(window(fiscal).0, Window::Calendar(Calendar::Year(Month::April)));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        let check = |text: Text<'_>, expected: &str| {
            let mut findings = Findings::default();
            read(text, &Path::Root, &mut findings);
            let found: Vec<_> = findings.problems.iter().map(ToString::to_string).collect();
            assert!(found.len() == 1 && found[0].starts_with(expected), "{:?}: {found:?}", text.per);
        };
        for per in ["", "m", "1", "1M", "-1m", "1.5h", "1h30m", "1 m", "minutes"] {
            check(text(per), "per: is no time; write a length");
        }
        for per in ["0s", "11y", "99999999999999999999s", "3661d"] {
            check(text(per), "per: must be from `1s` to `10y`");
        }
        check(Text { week_starts: Some(WeekStart::Sunday), ..text("month") }, "week_starts: has no use");
        check(Text { year_starts: Some(2), ..text("1y") }, "year_starts: has no use");
    }
}
