//! What admission and settlement of one permit cost, while 100,000 keys have counters.
#![allow(missing_docs, clippy::unwrap_used)] // criterion's macros make public items; a panic is a failed bench

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use std::{cell::Cell, hint::black_box, sync::Arc};
use trestle_counters::{
    Actor, Calendar, Charge, Counter, CounterId, Counters, Leases, LimitId, NodeId, Permit, Subject, Table,
    Window, counters,
};

const KEYS: u64 = 100_000;
const LEVELS: [usize; 3] = [1, 4, 8];
/// Permits that are open at a time.
const IN_FLIGHT: BatchSize = BatchSize::NumIterations(256);
const NOW_MS: u64 = 1_800_000_000_000;
/// How many there are of each level, the widest first; the last is the key.
const OWNERS: [u64; 8] = [100, 1_000, 10_000, 100, 10, 50_000, KEYS, KEYS];

fn window(level: usize) -> Window {
    match level {
        0 => Window::Calendar(Calendar::Month),
        1 | 5 => Window::rolling(60_000, 6).unwrap(),
        2 | 6 => Window::Calendar(Calendar::Minute),
        3 => Window::Standing,
        _ => Window::Calendar(Calendar::Day),
    }
}

struct Node {
    counters: Counters,
    leases: Arc<Leases>,
    /// By key, then by level.
    by_key: Vec<[Arc<Counter>; 8]>,
    next: Cell<u64>,
}

fn id(key: u64, level: usize) -> CounterId {
    let limit = LimitId((key % OWNERS[level]) << 8 | level as u64);
    CounterId { limit, subject: Subject(0), window: window(level) }
}

impl Node {
    fn new() -> Self {
        let own = Actor { node: NodeId(1), incarnation: 1 };
        let (counters, _) = counters(own, 1_000_000);
        let table = Table::new(own, 0);
        let open = |key, level| counters.open(id(key, level), &table, NOW_MS).unwrap();
        let by_key = (0..KEYS).map(|key| std::array::from_fn(|level| open(key, level))).collect();
        Self { counters, leases: Leases::new(100_000), by_key, next: Cell::new(0) }
    }

    /// Another key each time, so that its counters are not in the caches.
    fn next_key(&self) -> u64 {
        self.next.set((self.next.get() + 7_919) % KEYS);
        self.next.get()
    }
}

/// The narrowest levels, so that one level is the key's own.
fn admit(node: &Node, key: u64, levels: usize) -> Permit {
    let counters = &node.by_key[key as usize];
    let charge = |level: usize| Charge { counter: &counters[level], amount: 100, limit: u64::MAX.into() };
    let charges: [_; 8] = std::array::from_fn(charge);
    node.leases.admit(&charges[8 - levels..], NOW_MS, NOW_MS + 600_000).unwrap()
}

fn bench(criterion: &mut Criterion) {
    let node = Node::new();
    let mut group = criterion.benchmark_group("counters");
    let of_one = || 7;
    let of_many = || node.next_key();
    let keys: [(&str, &dyn Fn() -> u64); 2] = [("one key", &of_one), ("another key each time", &of_many)];
    for (name, key) in keys {
        for levels in LEVELS {
            group.bench_function(BenchmarkId::new(format!("admit, {name}"), levels), |bencher| {
                // Permits are dropped after the time is taken.
                bencher.iter_batched(key, |key| admit(&node, key, levels), IN_FLIGHT);
            });
            group.bench_function(BenchmarkId::new(format!("settle, {name}"), levels), |bencher| {
                let settle = |permit: Permit| permit.settle(|held| held.amount / 2);
                bencher.iter_batched(|| admit(&node, key(), levels), settle, IN_FLIGHT);
            });
        }
        group.bench_function(format!("get, {name}"), |bencher| {
            bencher.iter(|| black_box(node.counters.get(&id(key(), 7))));
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
