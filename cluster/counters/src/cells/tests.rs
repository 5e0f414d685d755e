//! One owner: what others send is counted at once, deltas and pages come in pieces, and what was dropped stays away.

use super::*;
use crate::tests::{MINUTE, MINUTE_MS, actor, cell, counter_id};
use crate::{Bound, FixedShares, Rule, Settlement, Share, Window, WindowId};
use std::{sync::atomic::AtomicBool, sync::atomic::Ordering::SeqCst, thread};

fn cells() -> Cells {
    Cells::new(actor(1, 5), &Settled::new(0), 100, 10_000)
}

fn spend(cells: &Cells, limit: u64, amount: u64) {
    cells.open(counter_id(limit, MINUTE), 0).unwrap().charge(amount, u64::MAX, 0).unwrap().settle(amount);
}

#[test]
fn what_others_send_counts_at_once() {
    let cells = cells();
    let id = counter_id(1, MINUTE);
    let counter = cells.open(id, 0).unwrap();
    let sent = [cell(id, 0, actor(2, 1), (8, 0)), cell(id, 0, actor(1, 5), (99, 0))];
    assert_eq!(cells.merge(&sent, 0), Taken { changed: 1, known: 1, ..Taken::default() });
    assert_eq!(counter.view(0).spent, 8);
    assert_eq!(cells.merge(&sent, 0), Taken { known: 2, ..Taken::default() });
    assert_eq!((cells.view(id, 0).spent, cells.view(counter_id(2, MINUTE), 0).spent), (8, 0));
    assert_eq!((cells.counters_len(), cells.cells_len()), (1, 1));
}

#[test]
fn a_delta_comes_in_pieces_and_names_each_cell_once() {
    let cells = cells();
    (1..=5).for_each(|limit| spend(&cells, limit, limit));
    assert_eq!(cells.collect(0).taken, 5);
    spend(&cells, 1, 10);
    cells.collect(0);
    let first = cells.delta(0, 3);
    let amounts = |delta: &Delta| delta.cells.iter().map(|cell| cell.totals.charged).collect::<Vec<_>>();
    assert_eq!((amounts(&first), first.more), (vec![2, 3, 4], true));
    let second = cells.delta(first.up_to, 3);
    assert_eq!((amounts(&second), second.more, second.up_to), (vec![5, 11], false, cells.sequence()));
    assert_eq!(cells.delta(second.up_to, 3), Delta { cells: vec![], up_to: cells.sequence(), more: false });
}

#[test]
fn pages_hold_all_cells_of_the_buckets_once() {
    let cells = cells();
    let sent: Vec<_> =
        (0..1_000).map(|at| cell(counter_id(at / 3, MINUTE), at % 3, actor(2, 1), (at + 1, 0))).collect();
    assert_eq!(cells.merge(&sent, 0).changed, 1_000);
    for (buckets, expected) in [((0..=u8::MAX).collect::<Vec<_>>(), 1_000), (vec![7, 8, 200], 0)] {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = cells.page(&buckets, after, 7);
            assert!(page.cells.len() == 7 || !page.more);
            all.extend(page.cells);
            after = all.last().map(|cell: &Cell| cell.id);
            if !page.more {
                break;
            }
        }
        let mut unique: Vec<_> = all.iter().map(|cell| cell.id).collect();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), all.len());
        let of_buckets = |cell: &&Cell| buckets.contains(&hash::bucket_of(&cell.id.counter));
        assert_eq!(all.len(), sent.iter().filter(of_buckets).count());
        assert!(all.len() >= expected && !all.is_empty());
    }
}

#[test]
fn what_was_swept_stays_away_though_the_clock_goes_back() {
    let cells = cells();
    let id = counter_id(1, MINUTE);
    spend(&cells, 1, 3);
    cells.collect(0);
    let sent = [cell(id, 0, actor(2, 1), (8, 0))];
    assert_eq!(cells.merge(&sent, 0).changed, 1);
    let until = MINUTE.kept_until_ms(WindowId(0)).unwrap();
    cells.sweep(until - 1);
    assert_eq!(cells.cells_len(), 2);
    cells.sweep(until);
    assert_eq!((cells.cells_len(), cells.hashes()), (0, [0; BUCKETS]));
    assert_eq!(cells.merge(&sent, 0).ignored, 1);
    assert_eq!(cells.delta(0, 10).cells, []);
}

#[test]
fn concurrency_ends_with_a_life() {
    let cells = cells();
    let id = counter_id(1, Window::Standing);
    let counter = cells.open(id, 0).unwrap();
    let sent = |incarnation| [cell(id, 0, actor(2, incarnation), (incarnation, 0))];
    assert_eq!(cells.merge(&sent(3), 0).ignored, 1);
    cells.alive(actor(2, 3));
    assert_eq!((cells.merge(&sent(3), 0).changed, counter.view(0).used()), (1, 3));
    cells.alive(actor(2, 4));
    assert_eq!((counter.view(0).used(), cells.merge(&sent(4), 0).changed), (0, 1));
    cells.dead(actor(2, 4));
    assert_eq!((counter.view(0).used(), cells.cells_len()), (0, 0));
}

/// What the journal of a restarted node says, in place of what peers remember of its earlier lives.
#[test]
fn cells_that_come_back_do_not_count_twice() {
    let id = counter_id(1, MINUTE);
    let mut settled = Settled::new(10);
    settled.add(Settlement { counter: id, window_id: WindowId(0), amount: 10 }).unwrap();
    let cells = Cells::new(actor(1, 5), &settled, 100, 100);
    let sent = [
        cell(id, 0, actor(1, 3), (6, 0)),
        cell(id, 0, actor(1, 4), (9, 2)), // with what was held at the end
        cell(id, 1, actor(1, 4), (4, 0)), // of which the journal says nothing: it was lost
        cell(id, 0, actor(2, 1), (100, 0)),
    ];
    let before = cells.open(id, 0).unwrap();
    assert_eq!(cells.merge(&sent, 0).changed, 4);
    let later = cells.view(id, MINUTE_MS).spent;
    assert_eq!((before.view(0).spent, later), (110, 4));
    assert_eq!(cells.page(&(0..=u8::MAX).collect::<Vec<_>>(), None, 10).cells.len(), 4, "they are passed on");
}

#[test]
fn what_only_the_journal_knows_is_put_into_the_table_once() {
    let ids = [1, 2, 3, 4].map(|limit| counter_id(limit, MINUTE));
    let mut settled = Settled::new(10);
    for (counter, amount) in ids.into_iter().zip([10, 20, 30, 40]) {
        settled.add(Settlement { counter, window_id: WindowId(0), amount }).unwrap();
    }
    let cells = Cells::new(actor(1, 5), &settled, 100, 100);
    let sent = [
        cell(ids[0], 0, actor(1, 2), (3, 0)),
        cell(ids[0], 0, actor(1, 3), (6, 2)),
        cell(ids[1], 0, actor(1, 3), (25, 0)), // with what was held at the end
        cell(ids[2], 0, actor(1, 3), (1, 9)),  // its charge was lost
        cell(ids[3], 0, actor(2, 3), (7, 0)),
    ];
    assert_eq!(cells.merge(&sent, 0).changed, 5);
    let owe = || (0..=u8::MAX).map(|bucket| cells.owe(bucket, 0)).sum::<usize>();
    assert_eq!((owe(), owe()), (3, 0));
    let mut all = cells.page(&(0..=u8::MAX).collect::<Vec<_>>(), None, 10).cells;
    all.sort_unstable_by_key(|cell| cell.id);
    let expected = [
        sent[0],
        cell(ids[0], 0, actor(1, 3), (9, 2)),
        sent[2],
        cell(ids[2], 0, actor(1, 3), (39, 9)),
        cell(ids[3], 0, actor(1, 4), (40, 0)),
        sent[4],
    ];
    assert_eq!(all, expected);
    let spent = ids.map(|id| cells.view(id, 0).spent);
    assert_eq!(spent, [10, 20, 30, 47], "here the journal counts as before");
}

#[test]
fn a_strict_limit_is_spent_within_a_share_whatever_others_say() {
    let mut settled = Settled::new(10);
    let id = counter_id(1, MINUTE);
    settled.add(Settlement { counter: id, window_id: WindowId(1), amount: 10 }).unwrap();
    let cells = Cells::new(actor(1, 5), &settled, 100, 100);
    let shares = Arc::new(FixedShares::new(10));
    let of_three = Share::new(1, 3).unwrap();
    shares.fix(MINUTE, WindowId(0), WindowId(2), of_three).unwrap();
    assert!(cells.rights().share_by(shares));
    let counter = cells.open(id, 0).unwrap();
    let strict = |amount| Bound { amount, rule: Rule::Strict };
    let left = |amount, limit, now_ms| {
        counter.charge(amount, strict(limit), now_ms).map(|_| ()).map_err(|refused| refused.left)
    };
    assert_eq!((left(34, 100, 0), left(33, 100, 0)), (Err(33), Ok(())));
    assert_eq!(cells.merge(&[cell(id, 0, actor(2, 1), (80, 0))], 0).changed, 1);
    assert_eq!((left(21, 100, 0), left(20, 100, 0)), (Err(20), Ok(())), "others spent more than theirs");
    assert_eq!(left(24, 100, MINUTE_MS), Err(23), "earlier lives spent of this share");
    assert_eq!(left(1, 100, 2 * MINUTE_MS), Err(0), "nobody fixed this one");
    assert_eq!(
        counter.charge(34, Bound { amount: 100, rule: Rule::Share }, 2 * MINUTE_MS).map(|_| ()),
        Ok(())
    );

    let mut hold = counter.charge(0, strict(0), 2 * MINUTE_MS).unwrap();
    assert_eq!(counter.top_up(&mut hold, 1, strict(9), 2 * MINUTE_MS).unwrap_err().left, 0);
}

#[test]
fn a_node_that_is_cut_off_spends_a_part_of_what_it_saw() {
    let cells = cells();
    let id = counter_id(1, MINUTE);
    let counter = cells.open(id, 0).unwrap();
    let share = |amount| Bound { amount, rule: Rule::Share };
    let left = |amount, limit| {
        counter.charge(amount, limit, 0).map(|hold| hold.settle(amount)).map_err(|refused| refused.left)
    };
    assert_eq!(left(10, share(100)), Ok(()));
    cells.merge(&[cell(id, 0, actor(2, 1), (30, 0))], 0);
    cells.rights().freeze(3);
    assert_eq!((left(21, share(100)), left(20, share(100)), left(1, share(100))), (Err(20), Ok(()), Err(0)));
    cells.merge(&[cell(id, 0, actor(3, 1), (5, 0))], 0);
    assert_eq!(left(1, share(100)), Err(0), "it is not counted anew");
    assert_eq!(
        (left(2, share(103)), left(1, share(103))),
        (Err(1), Ok(())),
        "a changed limit applies at once"
    );
    assert_eq!(left(1, Bound { amount: 100, rule: Rule::Optimistic }), Ok(()));
    assert_eq!(counter.charge(34, share(100), MINUTE_MS).unwrap_err().left, 33, "a window that began later");
    assert!(counter.charge(33, share(100), MINUTE_MS).is_ok());
    cells.rights().heal();
    assert!(counter.charge(100, share(100), MINUTE_MS).is_ok());
}

#[test]
fn no_merge_comes_between_a_first_look_and_being_told() {
    let cells = cells();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for at in 1..=2_000u64 {
                let sent: Vec<_> =
                    (0..20).map(|id| cell(counter_id(id, MINUTE), 0, actor(2, 1), (at, 0))).collect();
                cells.merge(&sent, 0);
            }
            done.store(true, SeqCst);
        });
        scope.spawn(|| {
            let mut at = 0;
            while !done.load(SeqCst) {
                cells.open(counter_id(at % 20, MINUTE), 0).unwrap();
                at += 1;
            }
        });
    });
    for id in 0..20 {
        assert_eq!(cells.open(counter_id(id, MINUTE), 0).unwrap().view(0).spent, 2_000, "{id}");
    }
}
