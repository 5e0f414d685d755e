//! Windows against known dates, and the laws of every window.

use super::*;
use proptest::prelude::*;

const HOUR_MS: u64 = 60 * MINUTE_MS;

/// Dates and their seconds from GNU `date`, not from the formulas under test.
#[test]
fn calendar_windows_lie_where_the_calendar_says() {
    let check = |name: &str, unit: Calendar, at_s: u64, start_s: u64, end_s: u64| {
        let window = Window::Calendar(unit);
        for at_ms in [at_s * 1_000, at_s * 1_000 + 999] {
            let id = window.id_at(at_ms);
            assert_eq!(window.start_ms(id), start_s * 1_000, "start of {name}");
            assert_eq!(window.end_ms(id), Some(end_s * 1_000), "end of {name}");
        }
    };
    use Calendar::{Day, Hour, Minute, Month, Second};
    let (week, year) = (Calendar::Week(Weekday::Monday), Calendar::Year(super::Month::January));
    check("second of 2024-02-29T13:45:59", Second, 1_709_214_359, 1_709_214_359, 1_709_214_360);
    check("minute of 2024-02-29T13:45:59", Minute, 1_709_214_359, 1_709_214_300, 1_709_214_360);
    check("hour of 2024-02-29T13:45:59", Hour, 1_709_214_359, 1_709_211_600, 1_709_215_200);
    check("day of 2024-02-29T13:45:59", Day, 1_709_214_359, 1_709_164_800, 1_709_251_200);
    check("month of 2024-02-29T23:59:59", Month, 1_709_251_199, 1_706_745_600, 1_709_251_200);
    check("month of 2024-03-01", Month, 1_709_251_200, 1_709_251_200, 1_711_929_600);
    check("month of 2023-02-28T23:59:59", Month, 1_677_628_799, 1_675_209_600, 1_677_628_800);
    check("month of 2000-02-29T12:00:00", Month, 951_825_600, 949_363_200, 951_868_800);
    check("month of 2100-02-28T23:59:59", Month, 4_107_542_399, 4_105_123_200, 4_107_542_400);
    check("month of 2400-02-29", Month, 13_574_563_200, 13_572_144_000, 13_574_649_600);
    check("month of 2025-12-31T23:59:59", Month, 1_767_225_599, 1_764_547_200, 1_767_225_600);
    check("year of 1970-01-01", year, 0, 0, 31_536_000);
    check("year of 2020-12-31T23:59:59", year, 1_609_459_199, 1_577_836_800, 1_609_459_200);
    check("year of 2025-12-31T23:59:59", year, 1_767_225_599, 1_735_689_600, 1_767_225_600);
    check("year of 2026-01-01", year, 1_767_225_600, 1_767_225_600, 1_798_761_600);
    check("year of 2400-02-29", year, 13_574_563_200, 13_569_465_600, 13_601_088_000);
    // 2020-W53 holds the last days of 2020 and the first of 2021; 2019-W01 and 2026-W01 begin in the year before.
    check("week of 2020-12-31T23:59:59", week, 1_609_459_199, 1_609_113_600, 1_609_718_400);
    check("week of 2021-01-01", week, 1_609_459_200, 1_609_113_600, 1_609_718_400);
    check("week of 2021-01-03T23:59:59", week, 1_609_718_399, 1_609_113_600, 1_609_718_400);
    check("week of 2018-12-31", week, 1_546_214_400, 1_546_214_400, 1_546_819_200);
    check("week of 2026-01-04T23:59:59", week, 1_767_571_199, 1_766_966_400, 1_767_571_200);
    // Its Monday lies before the epoch.
    check("week of 1970-01-01", week, 0, 0, 345_600);
    // 2026-11-29 is a Sunday.
    let (sunday, thursday) = (Calendar::Week(Weekday::Sunday), Calendar::Week(Weekday::Thursday));
    check("week from Sunday of 2026-11-28", sunday, 1_795_910_399, 1_795_305_600, 1_795_910_400);
    check("week from Sunday of 2026-11-29", sunday, 1_795_910_400, 1_795_910_400, 1_796_515_200);
    check("week from Sunday of 1970-01-01", sunday, 0, 0, 259_200);
    check("week from Thursday of 1970-01-01", thursday, 0, 0, 604_800);
    // Fiscal years.
    let (april, december) = (Calendar::Year(super::Month::April), Calendar::Year(super::Month::December));
    check("year from April of 2026-03-31T23:59:59", april, 1_775_001_599, 1_743_465_600, 1_775_001_600);
    check("year from April of 2026-04-01", april, 1_775_001_600, 1_775_001_600, 1_806_537_600);
    check("year from April of 1970-01-01", april, 0, 0, 7_776_000);
    check("year from December of 2026-11-30", december, 1_795_996_800, 1_764_547_200, 1_796_083_200);
}

#[test]
fn ids_of_calendar_windows_never_change_their_meaning() {
    let at_ms = 1_709_214_359_000;
    let check = |unit: Calendar, expected: u64| {
        assert_eq!(Window::Calendar(unit).id_at(at_ms), WindowId(expected), "{unit:?}");
    };
    check(Calendar::Second, 1_709_214_359);
    check(Calendar::Minute, 28_486_905);
    check(Calendar::Hour, 474_781);
    check(Calendar::Day, 19_782);
    check(Calendar::Week(Weekday::Monday), 2_826);
    check(Calendar::Week(Weekday::Sunday), 2_826);
    check(Calendar::Month, 2024 * 12 + 1);
    check(Calendar::Year(Month::January), 2024);
    check(Calendar::Year(Month::April), 2023);
    assert_eq!(Window::Standing.id_at(at_ms), WindowId(0));
}

#[test]
fn a_window_is_kept_for_twice_its_length_or_ten_minutes() {
    let check = |window: Window, id: u64, after_end_ms: u64| {
        let id = WindowId(id);
        let kept_ms = window.kept_until_ms(id).unwrap() - window.end_ms(id).unwrap();
        assert_eq!(kept_ms, after_end_ms, "{window:?}");
        let until = window.kept_until_ms(id).unwrap();
        assert!(!window.is_expired(id, until - 1) && window.is_expired(id, until), "{window:?}");
    };
    check(Window::Calendar(Calendar::Second), 1_000, 10 * MINUTE_MS);
    check(Window::Calendar(Calendar::Minute), 1_000, 10 * MINUTE_MS);
    check(Window::Calendar(Calendar::Hour), 1_000, 2 * HOUR_MS);
    check(Window::Calendar(Calendar::Month), 2024 * 12 + 1, 2 * 29 * DAY_MS);
    check(Window::year(Month::January), 2024, 2 * 366 * DAY_MS);
    // Each part for twice the length of the whole.
    check(Window::rolling(HOUR_MS, 6).unwrap(), 1_000, 2 * HOUR_MS);
    check(Window::rolling(MINUTE_MS, 6).unwrap(), 1_000, 10 * MINUTE_MS);
    assert_eq!(Window::Standing.kept_until_ms(WindowId(0)), None);
    assert!(!Window::Standing.is_expired(WindowId(0), u64::MAX));
}

#[test]
fn impossible_rolling_windows_are_refused() {
    let check = |length_ms: u64, parts: u32, expected: Option<WindowError>| {
        assert_eq!(Window::rolling(length_ms, parts).err(), expected, "{length_ms} ms in {parts}");
    };
    check(0, 1, Some(WindowError::Length));
    check(LENGTH_MS_MAX + 1, 1, Some(WindowError::Length));
    check(MINUTE_MS, 0, Some(WindowError::Parts));
    check(MINUTE_MS, PARTS_MAX + 1, Some(WindowError::Parts));
    check(3, 4, Some(WindowError::Parts));
    check(4, 4, None);
    check(LENGTH_MS_MAX, PARTS_MAX, None);
}

/// Every calendar window there is.
fn calendars() -> Vec<Window> {
    use Calendar::{Day, Hour, Minute, Month as EachMonth, Second};
    let units = [Second, Minute, Hour, Day, EachMonth].map(Window::Calendar);
    units.into_iter().chain(Weekday::ALL.map(Window::week)).chain(Month::ALL.map(Window::year)).collect()
}

fn calendar() -> impl Strategy<Value = Window> {
    prop::sample::select(calendars())
}

fn rolling() -> impl Strategy<Value = Window> {
    let length = prop_oneof![64u64..10_000, 64..=LENGTH_MS_MAX];
    (length, 1..=PARTS_MAX).prop_map(|(length_ms, parts)| Window::rolling(length_ms, parts).unwrap())
}

fn moving() -> impl Strategy<Value = Window> {
    prop_oneof![calendar(), rolling()]
}

/// Up to the year 9999.
fn time() -> impl Strategy<Value = u64> {
    0..253_402_300_800_000_u64
}

proptest! {
    #[test]
    fn a_time_lies_in_its_window_and_the_next_begins_at_its_end(window in moving(), at_ms in time()) {
        let id = window.id_at(at_ms);
        let (start, end) = (window.start_ms(id), window.end_ms(id).unwrap());
        prop_assert!(start <= at_ms && at_ms < end, "{} in {}..{}", at_ms, start, end);
        prop_assert_eq!(window.id_at(start), id);
        prop_assert_eq!(window.id_at(end - 1), id);
        prop_assert_eq!(window.id_at(end), WindowId(id.0 + 1));
        prop_assert_eq!(window.start_ms(WindowId(id.0 + 1)), end);
    }

    #[test]
    fn ids_ascend_with_time(window in moving(), a in time(), b in time()) {
        let (early, late) = (a.min(b), a.max(b));
        prop_assert!(window.id_at(early) <= window.id_at(late));
    }

    #[test]
    fn a_rolling_view_covers_its_length_and_at_most_a_part_more(window in rolling(), at_ms in time()) {
        let Window::Rolling(rolling) = window else { unreachable!() };
        let (length_ms, parts) = (rolling.length_ms(), u64::from(rolling.parts()));
        let newest = window.id_at(at_ms);
        let oldest = window.oldest_in_view(newest);
        prop_assert_eq!(newest.0 - oldest.0, parts.min(newest.0));
        // At the beginning of a part the view is the shortest, at its end the longest.
        let (start, end) = (window.start_ms(oldest), window.end_ms(newest).unwrap());
        prop_assert!(start <= (window.start_ms(newest) + 1).saturating_sub(length_ms));
        // Rounding up adds less than a millisecond to each part.
        prop_assert!(end - start < length_ms + length_ms / parts + parts + 1);
    }

    #[test]
    fn a_window_leaves_the_view_when_it_says(window in moving(), at_ms in time()) {
        let id = window.id_at(at_ms);
        let leaves = window.leaves_view_ms(id).unwrap();
        prop_assert!(window.oldest_in_view(window.id_at(leaves - 1)) <= id);
        prop_assert!(window.oldest_in_view(window.id_at(leaves)) > id);
    }

    #[test]
    fn nothing_overflows(
        window in prop_oneof![moving(), Just(Window::Standing)],
        id in any::<u64>(),
        at_ms in any::<u64>(),
    ) {
        let id = WindowId(id);
        for at in [window.id_at(at_ms), window.id_at(u64::MAX), id, WindowId(u64::MAX)] {
            let start = window.start_ms(at);
            prop_assert!(window.end_ms(at).is_none_or(|end| end >= start));
            prop_assert!(window.kept_until_ms(at).is_none_or(|until| Some(until) >= window.end_ms(at)));
            prop_assert!(window.oldest_in_view(at) <= at);
            prop_assert!(window.leaves_view_ms(at) >= window.end_ms(at));
        }
    }

    #[test]
    fn different_windows_have_different_words(a in moving(), b in moving()) {
        prop_assert_eq!(a == b, a.words() == b.words());
        prop_assert_eq!(a == b, a.to_word() == b.to_word());
        prop_assert_eq!(Window::from_word(a.to_word()), Some(a));
    }

    #[test]
    fn a_word_is_a_windows_or_refused(word in any::<u64>(), kind in 0u64..4, cut in 0u32..64) {
        let word = (word >> cut) & !0xff | kind;
        prop_assert!(Window::from_word(word).is_none_or(|window| window.to_word() == word), "{word:x}");
    }
}

/// Nodes of different versions compare the first two, and find the last on the disk.
#[test]
fn words_never_change() {
    let check = |window: Window, words: [u64; 2], word: u64| {
        assert_eq!((window.words(), window.to_word()), (words, word), "{window}");
    };
    check(Window::Standing, [0, 0], 0);
    check(Window::Calendar(Calendar::Second), [1, 0], 0x001);
    check(Window::Calendar(Calendar::Minute), [1, 1], 0x101);
    check(Window::Calendar(Calendar::Hour), [1, 2], 0x201);
    check(Window::Calendar(Calendar::Day), [1, 3], 0x301);
    check(Window::week(Weekday::Monday), [1, 4], 0x401);
    check(Window::Calendar(Calendar::Month), [1, 5], 0x501);
    check(Window::year(Month::January), [1, 6], 0x601);
    check(Window::week(Weekday::Sunday), [1, 0x604], 0x6_0401);
    check(Window::year(Month::April), [1, 0x306], 0x3_0601);
    check(Window::rolling(MINUTE_MS, 6).unwrap(), [0x602, MINUTE_MS], MINUTE_MS << 16 | 0x602);
}

#[test]
fn windows_have_names() {
    let check = |window: Window, name: &str| assert_eq!(window.to_string(), name);
    check(Window::Standing, "standing");
    check(Window::Calendar(Calendar::Minute), "minute");
    check(Window::week(Weekday::Monday), "week");
    check(Window::week(Weekday::Sunday), "week from sunday");
    check(Window::year(Month::January), "year");
    check(Window::year(Month::April), "year from april");
    check(Window::rolling(MINUTE_MS, 6).unwrap(), "rolling 60s");
    check(Window::rolling(1_500, 3).unwrap(), "rolling 1500ms");
    let names: std::collections::BTreeSet<_> = calendars().iter().map(Window::to_string).collect();
    assert_eq!(names.len(), calendars().len());
}
