//! The table of contents of one request.

use crate::{
    Answer, Endpoint, Form, RequestBody, RequestLine,
    admit::access,
    answer,
    answer::Content,
    cause::Failed,
    concede::{Conceding, Reached, longest},
    flight::Flight,
    headers::Headers,
    models, passthrough, realtime,
    receive::{Ask, receive},
    record::Outcome,
    relay::Relay,
    route::plan,
    signed::{Asker, identify},
    tail::Tail,
    take::{Parts, Won},
    timer::Timer,
    usage,
    worker::Worker,
};
use http::{HeaderMap, HeaderValue, Response, header::CONTENT_TYPE};
use std::{cell::Cell, rc::Rc};
use trestle_config::Snapshot;
use trestle_dialect::{Dialect, Refusal, RefusalKind};

/// Longest id of a client that is kept.
const CLIENT_ID_MAX: usize = 128;

/// Answers one request. Sets `finish` once it must run to its end even if its client leaves.
pub(crate) async fn handle(
    worker: &Rc<Worker>,
    mut line: RequestLine,
    (headers, body): (Headers, RequestBody),
    finish: &Cell<bool>,
) -> Response<Answer> {
    let endpoint = line.endpoint;
    let mut flight = Flight::begin(worker, endpoint);
    flight.join_trace(&headers);
    let snapshot = worker.snapshot();
    flight.record.client_id = client_id(&headers);
    let signed = match identify(&snapshot, &headers, &mut line) {
        Ok(Asker::Known(caller)) => {
            flight.record.caller = caller;
            None
        }
        Ok(Asker::Signed(signed)) => Some(signed),
        Err(refusal) => return answer::refusal(flight, &refusal),
    };
    let said = signed.as_ref().map(|signed| signed.caller()).or(flight.record.caller.as_deref());
    flight.record.traced =
        said.is_some_and(|caller| caller.trace) && headers.get("x-trestle-trace") == Some(b"true");
    if let Some(Err(refusal)) = said.map(|caller| access(&snapshot, caller, (line.peer, &headers))) {
        return answer::refusal(flight, &refusal);
    }
    if endpoint == Endpoint::Realtime {
        return answer::refusal(flight, &realtime::not_here());
    }
    if let Some(through) = &line.through {
        // Boxed: few requests are such calls, and all would be as large.
        return Box::pin(passthrough::pass(flight, &snapshot, through, (headers, body), finish)).await;
    }
    if let Endpoint::Models(_) = endpoint {
        return match &line.named {
            Some(named) => models::one(flight, &snapshot, &headers, &named.model),
            None => models::list(flight, &snapshot, &headers),
        };
    }
    if let Endpoint::Usage(_) = endpoint {
        return usage::tell(flight, &worker.shared.counted);
    }
    let mut ask = match receive(&mut flight, &snapshot.settings, (line, headers), body, signed).await {
        Ok(ask) => ask,
        Err(refusal) => return answer::refusal(flight, &refusal),
    };
    flight.received();
    let caller = flight.record.caller.clone();
    let plan = match plan(&snapshot, caller.as_deref(), &mut ask, &mut || worker.chance()) {
        Ok(plan) => plan,
        Err(refusal) => return answer::refusal(flight, &refusal),
    };
    let mut timer = Timer::new(flight.started + longest(&plan));
    finish.set(!ask.stream && !snapshot.aborts(false));
    let conceding =
        Conceding { flight: &mut flight, ask: &mut ask, timer: &mut timer, snapshot: &snapshot, plan };
    let reached = conceding.walk().await;
    flight.record.bytes_in += ask.tail().map_or(0, Tail::taken);
    match reached {
        Reached::Refused(refusal) => answer::refusal(flight, &refusal),
        Reached::Lost(failed, dialect) => lost(flight, &failed, dialect),
        Reached::Won(won, dropped) => deliver(flight, (won, dropped), timer, (&ask, &snapshot)),
    }
}

pub(crate) fn client_id(headers: &Headers) -> Option<Box<str>> {
    let id = headers.text("x-request-id").or_else(|| headers.text("x-client-request-id"))?;
    Some(id.get(..CLIENT_ID_MAX).unwrap_or(id).into())
}

/// A target answers: whole, in parts or as events.
fn deliver(
    mut flight: Box<Flight>,
    (won, mut dropped): (Won, Vec<String>),
    timer: Timer,
    (ask, snapshot): (&Ask, &Snapshot),
) -> Response<Answer> {
    flight.record.status = 200;
    let idle = flight.record.target.as_ref().map(|target| target.times.idle).unwrap_or_default();
    let dialect = ask.dialect();
    match won {
        Won::Whole(body, more) => {
            flight.record.outcome = Outcome::Ok;
            // What it cost, and what is left, is told in the head.
            flight.close();
            dropped.extend(more);
            answer::full(flight, body, &dropped)
        }
        Won::Parts(Parts { queue, body, length, media_type, meter }) => {
            let mut headers = answer::head(&flight, Content::Json, &dropped);
            if let Some(media_type) = media_type.and_then(|text| HeaderValue::from_str(&text).ok()) {
                headers.insert(CONTENT_TYPE, media_type);
            }
            let relay =
                Relay::bytes(flight, (queue, body, length), (timer, idle), (meter.into(), Outcome::Ok));
            stream_out(headers, relay.finish_alone(!snapshot.aborts(false)))
        }
        Won::Session(_) => answer::refusal(flight, &realtime::not_here()),
        Won::Events(stream) => {
            dropped.extend_from_slice(&stream.dropped);
            let content = match ask.form {
                Form::Events => Content::Events(dialect.framing()),
                Form::Array => Content::Json,
            };
            let headers = answer::head(&flight, content, &dropped);
            let relay = Relay::events(flight, *stream, timer, (dialect, idle));
            stream_out(headers, relay.finish_alone(!snapshot.aborts(true)))
        }
    }
}

pub(crate) fn stream_out(headers: HeaderMap, relay: Relay) -> Response<Answer> {
    let mut response = Response::new(Answer::Relay(Box::new(relay)));
    *response.headers_mut() = headers;
    response
}

/// No target answers: the client hears the upstream's own error where the request must change, else a refusal of
/// ours with every attempt.
pub(crate) fn lost(flight: Box<Flight>, failed: &Failed, dialect: Option<Dialect>) -> Response<Answer> {
    if let (None, Some(fault)) = (failed.kind(), &failed.fault) {
        return answer::fault(flight, failed, fault, dialect);
    }
    let kind = failed.kind().unwrap_or(RefusalKind::InvalidRequest);
    let tried = flight.record.attempts.len();
    let message = match tried {
        0 | 1 => failed.message.clone(),
        n => format!("{} (after {n} attempts)", failed.message),
    };
    let mut refusal = Refusal::new(kind, message);
    refusal.retry_after = refusal.retry_after.map(|default| failed.retry_after.unwrap_or(default));
    refusal.param.clone_from(&failed.param);
    refusal.attempts.clone_from(&flight.record.attempts);
    answer::refusal(flight, &refusal)
}
