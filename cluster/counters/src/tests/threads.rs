//! Many threads on one node: never above the limit, nothing lost, published numbers only grow.

use super::{MINUTE, actor, counter_id};
use crate::{Charge, Counter, Leases, PARTS_MAX, Table, Window, counters};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

const THREADS: usize = 4;
const ROUNDS: u64 = 20_000;

/// Runs a function on all threads at once and returns what each returned.
fn on_all<T: Send>(run: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(THREADS);
    thread::scope(|scope| {
        let start = |at: u64| {
            let (barrier, run) = (&barrier, &run);
            scope.spawn(move || {
                barrier.wait();
                run(at)
            })
        };
        let threads: Vec<_> = (0..THREADS as u64).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn open(window: Window) -> Arc<Counter> {
    let own = actor(1, 1);
    let (counters, _) = counters(own, 10);
    counters.open(counter_id(1, window), &Table::new(own, 10), 0).unwrap()
}

/// Small numbers that differ between threads and rounds.
fn varied(thread: u64, round: u64, below: u64) -> u64 {
    (thread.wrapping_mul(7_919) ^ round.wrapping_mul(104_729)) % below
}

#[test]
fn a_full_limit_is_reached_and_never_passed() {
    for round in 0..200 {
        let counter = open(MINUTE);
        let limit = 500 + round;
        let admitted = on_all(|_| {
            let spend = |_: &u64| counter.charge(1, limit, 0).map(|hold| hold.settle(1)).is_ok();
            (0..400).filter(spend).count() as u64
        });
        assert_eq!(admitted.iter().sum::<u64>(), limit);
        assert_eq!(counter.view(0).used(), limit);
    }
}

#[test]
fn holds_that_come_and_go_never_pass_the_limit() {
    let (counter, limit) = (open(Window::Standing), 10);
    // Counted beside: entered after the charge and left before the refund, so it is never above what is held.
    let inside = AtomicU64::new(0);
    let most = on_all(|thread| {
        let mut most = 0;
        for round in 0..ROUNDS {
            let amount = varied(thread, round, 6);
            let Ok(hold) = counter.charge(amount, limit, 0) else { continue };
            most = most.max(inside.fetch_add(amount, SeqCst) + amount);
            if round % 16 == 0 {
                thread::yield_now();
            }
            inside.fetch_sub(amount, SeqCst);
            hold.settle(0);
        }
        most
    });
    assert!(most.iter().all(|most| *most <= limit), "{most:?}");
    assert_eq!(counter.view(0).used(), 0, "all was given back");
}

#[test]
fn a_rolling_view_never_passes_the_limit_while_it_rolls() {
    let (parts, limit) = (3, 40);
    let counter = open(Window::rolling(30, parts).unwrap());
    let clock = AtomicU64::new(0);
    let admitted = on_all(|thread| {
        let mut admitted: Vec<(u64, u64)> = Vec::new();
        for round in 0..ROUNDS {
            // The clock goes on under all threads; some have read it a while ago.
            let now_ms = clock.fetch_add(u64::from(round % 3 == 0), SeqCst);
            let late_ms = now_ms.saturating_sub(varied(thread, round, 25));
            let amount = 1 + varied(thread, round, 5);
            if let Ok(hold) = counter.charge(amount, limit, late_ms) {
                admitted.push((hold.held().window_id.0, amount));
                hold.settle(amount);
            }
        }
        admitted
    });
    let mut by_part: BTreeMap<u64, u64> = BTreeMap::new();
    for (part, amount) in admitted.into_iter().flatten() {
        *by_part.entry(part).or_default() += amount;
    }
    assert!(counter.newest().0 > 1_000 && by_part.len() > 100, "it hardly rolled");
    for newest in by_part.keys() {
        let view = by_part.range(newest.saturating_sub(parts.into())..=*newest);
        let sum: u64 = view.map(|(_, amount)| amount).sum();
        assert!(sum <= limit, "{sum} up to part {newest}");
    }
}

#[test]
fn several_limits_at_once_are_all_kept() {
    let own = actor(1, 1);
    let (counters, _changes) = counters(own, 10);
    let table = Table::new(own, 10);
    let limits = [1_000, 700, 900];
    let made = [0, 1, 2].map(|limit| counters.open(counter_id(limit, MINUTE), &table, 0).unwrap());
    let admitted = on_all(|thread| {
        let charges: Vec<_> = made
            .iter()
            .zip(limits)
            .map(|(counter, limit)| Charge { counter, amount: 1, limit: limit.into() })
            .collect();
        let leases = Leases::new(1);
        let spend = |round: &u64| {
            let Ok(permit) = leases.admit(&charges, 0, 1) else { return false };
            let keep = varied(thread, *round, 2);
            permit.settle(|_| keep);
            keep == 1
        };
        (0..ROUNDS).filter(spend).count() as u64
    });
    let sum = admitted.iter().sum::<u64>();
    assert_eq!(sum, 700, "the narrowest limit is reached and not passed");
    assert!(made.iter().all(|counter| counter.view(0).used() == sum), "the others hold what was let in");
}

#[test]
fn what_is_published_only_grows_and_ends_equal() {
    let own = actor(1, 1);
    let (counters, mut changes) = counters(own, 10);
    let mut table = Table::new(own, 10);
    let counter = counters.open(counter_id(1, MINUTE), &table, 0).unwrap();
    let (done, limit) = (AtomicBool::new(false), 50);
    let mut published = Vec::new();
    thread::scope(|scope| {
        let collector = scope.spawn(|| {
            let mut last = false;
            while !last {
                last = done.load(SeqCst);
                changes.collect(&mut table, 0, 10);
                published.extend(changes.since(0).map(|(_, cell)| cell.totals));
                published.dedup();
            }
        });
        on_all(|thread| {
            for round in 0..ROUNDS {
                let amount = varied(thread, round, 7);
                let Ok(hold) = counter.charge(amount, limit, 0) else { continue };
                hold.settle(varied(thread, round, 2).min(amount) * u64::from(round < 8));
            }
        });
        done.store(true, SeqCst);
        collector.join().unwrap();
    });
    let grows = published.windows(2).all(|pair| pair[1].merged(pair[0]) == pair[1]);
    assert!(grows, "a number fell");
    assert!(published.iter().all(|totals| totals.refunded <= totals.charged), "a refund before its charge");
    assert_eq!(
        published.last().unwrap().contribution(),
        counter.view(0).used(),
        "the last change was published"
    );
}

/// Where something was admitted and where it counts, as numbers of parts, and how much.
type Admitted = (u64, u64, u64);

#[test]
fn permits_that_grow_while_the_window_rolls_never_pass_the_limit() {
    let (parts, limit) = (3, 60);
    let counter = open(Window::rolling(30, parts).unwrap());
    let clock = AtomicU64::new(0);
    let grown = on_all(|thread| {
        let leases = Leases::new(1);
        let mut admitted: Vec<Admitted> = Vec::new();
        for round in 0..ROUNDS {
            let charge =
                [Charge { counter: &counter, amount: 1 + varied(thread, round, 5), limit: limit.into() }];
            let now_ms = || clock.fetch_add(varied(thread, round, 2), SeqCst);
            let Ok(mut permit) = leases.admit(&charge, now_ms(), 1) else { continue };
            let mut before = 0;
            for _ in 0..3 {
                for held in permit.held() {
                    // The newest part is read late, if anything: then it is looked for in fewer views.
                    admitted.push((counter.newest().0, held.window_id.0, held.amount - before));
                    before = held.amount;
                }
                let _ = permit.extend(&charge, now_ms());
            }
            // The last growth is not recorded: what is missing proves nothing wrong.
            permit.settle(|held| held.amount);
        }
        admitted
    });
    let all: Vec<_> = grown.into_iter().flatten().collect();
    assert!(all.iter().any(|(at, counts, _)| at > counts), "nothing grew in a later part");
    let newest: BTreeMap<u64, ()> = all.iter().map(|(at, ..)| (*at, ())).collect();
    assert!(newest.len() > 100, "it hardly rolled");
    for newest in newest.into_keys() {
        let view = newest.saturating_sub(parts.into())..=newest;
        let seen = all.iter().filter(|(at, counts, _)| *at <= newest && view.contains(counts));
        let sum: u64 = seen.map(|(.., amount)| amount).sum();
        assert!(sum <= limit, "{sum} up to part {newest}");
    }
}

/// A top-up moves from the newest part to the oldest while another thread has summed the oldest and not yet charged the
/// newest. Many parts between give it the time.
#[test]
fn a_top_up_on_its_way_is_seen_by_every_charge() {
    let (parts, limit, amount) = (PARTS_MAX, 10, 8);
    let counter = open(Window::rolling(parts.into(), parts).unwrap());
    let leases = Leases::new(2);
    let charge = |amount| [Charge { counter: &counter, amount, limit: limit.into() }];
    let mut growing = leases.admit(&charge(1), 0, 1).unwrap();
    let now_ms = parts.into();
    for at in 0..=now_ms {
        drop(leases.admit(&charge(0), at, 1).unwrap());
    }
    // Rounds are cheap where both threads run at once; a busy machine does fewer.
    let enough = Instant::now() + Duration::from_secs(2);
    // The round that has begun, in which the other thread has charged, and that is over; all ones in the end.
    let [begun, charged, over] = &[(); 3].map(|()| AtomicU64::new(0));
    let reach = |phase: &AtomicU64, round| {
        while phase.load(SeqCst) < round {
            thread::yield_now();
        }
    };
    let missed = thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=ROUNDS {
                reach(begun, round);
                // From round to round, it begins at another moment of the top-up.
                for _ in 0..round % 97 {
                    std::hint::spin_loop();
                }
                let permit = leases.admit(&charge(amount), now_ms, 1);
                charged.store(round, SeqCst);
                reach(over, round);
                drop(permit);
            }
        });
        let mut missed = None;
        for round in (1..=ROUNDS).take_while(|_| Instant::now() < enough) {
            reach(charged, round - 1);
            begun.store(round, SeqCst);
            let _ = growing.extend(&charge(amount), now_ms);
            reach(charged, round);
            if counter.view(now_ms).used() > limit {
                missed = Some(round);
                break;
            }
            growing.shrink_to(counter.id().limit, 1);
            over.store(round, SeqCst);
        }
        for phase in [begun, over] {
            phase.store(u64::MAX, SeqCst);
        }
        missed
    });
    assert_eq!(missed, None, "the round in which both were let in");
}

#[test]
fn leases_that_end_meanwhile_give_back_and_charge_exactly_once() {
    let (counter, limit) = (open(MINUTE), 1_000_000_000);
    let (leases, done) = ([(); THREADS].map(|()| Leases::new(100)), AtomicBool::new(false));
    let (spent, ended) = thread::scope(|scope| {
        let sweeper = scope.spawn(|| {
            let mut ended = 0;
            while !done.load(SeqCst) {
                ended += leases.iter().map(|leases| leases.sweep(1).permits).sum::<usize>();
                thread::yield_now();
            }
            ended
        });
        let spent = on_all(|thread| {
            let (leases, mut spent) = (&leases[thread as usize], 0);
            for round in 0..ROUNDS {
                let charge =
                    [Charge { counter: &counter, amount: 1 + varied(thread, round, 5), limit: limit.into() }];
                let until_ms = varied(thread, round, 3);
                let Ok(mut permit) = leases.admit(&charge, 0, until_ms) else { continue };
                let _ = permit.extend(&charge, 0);
                if round % 64 == 0 {
                    thread::yield_now();
                }
                match varied(thread, round, 11) {
                    0 => std::mem::forget(permit),
                    1 => drop(permit),
                    used => {
                        permit.settle(|_| used);
                        spent += used;
                    }
                }
            }
            spent
        });
        done.store(true, SeqCst);
        (spent.iter().sum::<u64>(), sweeper.join().unwrap())
    });
    assert!(ended > 0, "no lease ended meanwhile");
    leases.iter().for_each(|leases| {
        leases.sweep(2);
        assert!(leases.is_empty());
    });
    let view = counter.view(0);
    assert_eq!((view.spent, view.held), (spent, 0));
}
