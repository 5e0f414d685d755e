//! The cell alone: bounds, seal, and when it tells of itself.

use super::*;
use crate::tests::{MINUTE, actor, cell, counter_id};
use std::{
    sync::{
        atomic::Ordering::Release,
        mpsc::{self, Receiver},
    },
    time::{Duration, Instant},
};

fn live() -> (Arc<LiveCell>, Receiver<Arc<LiveCell>>) {
    let (sender, receiver) = mpsc::channel();
    let id = cell(counter_id(1, MINUTE), 5, actor(1, 1), (0, 0)).id;
    (LiveCell::new(id, sender), receiver)
}

fn totals(charged: u64, refunded: u64) -> Totals {
    Totals { charged, refunded }
}

#[test]
fn a_charge_fits_or_changes_nothing() {
    let (cell, _queue) = live();
    assert_eq!(cell.charge_within(6, 10), Charged::Yes);
    assert_eq!(cell.charge_within(5, 10), Charged::NoRoom);
    assert_eq!(cell.totals(), totals(6, 0), "a refused charge leaves no trace");
    assert_eq!(cell.charge_within(4, 10), Charged::Yes);
    assert_eq!(cell.charge_within(0, 10), Charged::Yes);
    assert_eq!(cell.charge_within(0, 9), Charged::NoRoom);
    cell.refund(3);
    assert_eq!(cell.charge_within(3, 10), Charged::Yes);
    assert_eq!(cell.totals(), totals(13, 3));
    assert_eq!(cell.totals().contribution(), 10);
}

#[test]
fn a_sealed_cell_takes_settlements_alone() {
    let (cell, _queue) = live();
    assert_eq!(cell.charge_within(6, 10), Charged::Yes);
    cell.seal();
    cell.seal();
    assert_eq!(cell.charge_within(1, 10), Charged::Sealed);
    assert_eq!(cell.totals(), totals(6, 0), "the seal is not part of the number");
    cell.charge_more(5);
    cell.refund(2);
    assert_eq!(cell.totals(), totals(11, 2));
    assert_eq!(cell.charge_within(1, 100), Charged::Sealed, "still sealed after a settlement");
}

#[test]
fn numbers_stop_at_their_maximum() {
    let (cell, _queue) = live();
    assert_eq!(cell.charge_within(u64::MAX, u64::MAX), Charged::NoRoom);
    assert_eq!(cell.charge_within(TOTAL_MAX, u64::MAX), Charged::Yes);
    assert_eq!(cell.charge_within(1, u64::MAX), Charged::NoRoom);
    cell.charge_more(u64::MAX);
    assert_eq!(cell.totals(), totals(TOTAL_MAX, 0));
    assert_eq!(cell.charge_within(0, u64::MAX), Charged::Yes, "an overflow must not reach the seal");
    cell.refund(u64::MAX);
    cell.refund(1);
    assert_eq!(cell.totals(), totals(TOTAL_MAX, TOTAL_MAX));
}

#[test]
fn a_changed_cell_waits_once_and_again_after_its_collection() {
    let (cell, queue) = live();
    assert!(queue.try_recv().is_err(), "a new cell has nothing to tell");
    assert_eq!(cell.charge_within(1, 0), Charged::NoRoom);
    assert!(queue.try_recv().is_err(), "nor has one that refused");

    assert_eq!(cell.charge_within(1, 9), Charged::Yes);
    cell.charge_more(1);
    cell.refund(1);
    assert!(queue.try_recv().is_ok());
    assert!(queue.try_recv().is_err(), "three changes, one place in the queue");

    assert_eq!(cell.collect(), totals(2, 1));
    for (name, change) in [
        ("charge", &(|| assert_eq!(cell.charge_within(1, 9), Charged::Yes)) as &dyn Fn()),
        ("more", &|| cell.charge_more(1)),
        ("refund", &|| cell.refund(1)),
    ] {
        change();
        assert!(queue.try_recv().is_ok(), "{name} after a collection");
        cell.collect();
    }
}

#[test]
fn a_reader_never_sees_a_refund_before_its_charge() {
    let (cell, _queue) = live();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !done.load(Acquire) {
                let Totals { charged, refunded } = cell.totals();
                assert!(refunded <= charged, "{refunded} of {charged}");
            }
        });
        for _ in 0..500_000 {
            if reader.is_finished() {
                break;
            }
            assert_eq!(cell.charge_within(1, 1), Charged::Yes);
            cell.refund(1);
        }
        done.store(true, Release);
        reader.join().unwrap();
    });
}

#[test]
fn a_change_during_a_collection_is_collected_too() {
    const ROUNDS: u64 = 200_000;
    let (cell, queue) = live();
    let (seen, done) = (&AtomicU64::new(0), &AtomicBool::new(false));
    // Rounds are cheap where both threads run at once; a busy machine does fewer.
    let enough = Instant::now() + Duration::from_secs(2);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while !done.load(Acquire) {
                match queue.try_recv() {
                    Ok(cell) => seen.store(cell.collect().charged, Release),
                    Err(_) => std::thread::yield_now(),
                }
            }
        });
        let mut missed = None;
        for round in (1..=ROUNDS).take_while(|_| Instant::now() < enough) {
            cell.charge_more(1);
            // From round to round, the second change comes at another moment of the first one's collection.
            for _ in 0..round % 64 {
                std::hint::spin_loop();
            }
            cell.charge_more(1);
            let deadline = Instant::now() + Duration::from_secs(10);
            while seen.load(Acquire) < 2 * round && Instant::now() < deadline {
                std::thread::yield_now();
            }
            if seen.load(Acquire) < 2 * round {
                missed = Some(round);
                break;
            }
        }
        done.store(true, Release);
        assert_eq!(missed, None, "the round whose second change was missed");
    });
}
