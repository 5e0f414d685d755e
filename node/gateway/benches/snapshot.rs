//! What a request reads of the configuration, and what a change of one of 100,000 keys costs.
#![allow(missing_docs, clippy::unwrap_used)] // criterion's macros make public items; a panic is a failed bench

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use trestle_config::{Compilation, Difference, Entity, Kind, hash_key, hash_text};
use trestle_gateway::{Gateway, HostSecrets, Options};

const KEYS: usize = 100_000;

fn key(number: usize) -> Difference {
    let name = format!("key-{number:06}");
    let value =
        serde_json::json!({"value": hash_text(&name), "models": ["chat", "mock/*"], "tags": ["bench"]});
    Difference::Set(Entity::new(Kind::Key, &name, value))
}

fn compiled() -> Compilation {
    let mut compiled = Compilation::new(&HostSecrets);
    let chat = serde_json::json!({"targets": [{"model": "mock/echo"}]});
    let chat = Difference::Set(Entity::new(Kind::Model, "chat", chat));
    let changes: Vec<_> = std::iter::once(chat).chain((0..KEYS).map(key)).collect();
    compiled.change(1, &changes, &HostSecrets).unwrap();
    compiled
}

fn requests(c: &mut Criterion) {
    let compiled = compiled();
    let gateway =
        Gateway::start(compiled.snapshot().clone(), Options { threads: 1, ..Options::default() }).unwrap();
    c.bench_function("load the snapshot", |b| b.iter(|| black_box(gateway.snapshot().revision)));
    let snapshot = gateway.snapshot();
    let hashes: Vec<_> = (0..KEYS).step_by(97).map(|n| hash_key(&format!("key-{n:06}"))).collect();
    let mut at = 0;
    c.bench_function("find one of 100,000 keys by its hash", |b| {
        b.iter(|| {
            at = (at + 1) % hashes.len();
            black_box(snapshot.callers.get(&hashes[at]).is_some())
        });
    });
}

fn changes(c: &mut Criterion) {
    let compiled = compiled();
    let gateway =
        Gateway::start(compiled.snapshot().clone(), Options { threads: 1, ..Options::default() }).unwrap();
    let mut number = 0;
    c.bench_function("change one of 100,000 keys", |b| {
        b.iter_batched(
            || {
                number = (number + 1) % KEYS;
                let Difference::Set(mut entity) = key(number) else { return Vec::new() };
                entity.value["disabled"] = true.into();
                vec![Difference::Set(entity)]
            },
            |change| {
                let mut next = compiled.clone();
                next.change(2, &change, &HostSecrets).unwrap();
                gateway.replace(next.snapshot().clone());
                next
            },
            BatchSize::SmallInput,
        );
    });
}

criterion_group!(benches, requests, changes);
criterion_main!(benches);
