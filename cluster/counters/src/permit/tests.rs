//! All or none, and exactly once.

use super::*;
use crate::tests::{MINUTE, actor, counter_id};
use crate::{Actor, Table, Totals, counters};
use proptest::prelude::*;

const OWN: Actor = Actor { node: crate::NodeId(1), incarnation: 1 };

fn open<const N: usize>() -> [Arc<Counter>; N] {
    let table = Table::new(OWN, 100);
    let (mut counters, _) = counters(OWN, 100);
    std::array::from_fn(|at| counters.open(counter_id(at as u64, MINUTE), &table, 0).unwrap())
}

fn charge(counter: &Counter, amount: u64, limit: u64) -> Charge<'_> {
    Charge { counter, amount, limit }
}

fn used<const N: usize>(counters: &[Arc<Counter>; N]) -> [u64; N] {
    std::array::from_fn(|at| counters[at].used(0))
}

#[test]
fn all_are_charged_or_none() {
    let counters = open::<3>();
    let [a, b, c] = &counters;
    let permit = admit(&[charge(a, 1, 10), charge(b, 20, 100), charge(c, 300, 300)], 0).unwrap();
    assert_eq!(used(&counters), [1, 20, 300]);
    assert_eq!(permit.holds().iter().map(Hold::amount).collect::<Vec<_>>(), [1, 20, 300]);

    let refused = admit(&[charge(a, 1, 10), charge(b, 20, 100), charge(c, 1, 300)], 0).unwrap_err();
    assert_eq!(refused.limit, LimitId(2));
    assert_eq!(used(&counters), [1, 20, 300]);
    let totals = Totals { charged: 2, refunded: 1 };
    assert_eq!(permit.holds()[0].cell.totals(), totals, "given back through the refund side");

    drop(permit);
    assert_eq!(used(&counters), [0, 0, 0]);
    assert!(admit(&[], 0).is_ok());
}

#[test]
fn one_counter_may_be_asked_twice() {
    let counters = open::<1>();
    let [a] = &counters;
    assert!(admit(&[charge(a, 6, 10), charge(a, 6, 10)], 0).is_err());
    assert_eq!(used(&counters), [0]);
    let _permit = admit(&[charge(a, 6, 10), charge(a, 4, 10)], 0).unwrap();
    assert_eq!(used(&counters), [10]);
}

#[test]
fn settlement_takes_the_amount_of_each_limit() {
    let counters = open::<3>();
    let [a, b, c] = &counters;
    let permit = admit(&[charge(a, 1, 1), charge(b, 50, 50), charge(c, 9, 9)], 0).unwrap();
    permit.settle(|limit| match limit.0 {
        0 => 1,
        1 => 20,
        _ => 30,
    });
    assert_eq!(used(&counters), [1, 20, 30], "the same, less, and more than the limit");
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
            let held = permit.holds()[0].amount();
            let ends = used.unwrap_or_default();
            expected.charged += ends.saturating_sub(held);
            expected.refunded += held.saturating_sub(ends);
            settled += ends;
            match used {
                Some(used) => permit.settle(|_| used),
                None => drop(permit),
            }
            let held: u64 = open.iter().map(|permit| permit.holds()[0].amount()).sum();
            prop_assert_eq!(counter.used(0), settled + held);
            prop_assert_eq!(open[0].holds()[0].cell.totals(), expected);
        }
    }

    #[test]
    fn a_refusal_anywhere_charges_nothing(refuses in 0usize..5, amounts in prop::array::uniform5(1u64..100)) {
        let counters = open::<5>();
        let charges: Vec<_> = (0..5)
            .map(|at| charge(&counters[at], amounts[at], amounts[at] - u64::from(at == refuses)))
            .collect();
        prop_assert_eq!(admit(&charges, 0).unwrap_err().limit, LimitId(refuses as u64));
        prop_assert_eq!(used(&counters), [0; 5]);
    }
}

#[test]
fn the_actor_of_the_charge_is_the_counters_own() {
    let [counter] = &open::<1>();
    assert_eq!(counter.charge(1, 1, 0).unwrap().cell().actor, actor(1, 1));
}
