//! Civil dates (UTC, proleptic Gregorian) from days since 1970-01-01, and back.
//!
//! The formulas are `civil_from_days` and `days_from_civil` of Howard Hinnant's "chrono-Compatible Low-Level Date
//! Algorithms" (<https://howardhinnant.github.io/date_algorithms.html>), for days from the epoch on alone. They count
//! in eras of 400 years that start on March 1, so that a leap day is the last day of its year.

const DAYS_OF_ERA: u64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const DAYS_TO_EPOCH: u64 = 719_468;
/// Beyond every year that milliseconds in 64 bits reach (some 584 million), and far from an overflow.
const YEAR_MAX: u64 = 1_000_000_000;

/// The year and the month (1 to 12) of a day; `days` is at most 2^64 milliseconds' worth.
pub(crate) fn year_month(days: u64) -> (u64, u64) {
    let days = days.saturating_add(DAYS_TO_EPOCH);
    let (era, day_of_era) = (days / DAYS_OF_ERA, days % DAYS_OF_ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / (DAYS_OF_ERA - 1)) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month)
}

/// Days from the epoch to the first day of a month (1 to 12); 0 for what lies before the epoch.
pub(crate) fn first_day(year: u64, month: u64) -> u64 {
    let year = year.min(YEAR_MAX).saturating_sub(u64::from(month <= 2));
    let (era, year_of_era) = (year / 400, year % 400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * DAYS_OF_ERA + day_of_era).saturating_sub(DAYS_TO_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Days of a month by the rule as people say it: every fourth year, but not every hundredth, but every 400th.
    fn days_in(year: u64, month: u64) -> u64 {
        let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
        match month {
            2 if leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    #[test]
    fn every_month_of_a_thousand_years_is_found() {
        let mut day = 0;
        for year in 1970..2970 {
            for month in 1..=12 {
                let last = day + days_in(year, month) - 1;
                assert_eq!(first_day(year, month), day, "{year}-{month}");
                assert_eq!(year_month(day), (year, month), "first of {year}-{month}");
                assert_eq!(year_month(last), (year, month), "last of {year}-{month}");
                day = last + 1;
            }
        }
    }

    #[test]
    fn the_ends_of_the_range_do_not_overflow() {
        assert_eq!(first_day(0, 1), 0);
        assert_eq!(first_day(1969, 12), 0);
        let (year, month) = year_month(u64::MAX / 86_400_000);
        assert_eq!((year, month), (584_556_019, 4));
        assert!(first_day(u64::MAX, 12) > u64::MAX / 86_400_000);
    }
}
