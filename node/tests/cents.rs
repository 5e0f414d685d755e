//! Every cent once: a node under load is killed, again and again, and its ledger is held against what the mock upstream saw,
//! what clients got and what limits say. `TRESTLE_CENTS_ROUNDS=20` for a long run.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a panic is a failed test

#[path = "cents/check.rs"]
mod check;
#[cfg(target_os = "linux")]
#[path = "cents/ledger.rs"]
mod ledger;
#[path = "cents/limits.rs"]
mod limits;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "process/operator.rs"]
mod operator;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "process/support.rs"]
mod support;
#[path = "cents/traffic.rs"]
mod traffic;

use std::{path::Path, time::Duration};
use support::{Node, Start, eventually};
use traffic::{Random, Traffic};
use trestle_bench::mock::{Mock, Options, Tally};
use trestle_store::{Damage, Ledger, Line, Query};

/// Kills, where nothing else is said.
const ROUNDS: u64 = 4;

struct Upstreams {
    openai: Mock,
    anthropic: Mock,
}

impl Upstreams {
    fn start() -> Self {
        let mock = || Mock::start(Options::default()).unwrap();
        Self { openai: mock(), anthropic: mock() }
    }

    /// What both have seen, once nothing of it runs.
    fn account(&self) -> Vec<Tally> {
        eventually("the mocks to be idle", || {
            (self.openai.in_flight() + self.anthropic.in_flight() == 0).then_some(())
        });
        [self.openai.account(), self.anthropic.account()].concat()
    }
}

#[test]
fn every_cent_is_counted_once_however_often_the_node_is_killed() {
    let rounds = std::env::var("TRESTLE_CENTS_ROUNDS").map_or(ROUNDS, |text| text.parse().unwrap());
    let upstreams = Upstreams::start();
    let document = limits::document((&upstreams.openai.url(), &upstreams.anthropic.url()), rounds);
    let data = tempfile::tempdir().unwrap();
    let mut random = Random(0x7265_7374_6c65);
    let mut got = Vec::new();
    for round in 0..rounds {
        let mut node = start(&document, data.path());
        let traffic = Traffic::start(node.address, (round, random.next()));
        std::thread::sleep(Duration::from_millis(1_500 + random.below(2_000)));
        node.signal("KILL");
        node.ended();
        got.extend(traffic.join());
        sound(&node);
    }
    // One that is left in peace, and whatever ran before is closed by its start.
    let mut node = start(&document, data.path());
    let traffic = Traffic::start(node.address, (rounds, random.next()));
    std::thread::sleep(Duration::from_millis(1_500));
    got.extend(traffic.join());
    eventually("the last calls to end", || {
        node.get("/metrics").body.lines().any(|line| line == "trestle_in_flight 0").then_some(())
    });
    let told = operator::Operator::of(&node).done("GET /api/limits?limit=100", "");
    node.signal("TERM");
    assert!(node.ended().success());
    sound(&node);
    let lines = lines(&data.path().join("ledger"));
    let report = check::Report::of(&lines, &upstreams.account(), &got);
    report.tell(rounds);
    report.is_of_a_real_run(rounds);
    limits::check(&lines, (&data.path().join("counters"), &told), rounds);
}

fn start(document: &str, data: &Path) -> Node {
    let serve = Start::serve(document).within(data).arguments(&["--threads", "2"]).administered();
    let name = |key: u32| (format!("UPSTREAM_{key}"), format!("sk-upstream-{key}"));
    (0..6).map(name).fold(serve, |serve, (name, value)| serve.variable(&name, &value)).start()
}

fn sound(node: &Node) {
    let log = node.log();
    for word in ["panicked", "damaged", "cannot be read", "is used by another"] {
        assert!(!log.contains(word), "{word}:\n{log}");
    }
}

/// All lines of a ledger that nobody writes.
fn lines(folder: &Path) -> Vec<Line> {
    let (ledger, recovery) = Ledger::open(folder, trestle_store::Options::default()).unwrap();
    assert_eq!((recovery.closed.len(), recovery.damage), (0, Damage::default()));
    let (mut lines, mut next) = (Vec::new(), None);
    loop {
        let page = ledger.query(&Query::default(), next, 1_000).unwrap();
        assert_eq!(page.skipped, 0);
        lines.extend(page.lines);
        next = page.next;
        if next.is_none() {
            return lines;
        }
    }
}
