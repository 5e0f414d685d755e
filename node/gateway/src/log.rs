//! The request log: one JSON object a line, formatted from records off the data threads.

use crate::{
    limits::{named, usd},
    record::{self, Record},
    spans::{FinishedRequest, Tracing},
    trace::Recent,
};
use std::{
    collections::HashMap,
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::Duration,
};
use trestle_counters::{LimitId, WindowId};
use trestle_dialect::{Attempt, ir::Usage, json::Writer as Json};

/// How often the rings are looked at where there is little to do.
const POLL: Duration = Duration::from_millis(20);
/// And where there is much: a data thread on the same processor waits no longer than a few records take.
const POLL_SOON: Duration = Duration::from_millis(4);
/// So many records in a round are much.
const MUCH: usize = 8;
/// A line is written out once so much is waiting, or at the end of a round.
const BUFFER: usize = 64 * 1024;

/// The thread that writes the log.
pub(crate) struct Writer {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Writer {
    /// Starts to write what comes through the rings.
    pub(crate) fn start(
        rings: Vec<rtrb::Consumer<Box<Record>>>,
        sink: Box<dyn Write + Send>,
        recent: Recent,
        tracing: Option<Tracing>,
    ) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let builder = std::thread::Builder::new().name("request-log".to_owned());
        let thread = builder.spawn(move || run(rings, sink, tracing, (&recent, &seen)))?;
        Ok(Self { stop, thread })
    }

    /// Writes what is left and ends.
    pub(crate) fn stop(self) {
        self.stop.store(true, Relaxed);
        let _ = self.thread.join();
    }
}

fn run(
    mut rings: Vec<rtrb::Consumer<Box<Record>>>,
    mut sink: Box<dyn Write + Send>,
    mut tracing: Option<Tracing>,
    (recent, stop): (&Recent, &AtomicBool),
) {
    let mut lines = Vec::with_capacity(BUFFER);
    let mut warned = HashMap::new();
    loop {
        let last = stop.load(Relaxed);
        let mut count = 0;
        for ring in &mut rings {
            while let Ok(record) = ring.pop() {
                count += 1;
                line(&record, &mut lines);
                warn(&record, &mut warned);
                if let Some(tracing) = &mut tracing
                    && let Some(finished) = FinishedRequest::of(&record, &tracing.sampling)
                {
                    (tracing.sink)(finished);
                }
                recent.keep(record);
                if lines.len() >= BUFFER {
                    flush(&mut lines, &mut sink);
                }
            }
        }
        flush(&mut lines, &mut sink);
        if last {
            return;
        }
        std::thread::sleep(if count < MUCH { POLL } else { POLL_SOON });
    }
}

/// Limits whose last warning is remembered.
const WARNED_MAX: usize = 100_000;

/// Warns once for each percent and window, whatever the thread that came to it.
fn warn(record: &Record, warned: &mut HashMap<LimitId, (WindowId, u8)>) {
    for (limit, window, percent) in &record.warnings {
        if warned.len() >= WARNED_MAX {
            warned.clear();
        }
        let news = (*window, *percent);
        if warned.insert(limit.id, news).is_none_or(|last| last < news) {
            let limit = named(limit);
            tracing::warn!(limit, percent, "a limit has come to a percent at which it warns");
        }
    }
}

/// A log that cannot be written must not stop the gateway; what is lost shows in the missing lines.
fn flush(lines: &mut Vec<u8>, sink: &mut Box<dyn Write + Send>) {
    if !lines.is_empty()
        && let Err(error) = sink.write_all(lines).and_then(|()| sink.flush())
    {
        tracing::warn!(%error, "the request log cannot be written");
    }
    lines.clear();
}

fn line(record: &Record, out: &mut Vec<u8>) {
    let mut json = Json::append_to(std::mem::take(out));
    json.begin_object();
    field(&mut json, "time", &humantime::format_rfc3339_millis(record.at).to_string());
    json.key("request_id");
    json.string(std::str::from_utf8(&record.id_hex()).unwrap_or_default());
    optional(&mut json, "client_request_id", record.client_id.as_deref());
    if let Some(noted) = &record.noted {
        json.key("trace_id");
        json.string(std::str::from_utf8(&record::hex(noted.trace_id)).unwrap_or_default());
        field(&mut json, "span_id", &format!("{:016x}", noted.span_id));
    }
    field(&mut json, "endpoint", record.endpoint.name());
    optional(&mut json, "key", record.caller.as_ref().map(|caller| &*caller.name));
    field(&mut json, "model", &record.model);
    optional(&mut json, "target", record.target.as_ref().map(|target| &*target.name));
    number(&mut json, "status", u64::from(record.status));
    field(&mut json, "outcome", record.outcome.name());
    optional(&mut json, "cause", record.outcome.cause());
    json.key("stream");
    json.bool(record.stream);
    if let Some(usage) = &record.usage {
        cost(&mut json, usage);
    }
    if let Some(nano_usd) = record.nano_usd {
        field(&mut json, "cost_usd", &usd(nano_usd));
        if record.estimated {
            json.key("estimated");
            json.bool(true);
        }
    }
    number(&mut json, "bytes_in", record.bytes_in);
    number(&mut json, "bytes_out", record.bytes_out);
    if record.stream {
        number(&mut json, "events", u64::from(record.events));
    }
    for (name, time) in
        [("first_ms", record.first), ("upstream_ms", record.upstream), ("total_ms", Some(record.total))]
    {
        if let Some(time) = time {
            json.key(name);
            millis(&mut json, time);
        }
    }
    if !record.attempts.is_empty() {
        attempts(&mut json, &record.attempts);
    }
    json.end_object();
    *out = json.finish();
    out.push(b'\n');
}

/// Tokens, and beside them the things that are no tokens.
fn cost(json: &mut Json, usage: &Usage) {
    let things = [("images", usage.images), ("audio_ms", usage.audio_ms), ("characters", usage.characters)];
    if usage.total() > 0 || things.iter().all(|(_, n)| *n == 0) {
        tokens(json, usage);
    }
    some(json, &things);
}

fn tokens(json: &mut Json, usage: &Usage) {
    json.key("tokens");
    json.begin_object();
    number(json, "input", usage.input);
    number(json, "output", usage.output);
    some(
        json,
        &[
            ("cache_read", usage.cache_read),
            ("cache_write", usage.cache_write),
            ("reasoning", usage.reasoning),
            ("audio_input", usage.audio_input),
            ("audio_output", usage.audio_output),
            ("image_input", usage.image_input),
            ("image_output", usage.image_output),
        ],
    );
    json.end_object();
}

fn some(json: &mut Json, counts: &[(&str, u64)]) {
    for (name, n) in counts.iter().filter(|(_, n)| *n > 0) {
        number(json, name, *n);
    }
}

fn attempts(json: &mut Json, attempts: &[Attempt]) {
    json.key("failed_attempts");
    json.begin_array();
    for attempt in attempts {
        json.begin_object();
        field(json, "target", &attempt.target);
        if let Some(status) = attempt.status {
            number(json, "status", u64::from(status));
        }
        field(json, "cause", attempt.cause);
        json.key("ms");
        millis(json, attempt.time);
        json.end_object();
    }
    json.end_array();
}

fn millis(json: &mut Json, time: Duration) {
    // Only what took ages does not fit; wider numbers are slow to write.
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    json.raw(format!("{}.{:03}", micros / 1000, micros % 1000).as_bytes());
}

fn field(json: &mut Json, name: &str, value: &str) {
    json.key_escaped(name.as_bytes());
    json.string(value);
}

fn optional(json: &mut Json, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        field(json, name, value);
    }
}

fn number(json: &mut Json, name: &str, value: u64) {
    json.key_escaped(name.as_bytes());
    json.u64(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_is_told() {
        let check = |usage: Usage, expected: &str| {
            let mut json = Json::append_to(Vec::new());
            json.begin_object();
            cost(&mut json, &usage);
            json.end_object();
            assert_eq!(String::from_utf8(json.finish()).unwrap(), expected);
        };
        let none = Usage::default();
        check(none, r#"{"tokens":{"input":0,"output":0}}"#);
        check(Usage { audio_ms: 1500, ..none }, r#"{"audio_ms":1500}"#);
        check(
            Usage { input: 9, image_input: 6, output: 5, image_output: 4, images: 2, ..none },
            r#"{"tokens":{"input":9,"output":5,"image_input":6,"image_output":4},"images":2}"#,
        );
        check(
            Usage { input: 9, audio_input: 7, characters: 3, ..none },
            r#"{"tokens":{"input":9,"output":0,"audio_input":7},"characters":3}"#,
        );
    }
}
