//! What it costs to announce and settle a call: `cargo bench -p trestle-store --bench journal`.
#![allow(missing_docs)] // criterion's macros make public items

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::{hint::black_box, time::Duration};
use trestle_store::{Basis, Charge, Intent, Ledger, Options, Outcome, Owner, Tokens};

const CHARGE: Charge =
    Charge { limit: 1 << 60, subject: 1 << 100, window_kind: 4, window: 29_000_000, amount: 1 };

fn journal(c: &mut Criterion) {
    let mib = 1024 * 1024;
    // What is sealed is dropped at once, so that there is always room.
    let keep = Some(Duration::ZERO);
    let options = Options { bytes_max: 2_000 * mib, segment_bytes: 64 * mib, keep, ..Options::default() };
    let tags = [Box::from("production"), Box::from("eu")];
    let tokens = Tokens { input: 1_200, cached_read: 800, output: 300, ..Tokens::default() };
    for (name, charges) in [("no charge", 0), ("4 charges", 4), ("32 charges", 32)] {
        let Ok(folder) = tempfile::tempdir() else { return };
        let Ok((ledger, _)) = Ledger::open(folder.path(), options) else { return };
        let journal = ledger.journal(0, 0);
        let charges = vec![CHARGE; charges];
        let intent = Intent {
            call: 1 << 100,
            request_id: "0123456789abcdef0123456789abcdef",
            attempt: 1,
            start_ms: 1_796_047_200_000,
            owner: Owner { customer: "acme", team: "growth", user: "", key: "web-production" },
            tags: &tags,
            model: "chat",
            provider: "openai",
            credential: "main",
            vendor_model: "gpt-4o-mini-2024-07-18",
            operation: "chat",
            tokens,
            nano_usd: 1_234_567,
            price_version: 12,
            charges: &charges,
            ..Intent::default()
        };
        let amounts = vec![1_234; charges.len()];
        let outcome = Outcome {
            end_ms: 1_796_047_201_234,
            status: 200,
            basis: Basis::Reported,
            tokens,
            nano_usd: 1_000_000,
            amounts: &amounts,
            ..Outcome::default()
        };
        c.bench_function(&format!("announce and settle, {name}"), |b| {
            // Room is made between the measurements, as the node does it beside them.
            let prepare = || drop(ledger.tend(u64::MAX));
            let calls = |()| {
                for _ in 0..CALLS {
                    let entry = journal.announce(black_box(&intent));
                    assert!(entry.is_ok(), "no room");
                    entry.into_iter().for_each(|entry| entry.settle(black_box(&outcome)));
                }
            };
            b.iter_batched(prepare, calls, BatchSize::PerIteration);
        });
    }
}

/// Calls of one measurement: divide by it.
const CALLS: u32 = 1_000;

criterion_group!(benches, journal);
criterion_main!(benches);
