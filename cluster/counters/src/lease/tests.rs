//! Leases: what is leaked comes back, what comes late is charged once, how many there may be.

use super::*;
use crate::tests::{MINUTE, actor, counter_id};
use crate::{Counter, Table, Window, counters};

fn open(window: Window) -> Arc<Counter> {
    let (counters, _) = counters(actor(1, 1), 10);
    counters.open(counter_id(1, window), &Table::new(actor(1, 1), 0), 0).unwrap()
}

fn charge(counter: &Counter, amount: u64) -> [Charge<'_>; 1] {
    [Charge { counter, amount, limit: 10.into() }]
}

fn ended(leases: &Leases, now_ms: u64) -> usize {
    leases.sweep(now_ms).permits
}

#[test]
fn what_is_leaked_comes_back_when_the_lease_ends() {
    for window in [MINUTE, Window::Standing, Window::rolling(60_000, 6).unwrap()] {
        let (leases, counter) = (Leases::new(10), open(window));
        std::mem::forget(leases.admit(&charge(&counter, 10), 0, 1_000).unwrap());
        assert_eq!((ended(&leases, 999), leases.len()), (0, 1));
        assert!(leases.admit(&charge(&counter, 1), 0, 1_000).is_err());
        assert_eq!((ended(&leases, 1_000), leases.len()), (1, 0));
        assert_eq!(counter.view(0).used(), 0, "{window}");
        assert_eq!(ended(&leases, u64::MAX), 0, "once");
        assert!(leases.admit(&charge(&counter, 10), 0, 1_000).is_ok());
    }
}

#[test]
fn a_late_settlement_charges_all_that_was_used_and_gives_nothing_back() {
    let (leases, counter) = (Leases::new(10), open(MINUTE));
    let mut late = leases.admit(&charge(&counter, 6), 0, 1_000).unwrap();
    let dropped = leases.admit(&charge(&counter, 4), 0, 1_000).unwrap();
    assert_eq!(ended(&leases, 1_000), 2);
    assert_eq!(late.held().map(|held| held.amount).collect::<Vec<_>>(), [0]);
    assert_eq!(late.extend(&charge(&counter, 1), 0), Err(NotAdmitted::LeaseEnded));
    let next = leases.admit(&charge(&counter, 10), 0, 5_000).unwrap();
    drop(dropped);
    assert_eq!(counter.view(0).used(), 10, "nothing is given back twice");
    late.settle(|_| 5);
    assert_eq!((counter.view(0).spent, counter.view(0).held), (5, 10), "above the limit, since it was used");
    assert_eq!(leases.len(), 1, "a late end leaves the permit that has its place now");
    next.settle(|_| 10);
    assert_eq!((counter.view(0).spent, counter.view(0).held, leases.is_empty()), (15, 0, true));
}

#[test]
fn one_permit_more_is_refused() {
    let (leases, counter) = (Leases::new(2), open(MINUTE));
    let first = leases.admit(&charge(&counter, 1), 0, 1_000).unwrap();
    let _second = leases.admit(&charge(&counter, 1), 0, 2_000).unwrap();
    let full = leases.admit(&charge(&counter, 1), 0, 1_000).unwrap_err();
    assert_eq!((full, counter.view(0).used()), (NotAdmitted::Full, 2), "and holds nothing");
    first.settle(|_| 1);
    std::mem::forget(leases.admit(&charge(&counter, 1), 0, 1_000).unwrap());
    assert!(leases.admit(&charge(&counter, 1), 0, 1_000).is_err());
    assert_eq!(ended(&leases, 1_000), 1);
    assert!(leases.admit(&charge(&counter, 1), 0, 1_000).is_ok());
}

#[test]
fn settled_permits_leave_nothing_to_sweep() {
    let (leases, counter) = (Leases::new(2), open(MINUTE));
    for _ in 0..100 {
        leases.admit(&charge(&counter, 10), 0, 1_000).unwrap().settle(|_| 0);
        drop(leases.admit(&charge(&counter, 10), 0, 1_000).unwrap());
    }
    assert_eq!((leases.len(), ended(&leases, u64::MAX)), (0, 0));
}

#[test]
fn permits_may_move_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    let (leases, counter) = (Leases::new(1), open(MINUTE));
    let permit = leases.admit(&charge(&counter, 1), 0, 1_000).unwrap();
    is_send(&permit);
    std::thread::scope(|scope| scope.spawn(|| permit.settle(|_| 1)).join()).unwrap();
    assert_eq!((counter.view(0).spent, leases.len()), (1, 0));
}
