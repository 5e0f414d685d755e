//! What both formats share in making limits and budgets.

use super::{
    check,
    report::{Place, Report},
};
use crate::{BudgetEntry, LimitEntry, Mode, Usd};
use serde_json::Number;

/// Seconds of a minute, an hour, a day.
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// How long counts for ever here: the longest time there is.
pub(super) const EVER: &str = "10y";

/// What is said where a month, a quarter or a year becomes a number of days.
const DAYS: &str = "counts the last so many days here, for months differ; write `per: month` or `per: year` for the calendar";

/// Over which time something counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Alignment {
    /// Any stretch of the length.
    Rolling,
    /// From the beginning of the unit in the calendar.
    Calendar,
}

/// A time as we write it.
pub(super) struct Span {
    pub(super) per: String,
    seconds: u64,
    /// What is to be said of it.
    pub(super) remark: Option<&'static str>,
}

impl Span {
    /// The longest there is.
    pub(super) fn ever() -> Self {
        Self { per: EVER.to_owned(), seconds: 3_650 * DAY, remark: None }
    }
}

/// Reads a number with one of the units `s`, `m`, `h`, `d`, `w`, `M` or `mo`, `Q`, `Y`.
pub(super) fn span(text: &str, alignment: Alignment) -> Option<Span> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok().filter(|number| (1..=1_000_000).contains(number))?;
    let (seconds, word, days) = match unit {
        "s" => (1, None, false),
        "m" => (MINUTE, None, false),
        "h" => (HOUR, None, false),
        "d" => (DAY, Some("day"), false),
        "w" => (7 * DAY, Some("week"), false),
        "M" | "mo" => (30 * DAY, Some("month"), true),
        "Q" => (91 * DAY, None, true),
        "Y" => (365 * DAY, Some("year"), true),
        _ => return None,
    };
    let seconds = number * seconds;
    if let (Some(word), 1, Alignment::Calendar) = (word, number, alignment) {
        return Some(Span { per: word.to_owned(), seconds, remark: None });
    }
    let per = if days { format!("{}d", seconds / DAY) } else { text.to_owned() };
    (seconds <= 3_650 * DAY).then_some(Span { per, seconds, remark: days.then_some(DAYS) })
}

/// A limit or a budget that is to be set.
pub(super) struct One {
    place: Place,
    seconds: u64,
    amount: f64,
    entry: Entry,
}

enum Entry {
    Limit(LimitEntry),
    Budget(BudgetEntry),
}

impl One {
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    pub(super) fn requests(most: u64, span: &Span, place: &Place) -> Self {
        let entry = LimitEntry { requests: Some(most), per: Some(span.per.clone()), ..LimitEntry::default() };
        Self::limit(entry, most, span.seconds, place)
    }

    pub(super) fn tokens(most: u64, span: &Span, place: &Place) -> Self {
        let entry = LimitEntry { tokens: Some(most), per: Some(span.per.clone()), ..LimitEntry::default() };
        Self::limit(entry, most, span.seconds, place)
    }

    pub(super) fn concurrent(most: u64, place: &Place) -> Self {
        let entry = LimitEntry { concurrent: Some(most), ..LimitEntry::default() };
        Self::limit(entry, most, 0, place)
    }

    fn limit(entry: LimitEntry, most: u64, seconds: u64, place: &Place) -> Self {
        let (place, amount) = (place.clone(), most as f64);
        Self { place, seconds, amount, entry: Entry::Limit(entry) }
    }

    /// As there: what runs already may go beyond it, and a call whose price is not known is let through.
    pub(super) fn budget(usd: f64, span: &Span, place: &Place) -> Self {
        let mode = Some(Mode::Soft);
        let entry = BudgetEntry { mode, ..BudgetEntry::new(amount(usd), &*span.per) };
        Self { place: place.clone(), seconds: span.seconds, amount: usd, entry: Entry::Budget(entry) }
    }
}

/// Whole dollars are written without a point. Parts below the ninth decimal are cut off, so nothing becomes more.
pub(super) fn amount(usd: f64) -> Usd {
    if usd.fract() == 0.0 && usd < 1e9 {
        return Usd::Number((usd as u64).into());
    }
    let exact = Number::from_f64(usd).filter(|number| {
        let text = number.as_f64().unwrap_or_default().to_string();
        text.len() <= 15 && text.split_once('.').is_none_or(|(_, part)| part.len() <= 9)
    });
    exact.map_or_else(|| Usd::Text(format!("{:.9}", (usd * 1e9).floor() / 1e9)), Usd::Number)
}

/// Those that can stand together: one that is never reached, or counts the same as a smaller one, is left out with a note.
pub(super) fn together(mut found: Vec<One>, report: &mut Report) -> (Vec<LimitEntry>, Vec<BudgetEntry>) {
    found.sort_by(|a, b| b.seconds.cmp(&a.seconds).then(a.amount.total_cmp(&b.amount)));
    let (mut limits, mut budgets) = (Vec::new(), Vec::new());
    for one in found {
        let (mut more_limits, mut more_budgets) = (limits.clone(), budgets.clone());
        match one.entry {
            Entry::Limit(entry) => more_limits.push(entry),
            Entry::Budget(entry) => more_budgets.push(entry),
        }
        match check::limits(&more_limits, &more_budgets) {
            None => (limits, budgets) = (more_limits, more_budgets),
            Some(why) => report.note(&one.place, format!("is left out: it {why}")),
        }
    }
    (limits, budgets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_ours() {
        use Alignment::{Calendar, Rolling};
        for (text, alignment, expected) in [
            ("30s", Rolling, Some("30s")),
            ("5m", Calendar, Some("5m")),
            ("1h", Calendar, Some("1h")),
            ("1d", Rolling, Some("1d")),
            ("1d", Calendar, Some("day")),
            ("2d", Calendar, Some("2d")),
            ("1w", Calendar, Some("week")),
            ("1M", Rolling, Some("30d")),
            ("1mo", Calendar, Some("month")),
            ("1Q", Calendar, Some("91d")),
            ("1Y", Rolling, Some("365d")),
            ("10Y", Rolling, Some("3650d")),
            ("11Y", Rolling, None),
            ("0d", Rolling, None),
            ("d", Rolling, None),
            ("1", Rolling, None),
            ("1.5h", Rolling, None),
            ("99999999999999999999d", Rolling, None),
            ("1x", Rolling, None),
        ] {
            let made = span(text, alignment);
            assert_eq!(made.as_ref().map(|span| &*span.per), expected, "{text}");
            // Whatever is made here is taken by the compiler.
            let place = Place::default();
            let one = made.map(|span| One::budget(1.0, &span, &place));
            let mut report = Report::default();
            let count = usize::from(one.is_some());
            assert_eq!(together(one.into_iter().collect(), &mut report).1.len(), count, "{text}");
        }
    }

    #[test]
    fn amounts_are_never_more_than_they_were() {
        for (usd, expected) in [
            (100.0, "100"),
            (0.0, "0"),
            (12.5, "12.5"),
            (0.1, "0.1"),
            (1.0 / 3.0, "\"0.333333333\""),
            (2e-10, "\"0.000000000\""),
        ] {
            assert_eq!(serde_json::to_string(&amount(usd)).unwrap(), expected);
        }
    }

    #[test]
    fn of_two_the_one_that_binds_is_kept() {
        let place = Place::default();
        let of = |text: &str| span(text, Alignment::Rolling).unwrap();
        let found = vec![
            One::requests(600, &of("1m"), &place),
            One::requests(100, &of("1h"), &place),
            One::tokens(600, &of("1m"), &place),
            One::tokens(50, &of("60s"), &place),
            One::concurrent(5, &place),
            One::concurrent(4, &place),
        ];
        let mut report = Report::default();
        let (limits, _) = together(found, &mut report);
        let kept: Vec<_> = limits.iter().map(|l| (l.requests, l.tokens, l.concurrent)).collect();
        assert_eq!(kept, [(Some(100), None, None), (None, Some(50), None), (None, None, Some(4))]);
        assert_eq!(report.finish(crate::Document::default()).unwrap().notes.len(), 3);
    }
}
