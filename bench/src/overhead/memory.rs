//! Memory of the gateway while much is open.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::cases::{Case, chat};
use super::command::Plan;
use super::latency;
use super::stage::{LOAD_CPU, Stage};
use crate::load::{Closed, Expect, Prompt, Rate};

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Memory {
    pub(super) what: String,
    pub(super) bytes: u64,
    pub(super) target_mib: Option<u64>,
}

impl Memory {
    pub(super) fn new(what: impl Into<String>, bytes: u64, target_mib: Option<u64>) -> Self {
        Self { what: what.into(), bytes, target_mib }
    }
}

/// Open streams that are measured.
const STREAMS: usize = 1_000;
/// One event each 50 ms: a stream of 100 lasts five seconds.
const STREAM_GAP_US: u32 = 50_000;
/// By then all are open and most of their events have passed.
const STREAMS_WAIT: Duration = Duration::from_secs(4);

/// 1,000 open streams.
pub(super) fn streams(stage: &Stage) -> anyhow::Result<Memory> {
    eprintln!("memory: {STREAMS} open streams");
    let prompt = Prompt { stream: true, gap_us: STREAM_GAP_US, ..chat().prompt };
    let case = Case { prompt, expect: Expect::Stream, ..*chat() };
    let load = Closed::start(stage.gateway.target(&case), STREAMS, LOAD_CPU)?;
    std::thread::sleep(STREAMS_WAIT);
    let bytes = stage.gateway.process.memory_bytes();
    load.finish()?;
    Ok(Memory::new(format!("{STREAMS} open streams"), bytes, Some(64)))
}

/// Requests each second where many are in flight.
const IN_FLIGHT_RATE: u32 = 5_000;
const IN_FLIGHT_CONNECTIONS: usize = 8_000;

/// 7,500 requests in flight: 5,000 each second at an upstream that takes 1.5 s, all of which must succeed.
pub(super) fn in_flight(stage: &Stage, plan: Plan) -> anyhow::Result<Memory> {
    eprintln!("in-flight: {IN_FLIGHT_RATE} requests/s at an upstream that takes 1.5 s");
    let case = Case { prompt: Prompt { gap_us: DELAY_US, ..chat().prompt }, ..*chat() };
    let target = stage.gateway.target(&case);
    let rate = Rate {
        per_second: IN_FLIGHT_RATE,
        connections: IN_FLIGHT_CONNECTIONS,
        time: plan.time() * 2 + Duration::from_secs(2),
        cpu: LOAD_CPU,
    };
    let over = AtomicBool::new(false);
    let (run, bytes) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut most = 0;
            while !over.load(Ordering::Relaxed) {
                most = most.max(stage.gateway.process.memory_bytes());
                std::thread::sleep(Duration::from_millis(200));
            }
            most
        });
        let begin = Instant::now();
        let run = latency::run(&target, rate).map(|latencies| (latencies.len(), begin.elapsed()));
        over.store(true, Ordering::Relaxed);
        (run, watch.join().unwrap_or(0))
    });
    let (answers, time) = run?;
    let what = format!("7,500 in flight ({answers} answers in {:.0} s, all good)", time.as_secs_f64());
    Ok(Memory::new(what, bytes, Some(160)))
}

/// How long the mock takes: for an answer that is no stream the gap is its delay.
const DELAY_US: u32 = 1_500_000;
