//! Opening, telling of others, expiry, the bound.

use super::*;
use crate::tests::{MINUTE, MINUTE_MS, actor, cell, counter_id};
use crate::{Merged, Window, WindowId};

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
