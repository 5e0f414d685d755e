//! `GET /v1/usage`: what the caller may use, and what of it is used. Of those that a key belongs to it learns their limits,
//! but not their names.

use crate::{
    Answer, answer,
    authenticate::unauthenticated,
    flight::Flight,
    limits::{Counted, LimitNow, measure_word, owner_word, usd},
    record::Outcome,
};
use http::Response;
use std::time::{Duration, UNIX_EPOCH};
use trestle_config::{Caller, Limit, Measure};
use trestle_dialect::json::Writer;

/// Most limits of an answer; those of whom the key belongs to come first, then its own, then those at single providers.
const LIMITS_MAX: usize = 1_000;

/// The limits of the caller with their figures.
pub(crate) fn tell(mut flight: Box<Flight>, counted: &Counted) -> Response<Answer> {
    let Some(caller) = flight.record.caller.clone() else {
        return answer::refusal(flight, &unauthenticated("usage is told to keys alone: send one"));
    };
    let body = written(&caller, counted, flight.now_ms());
    flight.record.status = 200;
    flight.record.outcome = Outcome::Ok;
    answer::full(flight, body.into(), &[])
}

fn written(caller: &Caller, counted: &Counted, now_ms: u64) -> Vec<u8> {
    let mut json = Writer::with_capacity(1_024);
    json.begin_object();
    text(&mut json, "object", "usage");
    text(&mut json, "key", &caller.name);
    json.key("limits");
    json.begin_array();
    let own = caller.limits.iter().map(|limit| (limit, None));
    let at_providers = caller
        .provider_limits
        .iter()
        .flat_map(|(provider, limits)| limits.iter().map(move |limit| (limit, Some(&**provider))));
    for (limit, provider) in own.chain(at_providers).take(LIMITS_MAX) {
        one(&mut json, &LimitNow::new(limit, counted, now_ms), provider);
    }
    json.end_array();
    json.end_object();
    json.finish()
}

fn one(json: &mut Writer, now: &LimitNow, provider: Option<&str>) {
    let limit: &Limit = &now.limit;
    json.begin_object();
    text(json, "owner_kind", owner_word(limit.owner.kind));
    if let Some(provider) = provider {
        text(json, "provider", provider);
    }
    text(json, "name", &limit.name);
    text(json, "measure", measure_word(limit.measure));
    let figures =
        [("amount", now.amount), ("used", now.used), ("held", now.held), ("remaining", now.remaining())];
    for (name, amount) in figures {
        match limit.measure {
            Measure::NanoUsd => text(json, name, &usd(amount)),
            _ => {
                json.key(name);
                json.u64(amount);
            }
        }
    }
    if let Some(window) = now.window() {
        text(json, "window", &window);
    }
    if let Some(share) = now.share {
        text(json, "share", &share.to_string());
    }
    for (name, at_ms) in [("since", now.since_ms), ("resets_at", now.resets_at_ms)] {
        if let Some(at_ms) = at_ms {
            let at = UNIX_EPOCH + Duration::from_millis(at_ms);
            text(json, name, &humantime::format_rfc3339_millis(at).to_string());
        }
    }
    json.end_object();
}

fn text(json: &mut Writer, name: &str, value: &str) {
    json.key(name);
    json.string(value);
}
