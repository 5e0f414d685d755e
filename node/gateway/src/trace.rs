//! Why a request went as it did: who asked, which limits counted it, where it could go and where not, what it cost. Made of
//! its record, when somebody asks.

use crate::{
    limits::{Account, measure_word, owner_word, usd},
    record::Record,
};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};
use trestle_config::{Limit, Measure, Mode};
use trestle_dialect::{Attempt, json::Writer as Json};

/// Records that are kept for questions; some MiB.
const RECENT_MAX: usize = 10_000;

/// The last requests.
#[derive(Debug, Default, Clone)]
pub(crate) struct Recent(Arc<Mutex<VecDeque<Box<Record>>>>);

impl Recent {
    /// Keeps a record; the oldest goes.
    pub(crate) fn keep(&self, record: Box<Record>) {
        let mut all = crate::state::lock(&self.0);
        if all.len() == RECENT_MAX {
            all.pop_front();
        }
        all.push_back(record);
    }

    /// The trace of a request by our id, as JSON.
    pub(crate) fn trace(&self, id: u128) -> Option<Vec<u8>> {
        let all = crate::state::lock(&self.0);
        all.iter().rev().find(|record| record.id == id).map(|record| trace(record, &record.account))
    }
}

/// Longest trace in a header.
const HEADER_BYTES_MAX: usize = 8 * 1024;

/// As it may stand in a header: what is no ASCII is escaped. One that is too long says where to ask.
pub(crate) fn in_ascii(json: &[u8]) -> String {
    let mut out = String::with_capacity(json.len());
    for letter in String::from_utf8_lossy(json).chars() {
        if letter.is_ascii() {
            out.push(letter);
        } else {
            let mut units = [0; 2];
            letter.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    if out.len() > HEADER_BYTES_MAX {
        out = r#"{"truncated":"ask /api/requests/ID/trace"}"#.to_owned();
    }
    out
}

/// The trace of a record and its limits, as JSON.
pub(crate) fn trace(record: &Record, account: &Account) -> Vec<u8> {
    let mut json = Json::with_capacity(1024);
    json.begin_object();
    text(&mut json, "request_id", std::str::from_utf8(&record.id_hex()).unwrap_or_default());
    text(&mut json, "time", &humantime::format_rfc3339_millis(record.at).to_string());
    text(&mut json, "endpoint", record.endpoint.name());
    caller(&mut json, record);
    text(&mut json, "model", &record.model);
    json.key("stream");
    json.bool(record.stream);
    limits(&mut json, record, account);
    candidates(&mut json, record);
    cost(&mut json, record);
    number(&mut json, "status", u64::from(record.status));
    text(&mut json, "outcome", record.outcome.name());
    if let Some(cause) = record.outcome.cause() {
        text(&mut json, "cause", cause);
    }
    json.key("ms");
    json.raw(millis(record.total.as_micros()).as_bytes());
    json.end_object();
    json.finish()
}

fn caller(json: &mut Json, record: &Record) {
    let Some(caller) = &record.caller else { return };
    json.key("caller");
    json.begin_object();
    text(json, "key", &caller.name);
    for (name, value) in [("user", &caller.user), ("team", &caller.team), ("customer", &caller.customer)] {
        if let Some(value) = value {
            text(json, name, value);
        }
    }
    if !caller.tags.is_empty() {
        json.key("tags");
        json.begin_array();
        caller.tags.iter().for_each(|tag| json.string(tag));
        json.end_array();
    }
    json.end_object();
}

/// Each with what it allows, what this request held of it and what it took, and how much is used now.
fn limits(json: &mut Json, record: &Record, account: &Account) {
    json.key("limits");
    json.begin_array();
    for (limit, figures) in account.terms() {
        json.begin_object();
        text(json, "owner_kind", owner_word(limit.owner.kind));
        text(json, "owner", &limit.owner.name);
        text(json, "limit", &limit.name);
        text(json, "measure", measure_word(limit.measure));
        text(json, "window", &limit.window.to_string());
        text(json, "mode", if limit.mode == Mode::Strict { "strict" } else { "soft" });
        amount(json, "amount", limit, figures.amount);
        amount(json, "held", limit, figures.held);
        amount(json, "spent", limit, figures.spent);
        amount(json, "used_now", limit, figures.used_now);
        if let Some(share) = figures.share {
            text(json, "share", &share.to_string());
        }
        json.end_object();
    }
    json.end_array();
    if let Some((limit, tokens)) = record.clamped.as_deref() {
        json.key("clamped");
        json.begin_object();
        text(json, "for", limit);
        number(json, "tokens", *tokens);
        json.end_object();
    }
    if let Some(model) = &record.downgraded {
        text(json, "downgraded_to", model);
    }
}

/// Where it could go in order, each with what became of it there, and then where it could not go.
fn candidates(json: &mut Json, record: &Record) {
    json.key("candidates");
    json.begin_array();
    let answered = record.target.as_ref().filter(|_| record.status < 400);
    for target in &record.plan {
        json.begin_object();
        text(json, "target", &target.name);
        let failed: Vec<_> = record.attempts.iter().filter(|attempt| attempt.target == target.name).collect();
        let won = answered.is_some_and(|answered| answered.name == target.name);
        let became = match (won, failed.is_empty()) {
            (true, _) => "answered",
            (false, false) => "failed",
            (false, true) => "not tried",
        };
        text(json, "became", became);
        if let Some(known) = &target.known {
            number(json, "price_version", known.price_version);
        }
        if !failed.is_empty() {
            attempts(json, &failed);
        }
        json.end_object();
    }
    for left_out in &record.left_out {
        json.begin_object();
        text(json, "target", &left_out.target.name);
        text(json, "became", "left out");
        text(json, "why", left_out.why);
        json.end_object();
    }
    json.end_array();
}

fn attempts(json: &mut Json, attempts: &[&Attempt]) {
    json.key("attempts");
    json.begin_array();
    for attempt in attempts {
        json.begin_object();
        if let Some(status) = attempt.status {
            number(json, "status", u64::from(status));
        }
        text(json, "cause", attempt.cause);
        json.key("ms");
        json.raw(millis(attempt.time.as_micros()).as_bytes());
        json.end_object();
    }
    json.end_array();
}

fn cost(json: &mut Json, record: &Record) {
    number(json, "calls", u64::from(record.calls));
    let Some(nano_usd) = record.nano_usd else { return };
    json.key("cost");
    json.begin_object();
    text(json, "usd", &usd(nano_usd));
    json.key("estimated");
    json.bool(record.estimated);
    if let Some(usage) = &record.usage {
        number(json, "input_tokens", usage.input);
        number(json, "cached_tokens", usage.cache_read);
        number(json, "output_tokens", usage.output);
    }
    json.end_object();
}

/// Money as exact text, all else as numbers.
fn amount(json: &mut Json, name: &str, limit: &Limit, amount: u64) {
    match limit.measure {
        Measure::NanoUsd => text(json, name, &usd(amount)),
        _ => number(json, name, amount),
    }
}

fn text(json: &mut Json, name: &str, value: &str) {
    json.key(name);
    json.string(value);
}

fn number(json: &mut Json, name: &str, value: u64) {
    json.key(name);
    json.u64(value);
}

fn millis(micros: u128) -> String {
    format!("{}.{:03}", micros / 1000, micros % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_ascii_and_bounded() {
        assert_eq!(in_ascii("{\"a\":\"é😀\"}".as_bytes()), r#"{"a":"\u00e9\ud83d\ude00"}"#);
        assert!(in_ascii("x".repeat(9_000).as_bytes()).contains("truncated"));
    }
}
