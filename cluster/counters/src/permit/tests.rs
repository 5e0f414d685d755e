//! All or none, at first and when more is asked for, and exactly once.

use super::*;
use crate::tests::{MINUTE, MINUTE_MS, counter_id};
use crate::{Actor, CounterId, Table, Totals, WindowId, counters};
use proptest::prelude::*;

const OWN: Actor = Actor { node: crate::NodeId(1), incarnation: 1 };
const ROLLING_MS: u64 = 10_000;

fn open_in<const N: usize>(window: Window) -> [Arc<Counter>; N] {
    let table = Table::new(OWN, 100);
    let (counters, _) = counters(OWN, 100);
    std::array::from_fn(|at| counters.open(counter_id(at as u64, window), &table, 0).unwrap())
}

fn open<const N: usize>() -> [Arc<Counter>; N] {
    open_in(MINUTE)
}

/// In parts of [`ROLLING_MS`].
fn rolling() -> Window {
    Window::rolling(6 * ROLLING_MS, 6).unwrap()
}

fn charge(counter: &Counter, amount: u64, limit: u64) -> Charge<'_> {
    Charge { counter, amount, limit: limit.into() }
}

fn admit(charges: &[Charge<'_>], now_ms: u64) -> Result<Permit, Refused> {
    Leases::new(10).admit(charges, now_ms, u64::MAX).map_err(refused)
}

fn refused(not: NotAdmitted) -> Refused {
    match not {
        NotAdmitted::Refused(refused) => refused,
        other => panic!("{other}"),
    }
}

fn used<const N: usize>(counters: &[Arc<Counter>; N]) -> [u64; N] {
    std::array::from_fn(|at| counters[at].view(0).used())
}

fn amounts(permit: &Permit) -> Vec<u64> {
    permit.held().map(|held| held.amount).collect()
}

fn totals(permit: &Permit) -> Totals {
    lock(&permit.slot.as_ref().unwrap().holds).list[0].cell().totals()
}

#[test]
fn all_are_charged_or_none() {
    let counters = open::<3>();
    let [a, b, c] = &counters;
    let permit = admit(&[charge(a, 1, 10), charge(b, 20, 100), charge(c, 300, 300)], 0).unwrap();
    assert_eq!(used(&counters), [1, 20, 300]);
    assert_eq!(amounts(&permit), [1, 20, 300]);

    let refused = admit(&[charge(a, 1, 10), charge(b, 20, 100), charge(c, 1, 300)], 0).unwrap_err();
    assert_eq!((refused.at, refused.limit, refused.left), (2, LimitId(2), 0));
    assert_eq!(used(&counters), [1, 20, 300]);
    assert_eq!(totals(&permit), Totals { charged: 2, refunded: 1 }, "given back through the refund side");

    drop(permit);
    assert_eq!(used(&counters), [0, 0, 0]);
    assert!(admit(&[], 0).is_ok());
}

#[test]
fn one_counter_that_is_asked_twice_is_held_once() {
    let counters = open::<1>();
    let [a] = &counters;
    assert_eq!(admit(&[charge(a, 6, 10), charge(a, 6, 10)], 0).unwrap_err().at, 1);
    assert_eq!(used(&counters), [0]);
    let permit = admit(&[charge(a, 6, 10), charge(a, 4, 10)], 0).unwrap();
    assert_eq!((used(&counters), amounts(&permit)), ([10], vec![10]));
}

#[test]
fn a_permit_is_extended_by_all_or_none() {
    let counters = open::<3>();
    let [a, b, c] = &counters;
    let mut permit = admit(&[charge(a, 1, 10)], 0).unwrap();
    permit.extend(&[charge(b, 5, 10), charge(a, 2, 10)], 0).unwrap();
    assert_eq!(amounts(&permit), [3, 5]);

    let more = [charge(c, 1, 10), charge(a, 3, 10), charge(a, 1, 10), charge(b, 6, 10)];
    let refused = refused(permit.extend(&more, 0).unwrap_err());
    assert_eq!((refused.at, refused.limit, refused.left), (3, LimitId(1), 5));
    assert_eq!((used(&counters), amounts(&permit)), ([3, 5, 0], vec![3, 5]), "nothing moved");

    permit.extend(&[charge(a, 7, 10), charge(b, 5, 10)], 0).unwrap();
    assert_eq!(used(&counters), [10, 10, 0]);
    permit.shrink_to(LimitId(0), 4);
    permit.shrink_to(LimitId(1), 11);
    permit.shrink_to(LimitId(9), 0);
    assert_eq!((used(&counters), amounts(&permit)), ([4, 10, 0], vec![4, 10]));
    let mut order = Vec::new();
    permit.settle(|held| {
        order.push((held.counter.limit.0, held.amount));
        held.amount - 1
    });
    assert_eq!((used(&counters), order), ([3, 9, 0], vec![(0, 4), (1, 10)]));
}

#[test]
fn a_top_up_counts_in_the_window_of_the_admission() {
    let [a] = &open::<1>();
    let mut permit = admit(&[charge(a, 6, 10)], 0).unwrap();
    let _next = admit(&[charge(a, 9, 10)], MINUTE_MS).unwrap();
    permit.extend(&[charge(a, 4, 10)], MINUTE_MS).unwrap();
    assert_eq!((a.view(MINUTE_MS).used(), totals(&permit).charged), (9, 10));
    let refused = refused(permit.extend(&[charge(a, 1, 10)], MINUTE_MS).unwrap_err());
    assert_eq!(
        (refused.left, refused.resets_at_ms, refused.retry_at_ms),
        (0, Some(MINUTE_MS), Some(MINUTE_MS))
    );
    assert_eq!(permit.held().next().unwrap().window_id, WindowId(0));
    permit.settle(|_| 100);
    assert_eq!(a.view(MINUTE_MS).used(), 9);
}

#[test]
fn a_top_up_of_an_earlier_part_finds_room_in_the_view() {
    let [a] = &open_in::<1>(rolling());
    let mut permit = admit(&[charge(a, 2, 10)], 0).unwrap();
    let _other = admit(&[charge(a, 4, 10)], ROLLING_MS).unwrap();
    assert_eq!(refused(permit.extend(&[charge(a, 5, 10)], ROLLING_MS).unwrap_err()).left, 4);
    permit.extend(&[charge(a, 4, 10)], ROLLING_MS).unwrap();
    let view = a.view(ROLLING_MS);
    assert_eq!((view.used(), view.held, view.spent), (10, 10, 0));
    assert_eq!((totals(&permit).charged, amounts(&permit)), (6, vec![6]));
    assert_eq!(a.view(7 * ROLLING_MS).used(), 4, "all that it holds leaves with its part");
    permit.settle(|_| 7);
    assert_eq!(a.view(ROLLING_MS).used(), 11);
}

#[test]
fn settlement_takes_the_amount_of_each_limit() {
    let counters = open::<3>();
    let [a, b, c] = &counters;
    let permit = admit(&[charge(a, 1, 1), charge(b, 50, 50), charge(c, 9, 9)], 0).unwrap();
    permit.settle(|held| match held.counter.limit.0 {
        0 => 1,
        1 => 20,
        _ => 30,
    });
    assert_eq!(used(&counters), [1, 20, 30], "the same, less, and more than the limit");
}

#[test]
fn concurrency_is_released_at_settlement() {
    let [tokens, _] = &open::<2>();
    let [_, calls] = &open_in::<2>(Window::Standing);
    let permit = admit(&[charge(tokens, 5, 10), charge(calls, 1, 1)], 0).unwrap();
    let refused = admit(&[charge(tokens, 5, 10), charge(calls, 1, 1)], 0).unwrap_err();
    assert_eq!((refused.at, refused.left, refused.retry_at_ms, refused.resets_at_ms), (1, 0, None, None));
    permit.settle(|held| held.amount);
    assert_eq!((tokens.view(0).spent, calls.view(0).used()), (5, 0));
}

#[test]
fn what_a_permit_holds_is_what_the_journal_writes() {
    let [a, b] = &open::<2>();
    let permit = admit(&[charge(b, 7, 10), charge(a, 1, 10)], MINUTE_MS).unwrap();
    let held: Vec<_> = permit.held().collect();
    let one = |counter: CounterId, amount| Held { counter, window_id: WindowId(1), amount };
    assert_eq!(held, [one(*b.id(), 7), one(*a.id(), 1)]);
}

#[test]
fn a_panic_gives_back() {
    let counters = open::<1>();
    let [a] = &counters;
    let permit = admit(&[charge(a, 6, 10)], 0).unwrap();
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _permit = permit;
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(ended.is_err());
    assert_eq!(used(&counters), [0]);
}

proptest! {
    /// Whatever becomes of permits, what counts is what was used by the settled and is held by the open ones, and
    /// each ends once: both sides move by what one settlement moves them.
    #[test]
    fn each_permit_is_settled_exactly_once(
        steps in prop::collection::vec((0u64..20, prop::option::of(0u64..40), any::<prop::sample::Index>()), 1..60),
    ) {
        let counters = open::<1>();
        let [counter] = &counters;
        let limit = 1_000_000;
        let (mut open, mut settled, mut expected) = (Vec::new(), 0, Totals::default());
        for (amount, used, which) in steps {
            open.push(admit(&[charge(counter, amount, limit)], 0).unwrap());
            expected.charged += amount;
            if open.len() < 4 {
                continue;
            }
            let permit = open.swap_remove(which.index(open.len()));
            let held = amounts(&permit)[0];
            let ends = used.unwrap_or_default();
            expected.charged += ends.saturating_sub(held);
            expected.refunded += held.saturating_sub(ends);
            settled += ends;
            match used {
                Some(used) => permit.settle(|_| used),
                None => drop(permit),
            }
            let held: u64 = open.iter().map(|permit| amounts(permit)[0]).sum();
            let view = counter.view(0);
            prop_assert_eq!((view.spent, view.held), (settled, held));
            prop_assert_eq!(totals(&open[0]), expected);
        }
    }

    #[test]
    fn a_refusal_anywhere_charges_nothing(refuses in 0usize..5, amounts in prop::array::uniform5(1u64..100)) {
        let counters = open::<5>();
        let charges: Vec<_> = (0..5)
            .map(|at| charge(&counters[at], amounts[at], amounts[at] - u64::from(at == refuses)))
            .collect();
        let refused = admit(&charges, 0).unwrap_err();
        prop_assert_eq!((refused.limit, refused.at), (LimitId(refuses as u64), refuses));
        prop_assert_eq!(refused.left, amounts[refuses] - 1);
        prop_assert_eq!(used(&counters), [0; 5]);
    }
}

#[test]
fn the_actor_of_the_charge_is_the_counters_own() {
    let [counter] = &open::<1>();
    assert_eq!(counter.charge(1, 1, 0).unwrap().cell().id().actor, OWN);
}
