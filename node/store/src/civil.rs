//! Hours, days and months of the UTC calendar, as text.

pub(crate) const HOUR_MS: u64 = 60 * 60 * 1_000;
const DAY_HOURS: u64 = 24;
/// Days from 0000-03-01 to the epoch.
const DAYS_TO_EPOCH: u64 = 719_468;
const ERA_DAYS: u64 = 146_097;

/// `2026-11-30T14:00:00Z`
pub(crate) fn hour(hour: u64) -> String {
    format!("{}T{:02}:00:00Z", day(hour), hour % DAY_HOURS)
}

/// `2026-11-30`
pub(crate) fn day(hour: u64) -> String {
    let (year, month, day) = date(hour / DAY_HOURS);
    format!("{year:04}-{month:02}-{day:02}")
}

/// `2026-11`
pub(crate) fn month(hour: u64) -> String {
    let (year, month, _) = date(hour / DAY_HOURS);
    format!("{year:04}-{month:02}")
}

/// Year, month and day of a day since the epoch, reckoned in years that begin in March and eras of 400 of them
/// (<https://howardhinnant.github.io/date_algorithms.html#civil_from_days>).
fn date(day: u64) -> (u64, u64, u64) {
    let day = day + DAYS_TO_EPOCH;
    let (era, day_of_era) = (day / ERA_DAYS, day % ERA_DAYS);
    let leap_days = day_of_era / 1_460 + day_of_era / (ERA_DAYS - 1);
    let year = (day_of_era + day_of_era / 36_524 - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    (year, month, day_of_year - (153 * from_march + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn hours_have_dates() {
        for (hour, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (24 * 58 + 23, "1970-02-28T23:00:00Z"),
            (24 * 59, "1970-03-01T00:00:00Z"),
            (24 * 11_016, "2000-02-29T00:00:00Z"),
            (24 * 11_017, "2000-03-01T00:00:00Z"),
            (24 * 20_787 + 14, "2026-11-30T14:00:00Z"),
            (24 * 19_722, "2023-12-31T00:00:00Z"),
            (24 * 19_723, "2024-01-01T00:00:00Z"),
            (24 * 47_541, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(super::hour(hour), expected);
            assert_eq!(super::day(hour), expected[..10]);
            assert_eq!(super::month(hour), expected[..7]);
        }
        // All it can be asked.
        super::hour(u64::MAX / super::HOUR_MS);
    }
}
