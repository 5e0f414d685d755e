//! The table: merging in any order, expiry, the dead, the bound, the hashes.

use super::*;
use crate::tests::{MINUTE, MINUTE_MS, actor, cell, counter_id};
use crate::{Calendar, Subject};
use proptest::prelude::*;

const STANDING: Window = Window::Standing;

fn table() -> Table {
    Table::new(actor(1, 1), 1_000)
}

fn merged(cells: &[Cell], now_ms: u64) -> Table {
    let mut table = table();
    for cell in cells {
        let _ = table.merge(cell, now_ms);
    }
    table
}

/// What other nodes contribute.
fn others(table: &Table, counter: &CounterId, oldest: WindowId) -> Vec<(WindowId, u64)> {
    let beside = table.beside(counter, oldest);
    beside.iter().map(|beside| (beside.window_id, beside.others)).collect()
}

#[test]
fn others_are_summed_by_window() {
    let (minute, other) = (counter_id(1, MINUTE), counter_id(2, MINUTE));
    let table = merged(
        &[
            cell(minute, 4, actor(2, 1), (10, 3)),
            cell(minute, 4, actor(2, 2), (5, 0)),
            cell(minute, 4, actor(3, 1), (1, 9)),
            cell(minute, 4, actor(1, 0), (100, 0)),
            cell(minute, 4, actor(1, 1), (1_000, 0)),
            cell(minute, 6, actor(2, 2), (8, 0)),
            cell(minute, 3, actor(2, 2), (8, 0)),
            cell(other, 4, actor(2, 2), (50, 0)),
        ],
        4 * MINUTE_MS,
    );
    let sums = vec![(WindowId(4), 12), (WindowId(6), 8)];
    assert_eq!(others(&table, &minute, WindowId(4)), sums);
    let before: Vec<_> = table.beside(&minute, WindowId(4)).iter().map(|beside| beside.before).collect();
    assert_eq!(before, [100, 0], "an earlier life of our own is told apart");
    assert_eq!(others(&table, &other, WindowId(0)), vec![(WindowId(4), 50)]);
    assert_eq!(others(&table, &counter_id(1, Window::Calendar(Calendar::Hour)), WindowId(0)), vec![]);
    let huge = merged(&[2, 3].map(|node| cell(minute, 4, actor(node, 1), (u64::MAX, 0))), 0);
    assert_eq!(others(&huge, &minute, WindowId(0)), vec![(WindowId(4), u64::MAX)]);
}

#[test]
fn nothing_comes_back_after_expiry() {
    let minute = counter_id(1, MINUTE);
    let old = cell(minute, 0, actor(2, 1), (5, 0));
    let until = MINUTE.kept_until_ms(WindowId(0)).unwrap();
    let mut table = table();
    assert_eq!(table.merge(&old, until - 1), Merged::Changed);
    assert_eq!(table.expire(until - 1), 0);
    assert_eq!(table.expire(until), 1);
    assert_eq!(table.merge(&old, until), Merged::Expired);
    assert_eq!(table.merge(&cell(minute, 0, actor(2, 1), (9, 0)), until + 1), Merged::Expired);
    assert_eq!(table, self::table(), "nothing is left, not in the hashes either");
}

#[test]
fn cells_without_a_window_live_as_long_as_their_actor() {
    let standing = counter_id(1, STANDING);
    let one = |actor: Actor, charged: u64| cell(standing, 0, actor, (charged, 0));
    let counted =
        |table: &Table| others(table, &standing, WindowId(0)).iter().map(|(_, sum)| sum).sum::<u64>();
    let mut table = table();
    assert_eq!(table.merge(&one(actor(2, 1), 3), 0), Merged::NotAlive, "not known to live");
    assert_eq!(table.alive(actor(2, 1)), vec![]);
    assert_eq!(table.merge(&one(actor(2, 1), 3), 0), Merged::Changed);
    assert_eq!(table.merge(&cell(counter_id(1, MINUTE), 0, actor(2, 1), (7, 0)), 0), Merged::Changed);
    assert_eq!(table.expire(u64::MAX / 2), 1, "time ends only what has a window");
    assert_eq!(counted(&table), 3);

    assert_eq!(table.alive(actor(2, 2)), vec![standing], "superseded");
    assert_eq!(counted(&table), 0);
    assert_eq!(table.merge(&one(actor(2, 1), 4), 0), Merged::NotAlive);
    assert_eq!(table.merge(&one(actor(2, 2), 5), 0), Merged::Changed);
    assert_eq!(table.alive(actor(2, 1)), vec![], "late news");
    assert_eq!(table.dead(actor(2, 1)), vec![], "late news");
    assert_eq!(counted(&table), 5);

    assert_eq!(table.dead(actor(2, 2)), vec![standing]);
    assert_eq!(counted(&table), 0);
    assert_eq!(table.merge(&one(actor(2, 2), 5), 0), Merged::NotAlive);
    assert_eq!(table.alive(actor(2, 2)), vec![]);
    assert_eq!(table.merge(&one(actor(2, 2), 5), 0), Merged::Changed, "it was only cut off");
    assert_eq!(table.merge(&one(actor(1, 0), 5), 0), Merged::NotAlive, "an earlier life of our own");
}

#[test]
fn the_dead_keep_what_they_spent_in_windows() {
    let minute = counter_id(1, MINUTE);
    let mut table = table();
    table.alive(actor(2, 1));
    assert_eq!(table.merge(&cell(minute, 0, actor(2, 1), (5, 0)), 0), Merged::Changed);
    table.dead(actor(2, 1));
    assert_eq!(others(&table, &minute, WindowId(0)), vec![(WindowId(0), 5)]);
}

#[test]
fn nobody_says_of_this_node_that_it_is_dead() {
    let mut table = table();
    let own = cell(counter_id(1, STANDING), 0, actor(1, 1), (5, 0));
    assert_eq!(table.publish(&own, 0), Merged::Changed);
    table.dead(actor(1, 1));
    table.alive(actor(1, 2));
    assert_eq!(table.len(), 1);
}

#[test]
fn a_full_table_says_so_and_merges_what_it_has() {
    let minute = counter_id(1, MINUTE);
    let mut table = Table::new(actor(1, 1), 2);
    assert_eq!(table.merge(&cell(minute, 0, actor(2, 1), (5, 0)), 0), Merged::Changed);
    assert_eq!(table.merge(&cell(minute, 1, actor(2, 1), (5, 0)), 0), Merged::Changed);
    let third = cell(minute, 20, actor(2, 1), (5, 0));
    assert_eq!(table.merge(&third, 0), Merged::Full);
    assert_eq!(table.publish(&cell(minute, 0, actor(1, 1), (5, 0)), 0), Merged::Full);
    assert_eq!(table.merge(&cell(minute, 1, actor(2, 1), (6, 0)), 0), Merged::Changed);
    assert_eq!((table.len(), table.is_empty()), (2, false));
    let later = 20 * MINUTE_MS;
    assert_eq!(table.expire(later), 2);
    assert_eq!(table.merge(&third, later), Merged::Changed, "there is room again");
}

#[test]
fn only_the_owner_writes_its_cells() {
    let mut table = table();
    let own = cell(counter_id(1, MINUTE), 0, actor(1, 1), (5, 0));
    assert_eq!(table.merge(&own, 0), Merged::Own);
    assert!(table.is_empty());
}

/// Cells of few counters, windows and actors, so that they meet.
fn a_cell() -> impl Strategy<Value = Cell> {
    let window = prop::sample::select(vec![
        MINUTE,
        Window::Calendar(Calendar::Second),
        Window::rolling(60_000, 6).unwrap(),
        STANDING,
    ]);
    let id = (0u64..3, 0u128..3, window, 0u64..40, 1u64..4, 1u64..3);
    (id, 0u64..6, 0u64..6).prop_map(|((limit, subject, window, at, node, incarnation), charged, refunded)| {
        let counter = CounterId { subject: Subject(subject << 64), ..counter_id(limit, window) };
        let at = if window == STANDING { 0 } else { at };
        cell(counter, at, actor(node, incarnation), (charged, refunded))
    })
}

fn some_cells() -> impl Strategy<Value = Vec<Cell>> {
    prop::collection::vec(a_cell(), 0..60)
}

/// All cells.
fn all(table: &Table) -> Vec<Cell> {
    (0..=u8::MAX).flat_map(|bucket| table.cells_in(bucket)).collect()
}

proptest! {
    #[test]
    fn deltas_in_any_order_and_repeated_give_equal_tables(
        (cells, shuffled) in some_cells().prop_flat_map(|cells| {
            let twice = [cells.clone(), cells.clone()].concat();
            (Just(cells), Just(twice).prop_shuffle())
        }),
        now_ms in 0u64..2_000_000,
    ) {
        prop_assert_eq!(merged(&cells, now_ms), merged(&shuffled, now_ms));
    }

    #[test]
    fn tables_merge_into_equal_tables(a in some_cells(), b in some_cells()) {
        let (mut left, mut right) = (merged(&a, 0), merged(&b, 0));
        for cell in all(&right) {
            let _ = left.merge(&cell, 0);
        }
        for cell in all(&left) {
            let _ = right.merge(&cell, 0);
        }
        prop_assert_eq!(&left, &right);
        let before = right.clone();
        for cell in all(&left) {
            prop_assert_eq!(right.merge(&cell, 0), Merged::Unchanged);
        }
        prop_assert_eq!(before, right);
    }

    #[test]
    fn hashes_are_equal_where_tables_are(a in some_cells(), b in some_cells(), now_ms in 0u64..2_000_000) {
        let (mut left, mut right) = (merged(&a, 0), merged(&b, 0));
        prop_assert_eq!(all(&left) == all(&right), left.hashes() == right.hashes());
        for bucket in 0..=u8::MAX {
            let same = left.cells_in(bucket).eq(right.cells_in(bucket));
            let at = usize::from(bucket);
            prop_assert_eq!(same, left.hashes()[at] == right.hashes()[at]);
        }
        // The same by another way: what is dropped leaves no trace in the hashes.
        left.expire(now_ms);
        right = table();
        for cell in all(&left).into_iter().rev() {
            let _ = right.merge(&cell, now_ms);
        }
        prop_assert_eq!(left.hashes(), right.hashes());
        prop_assert_eq!(left.len(), all(&left).len());
    }

    #[test]
    fn one_number_more_is_another_hash(
        cells in some_cells(),
        which in any::<prop::sample::Index>(),
        refund: bool,
    ) {
        let before = merged(&cells, 0);
        prop_assume!(!before.is_empty());
        let mut cell = all(&before)[which.index(before.len())];
        let side = if refund { &mut cell.totals.refunded } else { &mut cell.totals.charged };
        *side += 1;
        let mut after = before.clone();
        prop_assert_eq!(after.merge(&cell, 0), Merged::Changed);
        let pairs = before.hashes().into_iter().zip(after.hashes());
        prop_assert_eq!(pairs.filter(|(one, other)| one != other).count(), 1);
    }

    #[test]
    fn expiry_is_final_while_the_clock_goes_on(
        cells in some_cells(),
        now_ms in 0u64..3_000_000,
        more in 0u64..100_000,
    ) {
        let mut table = merged(&cells, 0);
        table.expire(now_ms);
        let left = table.clone();
        for cell in &cells {
            prop_assert_ne!(table.merge(cell, now_ms + more), Merged::Changed);
        }
        prop_assert_eq!(table, left);
    }
}

#[test]
fn every_part_of_a_cell_is_in_its_hash() {
    let one = cell(counter_id(1, MINUTE), 1, actor(2, 1), (1, 1));
    let counter = one.id.counter;
    let rolling =
        |length_ms, parts| CounterId { window: Window::rolling(length_ms, parts).unwrap(), ..counter };
    let subject = |subject| CounterId { subject: Subject(subject), ..counter };
    let window = |window| CounterId { window, ..counter };
    let counters = [
        counter,
        counter_id(2, MINUTE),
        subject(8),
        subject(7 << 64),
        window(Window::Calendar(Calendar::Hour)),
        window(STANDING),
        rolling(60_000, 1),
        rolling(60_000, 2),
        rolling(60_001, 2),
    ];
    let mut hashes: Vec<_> = counters.map(|id| hash::of_cell(&cell(id, 1, actor(2, 1), (1, 1)))).to_vec();
    hashes.extend(
        [
            cell(counter, 2, actor(2, 1), (1, 1)),
            cell(counter, 1, actor(3, 1), (1, 1)),
            cell(counter, 1, actor(2, 2), (1, 1)),
            cell(counter, 1, actor(2, 1), (2, 1)),
            cell(counter, 1, actor(2, 1), (1, 2)),
            cell(counter, 1, actor(1, 2), (1, 1)),
        ]
        .map(|cell| hash::of_cell(&cell)),
    );
    let different: std::collections::BTreeSet<_> = hashes.iter().collect();
    assert_eq!(different.len(), hashes.len());
    // Nodes of different versions compare these: they never change.
    assert_eq!(hash::of_cell(&one), 0x578b_0e27_0aa5_1db4);
    assert_eq!(hash::bucket_of(&counter), 184);
}

#[test]
fn buckets_are_used_evenly() {
    let mut table = Table::new(actor(1, 1), 100_000);
    for limit in 0..25_600 {
        let _ = table.merge(&cell(counter_id(limit, MINUTE), 0, actor(2, 1), (1, 0)), 0);
    }
    let sizes: Vec<_> = (0..=u8::MAX).map(|bucket| table.cells_in(bucket).count()).collect();
    // 100 a bucket; six standard deviations are 60.
    assert!(sizes.iter().all(|size| (40..=160).contains(size)), "{sizes:?}");
}
