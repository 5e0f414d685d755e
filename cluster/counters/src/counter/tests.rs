//! One counter: rolling on, clocks that jump, what others have, when to come back.

use super::*;
use crate::tests::{MINUTE, MINUTE_MS, actor, counter_id};
use crate::{Calendar, LimitId};
use proptest::prelude::*;
use std::sync::mpsc;

fn counter(window: Window, now_ms: u64) -> Counter {
    let (sender, _) = mpsc::channel();
    Counter::new(counter_id(1, window), actor(1, 1), sender, Arc::default(), now_ms)
}

fn others_in(window_id: u64, others: u64) -> Beside {
    Beside { window_id: WindowId(window_id), others, before: 0 }
}

/// Charges for good.
fn spend(counter: &Counter, amount: u64, limit: u64, now_ms: u64) -> Result<WindowId, Refused> {
    let hold = counter.charge(amount, limit, now_ms)?;
    let id = hold.held().window_id;
    hold.settle(amount);
    Ok(id)
}

fn seconds(length: u64, parts: u32) -> Window {
    Window::rolling(length * 1_000, parts).unwrap()
}

#[test]
fn a_calendar_window_starts_anew() {
    let counter = counter(MINUTE, 0);
    assert_eq!(spend(&counter, 10, 10, 59_999), Ok(WindowId(0)));
    let end_ms = Some(60_000);
    let refused =
        Refused { at: 0, limit: LimitId(1), left: 0, resets_at_ms: end_ms, retry_at_ms: end_ms, share: None };
    assert_eq!(spend(&counter, 1, 10, 59_999), Err(refused));
    assert_eq!(spend(&counter, 10, 10, 60_000), Ok(WindowId(1)));
    assert_eq!(counter.view(60_000).used(), 10);
    assert_eq!(counter.view(120_000).used(), 0);
}

#[test]
fn a_rolling_window_frees_its_parts_one_by_one() {
    let window = seconds(60, 6);
    let counter = counter(window, 0);
    assert!(spend(&counter, 6, 10, 5_000).is_ok());
    assert!(spend(&counter, 4, 10, 15_000).is_ok());
    let check = |amount: u64, now_ms: u64, retry_at_ms: Option<u64>| {
        let refused = counter.charge(amount, 10, now_ms).unwrap_err();
        assert_eq!(refused.retry_at_ms, retry_at_ms, "{amount} at {now_ms}");
    };
    // The part of 0 to 10 s counts whole until no stretch of 60 s can reach into it.
    check(1, 59_000, Some(70_000));
    check(6, 69_999, Some(70_000));
    check(7, 69_999, Some(80_000));
    check(10, 69_999, Some(80_000));
    check(11, 69_999, None);
    assert_eq!(counter.view(69_999).used(), 10);
    assert_eq!(counter.view(70_000).used(), 4);
    assert!(spend(&counter, 6, 10, 70_000).is_ok());
    check(1, 79_999, Some(80_000));
    assert!(spend(&counter, 4, 10, 80_000).is_ok());
}

#[test]
fn a_limit_without_a_window_frees_what_is_settled() {
    let counter = counter(Window::Standing, 0);
    let first = counter.charge(1, 2, 0).unwrap();
    let second = counter.charge(1, 2, u64::MAX).unwrap();
    let refused = counter.charge(1, 2, 0).unwrap_err();
    assert_eq!(refused.retry_at_ms, None, "no time frees it");
    first.settle(0);
    let third = counter.charge(1, 2, 0).unwrap();
    drop(second);
    assert_eq!(counter.view(0).used(), 1);
    third.settle(0);
    assert_eq!(counter.view(0).used(), 0);
}

#[test]
fn others_count_while_their_window_does() {
    let counter = counter(seconds(60, 6), 100_000);
    let others = [(3, 1), (4, 2), (10, 4), (11, 8), (1_000, 16)];
    counter.set_beside(others.map(|(id, amount)| others_in(id, amount)).to_vec());
    assert_eq!(counter.view(100_000).used(), 2 + 4, "of parts 4 to 10");
    assert_eq!(counter.view(110_000).used(), 4 + 8, "of parts 5 to 11");
    assert!(counter.charge(9, 20, 110_000).is_err());
    assert!(counter.charge(8, 20, 110_000).is_ok());
    let refused = counter.charge(12, 20, 110_000).unwrap_err();
    assert_eq!(refused.retry_at_ms, Some(170_000), "when part 10 leaves");
    counter.set_beside(vec![others_in(11, u64::MAX), others_in(10, u64::MAX)]);
    assert_eq!(counter.view(110_000).used(), u64::MAX);
    assert!(counter.charge(0, u64::MAX - 1, 110_000).is_err());
}

#[test]
fn a_lower_limit_applies_at_once() {
    let counter = counter(MINUTE, 0);
    assert!(spend(&counter, 10, 10, 0).is_ok());
    assert!(spend(&counter, 1, 5, 0).is_err());
    assert!(spend(&counter, 0, 5, 0).is_err(), "more is used than the limit allows");
    assert!(spend(&counter, 1, 11, 0).is_ok());
}

#[test]
fn a_thread_that_is_late_cannot_charge_a_part_that_is_summed() {
    let counter = counter(seconds(60, 6), 0);
    let late = counter.cells_at(0);
    assert!(spend(&counter, 10, 10, 10_000).is_ok());
    assert_eq!(late.current.charge_within(10, 10), Charged::Sealed);
    assert!(spend(&counter, 1, 10, 0).is_err(), "it finds the newer view");
}

#[test]
fn a_settlement_counts_where_the_charge_did() {
    let counter = counter(MINUTE, 0);
    let hold = counter.charge(5, 10, 0).unwrap();
    assert!(spend(&counter, 1, 10, MINUTE_MS).is_ok());
    hold.settle(50);
    assert_eq!(counter.view(MINUTE_MS).used(), 1);
}

#[test]
fn a_look_tells_held_from_spent_and_moves_nothing() {
    let counter = counter(seconds(60, 6), 100_000);
    counter.set_beside(vec![others_in(9, 4)]);
    let hold = counter.charge(3, 10, 100_000).unwrap();
    assert!(spend(&counter, 2, 10, 110_000).is_ok());
    let view = |spent, held, window_id, start_ms, resets_at_ms| {
        let (window_id, resets_at_ms) = (WindowId(window_id), Some(resets_at_ms));
        View { spent, held, window_id, start_ms, resets_at_ms }
    };
    assert_eq!(counter.view(115_000), view(6, 3, 11, 50_000, 160_000));
    assert_eq!(counter.view(165_000), view(2, 3, 16, 100_000, 170_000));
    assert_eq!(counter.view(175_000), view(2, 0, 17, 110_000, 180_000));
    assert_eq!(
        counter.view(500_000),
        view(0, 0, 50, 440_000, 570_000),
        "nothing counts: when the running part leaves"
    );
    assert_eq!(counter.newest(), WindowId(11), "looking ahead does not move it");
    assert_eq!(counter.view(0), counter.view(110_000), "nor does the clock move it back");
    hold.settle(5);
    assert_eq!(counter.view(115_000), view(11, 0, 11, 50_000, 160_000));

    let minute = self::counter(MINUTE, 0);
    assert_eq!(minute.view(90_000), view(0, 0, 1, 60_000, 120_000));
    let standing = self::counter(Window::Standing, 0);
    let _hold = standing.charge(2, 2, 0).unwrap();
    let expected = View { resets_at_ms: None, ..view(0, 2, 0, 0, 0) };
    assert_eq!(standing.view(90_000), expected);
}

#[test]
fn a_refusal_tells_what_is_left_and_when_it_is_worth_to_ask_again() {
    let counter = counter(seconds(60, 6), 100_000);
    assert!(spend(&counter, 6, 10, 100_000).is_ok());
    assert!(spend(&counter, 3, 10, 110_000).is_ok());
    let check = |amount: u64, limit: u64, left: u64, retry_at_ms: Option<u64>| {
        let expected =
            Refused { at: 0, limit: LimitId(1), left, resets_at_ms: Some(170_000), retry_at_ms, share: None };
        assert_eq!(counter.charge(amount, limit, 119_999).unwrap_err(), expected, "{amount} of {limit}");
    };
    check(2, 10, 1, Some(170_000));
    check(8, 10, 1, Some(180_000));
    check(11, 10, 1, None);
    check(1, 5, 0, Some(170_000));
}

/// One thread sums the earlier parts; then another tops up a hold of theirs, through the current part; then the first
/// charges the current part, which has nothing of it any more.
#[test]
fn a_charge_that_missed_a_top_up_on_its_way_is_found_out() {
    let counter = counter(seconds(60, 6), 0);
    let mut hold = counter.charge(1, 10, 0).unwrap();
    let cells = counter.cells_at(10_000);
    let earlier = cells.sealed_sum();
    counter.top_up(&mut hold, 8, 10, 10_000).unwrap();
    assert_eq!(cells.current.charge_within(9, 10 - earlier), Charged::Yes, "it sees neither");
    assert!(!cells.fit_still(earlier, 10));
    cells.current.settle(9, 0);
    assert_eq!(cells.current.charge_within(1, 10 - earlier), Charged::Yes);
    assert!(cells.fit_still(earlier, 10), "it fits with what has come");
}

fn window() -> impl Strategy<Value = Window> {
    prop_oneof![
        Just(Window::Calendar(Calendar::Second)),
        Just(Window::Calendar(Calendar::Minute)),
        Just(Window::Calendar(Calendar::Month)),
        (100u64..5_000, 1u32..12).prop_map(|(length, parts)| Window::rolling(length, parts).unwrap()),
    ]
}

proptest! {
    #[test]
    fn windows_never_go_back_when_the_clock_does(
        window in window(),
        times in prop::collection::vec(0u64..10_000_000, 1..50),
    ) {
        let counter = counter(window, 5_000_000);
        let mut newest = counter.newest();
        for now_ms in times {
            let id = spend(&counter, 1, u64::MAX, now_ms).unwrap();
            prop_assert_eq!(id, newest.max(window.id_at(now_ms)));
            prop_assert_eq!(counter.newest(), id);
            newest = id;
        }
    }

    #[test]
    fn no_stretch_of_a_rolling_window_holds_more_than_the_limit(
        length in 100u64..3_000,
        parts in 1u32..12,
        steps in prop::collection::vec((0u64..400, 0u64..8), 1..200),
    ) {
        let (limit, mut now_ms) = (20, 1_000_000);
        let counter = counter(Window::rolling(length, parts).unwrap(), now_ms);
        let mut admitted: Vec<(u64, u64)> = Vec::new();
        for (step, amount) in steps {
            now_ms += step;
            match spend(&counter, amount, limit, now_ms) {
                Ok(_) => admitted.push((now_ms, amount)),
                Err(Refused { retry_at_ms, .. }) => {
                    let at = retry_at_ms.unwrap();
                    prop_assert!(at > now_ms);
                    // What is promised holds, and not a millisecond earlier.
                    prop_assert!(counter.view(at).used() + amount <= limit);
                    prop_assert!(counter.view(at - 1).used() + amount > limit);
                }
            }
        }
        for (end, _) in &admitted {
            let stretch = admitted.iter().filter(|(at, _)| at <= end && at + length > *end);
            let sum: u64 = stretch.map(|(_, amount)| amount).sum();
            prop_assert!(sum <= limit, "{} in {} ms up to {}", sum, length, end);
        }
    }
}
