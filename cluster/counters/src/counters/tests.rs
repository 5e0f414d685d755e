//! Opening, telling of others, expiry, the bound.

use super::*;
use crate::tests::{MINUTE, MINUTE_MS, actor, cell, counter_id};
use crate::{Merged, Settlement, Window};

fn made(counters_max: usize) -> (Counters, Changes, Table) {
    let own = actor(1, 1);
    let (counters, changes) = counters(own, counters_max);
    (counters, changes, Table::new(own, 100))
}

#[test]
fn a_counter_is_made_once() {
    let (counters, _changes, table) = made(10);
    let first = counters.open(counter_id(1, MINUTE), &table, 0).unwrap();
    let again = counters.open(counter_id(1, MINUTE), &table, 0).unwrap();
    let other = counters.open(counter_id(1, Window::Standing), &table, 0).unwrap();
    assert!(Arc::ptr_eq(&first, &again));
    assert!(!Arc::ptr_eq(&first, &other), "another window counts anew");
    assert_eq!((counters.len(), counters.is_empty()), (2, false));
}

#[test]
fn others_count_from_the_first_request_on() {
    let (counters, _changes, mut table) = made(10);
    let id = counter_id(1, MINUTE);
    assert_eq!(table.merge(&cell(id, 0, actor(2, 1), (8, 0)), 0), Merged::Changed);
    let counter = counters.open(id, &table, 0).unwrap();
    assert!(counter.charge(3, 10, 0).is_err());
    assert!(counter.charge(2, 10, 0).is_ok());

    assert_eq!(table.merge(&cell(id, 0, actor(2, 1), (8, 4)), 0), Merged::Changed);
    assert_eq!(table.merge(&cell(id, 1, actor(2, 1), (10, 0)), 0), Merged::Changed);
    counters.refresh(&id, &table);
    assert!(counter.charge(6, 10, 0).is_ok());
    assert!(counter.charge(1, 10, MINUTE_MS).is_err(), "a peer was early in the next minute");
    counters.refresh(&counter_id(2, MINUTE), &table);
}

#[test]
fn one_counter_more_is_refused() {
    let (counters, _changes, table) = made(1);
    assert!(counters.open(counter_id(1, MINUTE), &table, 0).is_ok());
    assert_eq!(counters.open(counter_id(2, MINUTE), &table, 0).unwrap_err(), CountersFull);
    assert!(counters.open(counter_id(1, MINUTE), &table, 0).is_ok());
    let until = MINUTE.kept_until_ms(WindowId(0)).unwrap();
    assert_eq!(counters.expire(until), 1);
    assert!(counters.open(counter_id(2, MINUTE), &table, until).is_ok());
}

#[test]
fn a_counter_is_dropped_when_idle_and_in_nobodys_hands() {
    let (counters, _changes, table) = made(10);
    let id = counter_id(1, MINUTE);
    counters.open(counter_id(1, Window::Standing), &table, 0).unwrap();
    let counter = counters.open(id, &table, 0).unwrap();
    let until = MINUTE.kept_until_ms(WindowId(0)).unwrap();
    assert_eq!(counters.expire(until), 0, "someone has it");
    drop(counter);
    assert_eq!(counters.expire(until - 1), 1, "the clock went back, the sweep does not");
    assert_eq!(counters.len(), 1, "without a window it stays");
}

#[test]
fn a_dropped_cell_is_not_begun_again() {
    let (counters, _changes, table) = made(10);
    let id = counter_id(1, MINUTE);
    assert_eq!(counters.open(id, &table, 0).unwrap().newest(), WindowId(0));
    let until = MINUTE.kept_until_ms(WindowId(0)).unwrap();
    assert_eq!(counters.expire(until), 1);
    let counter = counters.open(id, &table, 0).unwrap();
    assert_eq!(counter.newest(), MINUTE.id_at(until), "though the clock went back");
}

#[test]
fn a_counter_is_found_once_it_is_made() {
    let (counters, _changes, table) = made(10);
    let id = counter_id(1, MINUTE);
    assert!(counters.get(&id).is_none());
    let opened = counters.open(id, &table, 0).unwrap();
    assert!(Arc::ptr_eq(&counters.get(&id).unwrap(), &opened));
    assert!(counters.get(&counter_id(2, MINUTE)).is_none());
}

#[test]
fn what_earlier_lives_settled_counts_and_is_dropped_with_its_window() {
    let (mut counters, _changes, mut table) = made(10);
    let id = counter_id(1, Window::rolling(MINUTE_MS, 6).unwrap());
    let mut settled = Settled::new(10);
    for (limit, window_id, amount) in [(1, 1, 1), (1, 2, 2), (1, 8, 4), (1, 9, 8), (2, 8, 100)] {
        let counter = CounterId { window: id.window, ..counter_id(limit, id.window) };
        settled.add(Settlement { counter, window_id: WindowId(window_id), amount }).unwrap();
    }
    counters.restore(&settled);
    assert_eq!(table.merge(&cell(id, 8, actor(2, 1), (16, 0)), 80_000), Merged::Changed);
    assert_eq!(counters.view(id, &table, 80_000).spent, 2 + 4 + 16, "seen before anybody asks for it");
    assert!(counters.is_empty(), "a look makes none");
    let counter = counters.open(id, &table, 80_000).unwrap();
    assert_eq!(counters.view(id, &table, 80_000), counter.view(80_000));
    assert_eq!(counter.view(80_000).spent, 2 + 4 + 16, "of parts 2 to 8, with those of another node");
    assert_eq!(counter.view(90_000).spent, 4 + 8 + 16);
    assert_eq!(table.merge(&cell(id, 8, actor(2, 1), (32, 0)), 80_000), Merged::Changed);
    counters.refresh(&id, &table);
    assert_eq!(counter.view(80_000).spent, 2 + 4 + 32, "still there when others are told");

    let restored = |counters: &Counters| counters.read(&id).restored.len();
    assert_eq!(restored(&counters), 4);
    counters.expire(id.window.kept_until_ms(WindowId(2)).unwrap());
    assert_eq!(restored(&counters), 2);
}

#[test]
fn a_kept_counter_that_idles_lets_its_cells_go() {
    let (counters, _changes, table) = made(10);
    let window = Window::rolling(MINUTE_MS, 6).unwrap();
    let counter = counters.open(counter_id(1, window), &table, 0).unwrap();
    let first = counter.charge(1, 10, 0).unwrap();
    let weak = Arc::downgrade(first.cell());
    first.settle(1);
    counter.charge(1, 10, 10_000).unwrap().settle(1);
    let until = window.kept_until_ms(WindowId(1)).unwrap();
    assert_eq!(counters.expire(until - 1), 0);
    assert!(weak.upgrade().is_some());
    assert_eq!(counters.expire(until), 0, "someone keeps it");
    let table_len = weak.upgrade().map(|cell| Arc::strong_count(&cell) - 1);
    // What is left is its place among the changes, which nobody collects here.
    assert_eq!(table_len, Some(1));
    assert_eq!((counters.len(), counter.view(until).used()), (1, 0));
}

#[test]
fn many_threads_open_each_counter_once_and_no_more_than_there_may_be() {
    let (counters, _changes, table) = made(50);
    let opened = std::thread::scope(|scope| {
        let open =
            || (0..60).filter(|limit| counters.open(counter_id(*limit, MINUTE), &table, 0).is_ok()).count();
        let threads = [(); 4].map(|()| scope.spawn(open));
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(opened, [50; 4], "the first fifty are there for all");
    assert_eq!(counters.len(), 50);
    assert_eq!(counters.expire(u64::MAX), 50);
    assert!(counters.is_empty());
}
