//! Collecting: sequences, coalescing, what is not published.

use super::*;
use crate::tests::{MINUTE, actor, cell, counter_id};
use crate::{Counter, Counters, Totals, WindowId, counters};

struct Node {
    counters: Counters,
    changes: Changes,
    table: Table,
}

impl Node {
    fn new(cells_max: usize) -> Self {
        let own = actor(1, 1);
        let (counters, changes) = counters(own, 100);
        Self { counters, changes, table: Table::new(own, cells_max) }
    }

    fn open(&mut self, limit: u64) -> Arc<Counter> {
        self.counters.open(counter_id(limit, MINUTE), &self.table, 0).unwrap()
    }

    fn spend(&mut self, limit: u64, amount: u64) {
        self.open(limit).charge(amount, u64::MAX, 0).unwrap().settle(amount);
    }

    fn collect(&mut self) -> Collected {
        self.changes.collect(&mut self.table, 0, 100)
    }

    /// (sequence, limit, charged) of what changed since.
    fn since(&self, sequence: u64) -> Vec<(u64, u64, u64)> {
        let cells = self.changes.since(sequence);
        cells.map(|(at, cell)| (at, cell.id.counter.limit.0, cell.totals.charged)).collect()
    }
}

#[test]
fn each_cell_stands_once_at_its_last_change() {
    let mut node = Node::new(100);
    assert_eq!((node.changes.sequence(), node.since(0)), (0, vec![]));
    node.spend(1, 5);
    node.spend(1, 5);
    node.spend(2, 7);
    assert_eq!(node.collect(), Collected { taken: 2, expired: 0, full: 0 });
    assert_eq!(node.since(0), [(1, 1, 10), (2, 2, 7)]);
    assert_eq!(node.since(1), [(2, 2, 7)]);

    node.spend(1, 1);
    assert_eq!(node.collect().taken, 1);
    assert_eq!(node.since(0), [(2, 2, 7), (3, 1, 11)]);
    assert_eq!(node.since(2), [(3, 1, 11)]);
    assert_eq!(node.since(3), []);
    assert_eq!(node.changes.sequence(), 3);
    assert_eq!(node.collect(), Collected::default(), "nothing changed, no sequence is used");
}

#[test]
fn refusals_and_refunds_are_changes_only_where_numbers_move() {
    let mut node = Node::new(100);
    let counter = node.open(1);
    assert!(counter.charge(2, 1, 0).is_err());
    assert_eq!(node.collect().taken, 0);
    let hold = counter.charge(1, 1, 0).unwrap();
    node.collect();
    drop(hold);
    node.collect();
    let (sequence, cell) = node.changes.since(0).next().unwrap();
    assert_eq!((sequence, cell.totals), (2, Totals { charged: 1, refunded: 1 }));
}

#[test]
fn collection_is_bounded_and_goes_on() {
    let mut node = Node::new(100);
    for limit in 0..5 {
        node.spend(limit, 1);
    }
    let taken = [(); 4].map(|()| node.changes.collect(&mut node.table, 0, 2).taken);
    assert_eq!(taken, [2, 2, 1, 0]);
    assert_eq!(node.since(0).len(), 5);
}

#[test]
fn what_finds_no_room_is_told_and_comes_with_its_next_change() {
    let mut node = Node::new(1);
    node.spend(1, 5);
    node.spend(2, 5);
    assert_eq!(node.collect(), Collected { taken: 2, expired: 0, full: 1 });
    assert_eq!(node.since(0), [(1, 1, 5)]);
    assert_eq!(node.open(2).view(0).used(), 5, "it counts here");
    node.table.expire(u64::MAX / 2);
    node.spend(2, 1);
    assert_eq!(node.collect(), Collected { taken: 1, expired: 0, full: 0 });
    assert_eq!(node.since(1), [(2, 2, 6)]);
}

#[test]
fn a_settlement_after_the_window_is_gone_is_told() {
    let mut node = Node::new(100);
    let hold = node.open(1).charge(5, 10, 0).unwrap();
    node.collect();
    let until = MINUTE.kept_until_ms(WindowId(0)).unwrap();
    node.changes.expire(until - 1);
    assert_eq!(node.since(0).len(), 1);
    node.changes.expire(until);
    node.table.expire(until);
    assert_eq!(node.since(0), []);
    hold.settle(9);
    let collected = node.changes.collect(&mut node.table, until, 100);
    assert_eq!(collected, Collected { taken: 1, expired: 1, full: 0 });
    assert_eq!((node.since(0), node.table.len()), (vec![], 0));
}

#[test]
fn what_is_published_is_in_the_table_too() {
    let mut node = Node::new(100);
    node.spend(1, 5);
    node.collect();
    let own = cell(counter_id(1, MINUTE), 0, actor(1, 1), (5, 0));
    let all: Vec<_> = (0..=u8::MAX).flat_map(|bucket| node.table.cells_in(bucket)).collect();
    assert_eq!(all, [own]);
    assert_eq!(node.table.beside(&own.id.counter, WindowId(0)), [], "but not among the others");
}
