//! A call of a provider as it is: allowed by the document, with a key of the provider put in, and its answer passed on
//! whatever it says.

use crate::{
    Answer, Endpoint, Headers, RequestBody, Through,
    admit::{OfRequest, refusal},
    answer::{self, Content},
    attempt::{self, FAULT_BYTES_MAX, backoff, timed_out},
    call::{Calling, Sending},
    cause::{Failed, Next},
    estimate::Estimate,
    flight::Flight,
    handle::{lost, stream_out},
    intake::Intake,
    limits::Scope,
    meter::Tap,
    pick::{Picked, pick},
    prepare::{self, AGENT},
    receive::collect,
    record::Outcome,
    relay::Relay,
    spans::Noted,
    take::{self, joined},
    timer::Timer,
    upstream::{self, Encoding, Head, Incoming, Outgoing},
    worker::ProviderLocal,
};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header, uri::PathAndQuery,
};
use std::{
    cell::Cell,
    collections::VecDeque,
    pin::pin,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};
use trestle_config::{NotAllowed, ProviderKind, Settings, Snapshot, TargetConfig};
use trestle_dialect::{Attempt, Dialect, Framing, Refusal, RefusalKind, outbound};
use trestle_provider::Provider;

/// Headers of the client that go on, beside those that the document names. What the answer may be compressed with is not
/// among them, so that its usage can be read.
static ASKED: [HeaderName; 13] = [
    header::ACCEPT,
    header::ACCEPT_LANGUAGE,
    header::CONTENT_DISPOSITION,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    header::IF_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::IF_RANGE,
    header::IF_UNMODIFIED_SINCE,
    header::RANGE,
];

/// Headers of the answer that go on. Of the account behind it a client learns nothing by them.
static ANSWERED: [HeaderName; 17] = [
    header::ACCEPT_RANGES,
    header::ALLOW,
    header::CACHE_CONTROL,
    header::CONTENT_DISPOSITION,
    header::CONTENT_LANGUAGE,
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    header::ETAG,
    header::EXPIRES,
    header::LAST_MODIFIED,
    header::LINK,
    header::LOCATION,
    header::RETRY_AFTER,
    header::VARY,
    HeaderName::from_static("retry-after-ms"),
    HeaderName::from_static("x-amzn-errortype"),
    HeaderName::from_static("x-should-retry"),
];

/// A call that may be made.
struct Call {
    target: Arc<TargetConfig>,
    method: Method,
    path: PathAndQuery,
    headers: HeaderMap,
    body: Outgoing,
}

/// An answer, whatever its status.
struct Passed {
    head: Head,
    queue: VecDeque<Bytes>,
    body: Incoming,
    /// What it says of an error.
    failed: Option<Failed>,
}

/// Makes the call, if it is allowed, and passes its answer on.
pub(crate) async fn pass(
    mut flight: Box<Flight>,
    snapshot: &Snapshot,
    through: &Through,
    (headers, body): (Headers, RequestBody),
    finish: &Cell<bool>,
) -> Response<Answer> {
    let (target, path) = match admit(&mut flight, snapshot, through) {
        Ok(admitted) => admitted,
        Err(refusal) => return answer::refusal(flight, &refusal),
    };
    let mut held = flight.worker.budget().share();
    // Bodies go on as they come, compressed or not.
    let length = headers.get(header::CONTENT_LENGTH.as_str()).map(HeaderValue::from_bytes);
    let length = length.and_then(Result::ok).map(|length| (header::CONTENT_LENGTH, length));
    let length = Headers::Map(HeaderMap::from_iter(length));
    let collected = match Intake::new(&snapshot.settings, &length, body) {
        Ok(intake) => collect(&snapshot.settings, intake, &mut held).await,
        Err(refusal) => Err(refusal),
    };
    let body = match collected {
        Ok(body) => body,
        Err(refusal) => return answer::refusal(flight, &refusal),
    };
    flight.received();
    flight.record.bytes_in = body.len() as u64;
    flight.record.target = Some(Arc::clone(&target));
    let mut timer = Timer::new(flight.started + target.times.total);
    finish.set(!aborts(snapshot, &through.method, Answered::InPart));
    let mut sent = HeaderMap::with_capacity(12);
    prepare::forward(&headers, ASKED.iter().chain(&target.provider.forward_headers), &mut sent);
    let limits = OfRequest::new(snapshot, flight.record.caller.as_ref(), "");
    if let Err(refusal) = reserve(&mut flight, &limits, (&target, &through.method), timer.left()) {
        return answer::refusal(flight, &refusal);
    }
    let body = Outgoing::new([body].into_iter().collect()).keeping_all();
    let call = Call { target, method: through.method.clone(), path, headers: sent, body };
    let local = flight.worker.provider(&call.target.provider.name);
    let settings = &snapshot.settings;
    let mut passing = Passing { call: &call, flight: &mut flight, timer: &mut timer, settings, local };
    match passing.run().await {
        // A key that is refused is ours: the client cannot mend it, and would take it for its own.
        Ok(Passed { failed: Some(failed), .. }) if failed.cause == "bad_credentials" => {
            lost(flight, &failed, None)
        }
        Ok(passed) => deliver((flight, snapshot), &call, passed, timer),
        Err(failed) => lost(flight, &failed, None),
    }
}

/// The one target of such a call, in the plan that it would have.
const SCOPE: Scope = Scope::Provider(0, 0);

/// What only reads costs nothing; of others no bound is known.
fn estimate(method: &Method) -> Estimate {
    if method.is_safe() { Estimate::NOTHING } else { Estimate::UNKNOWN }
}

/// Holds what the limits of the caller and the provider want.
fn reserve(
    flight: &mut Flight,
    limits: &OfRequest,
    (target, method): (&TargetConfig, &Method),
    lasts: Duration,
) -> Result<(), Refusal> {
    let limits = limits.limits_at(&target.provider, SCOPE);
    if limits.iter().all(|(limits, _)| limits.is_empty()) {
        return Ok(());
    }
    let (now_ms, worker) = (flight.now_ms(), Rc::clone(&flight.worker));
    let held = flight.account.hold(worker.counting(now_ms, lasts), &limits, Some(&estimate(method)));
    held.map_err(|refused| {
        flight.limited(&refused);
        refusal(&refused)
    })
}

/// How far an answer is when its client leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answered {
    /// It is a stream.
    Streaming,
    /// It is not known to be one.
    InPart,
}

/// Whether a call ends when its client leaves: a stream does, and what only reads, as nobody bills that.
fn aborts(snapshot: &Snapshot, method: &Method, answered: Answered) -> bool {
    snapshot.aborts(method.is_safe() || answered == Answered::Streaming)
}

/// Where the call goes, if the caller and the document allow it.
fn admit(
    flight: &mut Flight,
    snapshot: &Snapshot,
    through: &Through,
) -> Result<(Arc<TargetConfig>, PathAndQuery), Refusal> {
    let Through { provider: name, method, path, query } = through;
    let shown: String = format!("{method} {path}").chars().take(128).collect();
    flight.record.model = shown.as_str().into();
    let Some(target) = snapshot.providers.get(name).map(|provider| snapshot.account(provider)) else {
        let name: String = name.chars().take(128).collect();
        return Err(Refusal::new(RefusalKind::NotFound, format!("there is no provider `{name}` here")));
    };
    let provider = &target.provider;
    let dialect = provider.dialects.first().copied().unwrap_or(Dialect::OpenAiChat);
    flight.record.endpoint = Endpoint::Passthrough(dialect);
    // No model is known of such a call, so that a key for some of them must not make it.
    if flight.record.caller.as_ref().is_some_and(|caller| !caller.grants.allow_all_of(name)) {
        let message = format!("this key may not call {name} as it is: that needs `{name}/*` in its `models`");
        return Err(Refusal::new(RefusalKind::Forbidden, message));
    }
    let ProviderKind::Remote(remote) = &provider.kind else {
        let message = format!("{name} is built in and has no network: there is nothing to call");
        return Err(Refusal::new(RefusalKind::InvalidRequest, message));
    };
    let path = provider.passthrough.find(method, (path, query.as_deref()), remote.base_path());
    let path = path.map_err(|why| match why {
        NotAllowed::NoRule => {
            let message = format!(
                "`{shown}` is not allowed: `providers.{name}.passthrough` of the document says what is"
            );
            Refusal::new(RefusalKind::Forbidden, message)
        }
        NotAllowed::Unclear(why) => {
            Refusal::new(RefusalKind::InvalidRequest, format!("the path cannot be passed on: {why}"))
        }
    })?;
    Ok((target, path))
}

/// One call on its way, over the keys of its provider.
struct Passing<'a> {
    call: &'a Call,
    flight: &'a mut Flight,
    timer: &'a mut Timer,
    settings: &'a Settings,
    local: Rc<ProviderLocal>,
}

impl Passing<'_> {
    /// An answer, from the first key that is not refused; any other error is the client's to see.
    async fn run(&mut self) -> Result<Passed, Failed> {
        let call = self.call;
        let retries = &call.target.retries;
        let (mut again, mut keys) = (0, call.target.provider.credentials.len());
        // Bounded: each round uses up a retry or a key.
        loop {
            let begun = Instant::now();
            self.flight.walked(begun);
            let picked = self.pick();
            let tried = match &picked {
                Ok(picked) => self.send(picked).await,
                Err(failed) => Err(failed.clone()),
            };
            let failed = match &tried {
                Ok(Passed { failed: None, .. }) => return tried,
                Ok(Passed { failed: Some(failed), .. }) | Err(failed) => failed,
            };
            self.flight.fail_call(failed);
            self.note(failed, begun.elapsed());
            if let (Next::OtherKey(bench), Ok(picked)) = (failed.next, &picked) {
                picked.leave_out(failed, bench, &self.local);
                keys = keys.saturating_sub(1);
                if keys > 0 && self.pick().is_ok() {
                    continue;
                }
            }
            let pending = matches!(self.pick(), Err(failed) if failed.cause == "credentials_pending");
            let unsent = matches!(failed.cause, "connect_failed" | "connect_timeout");
            let repeatable =
                tried.is_err() && failed.next == Next::Again && (unsent || call.method.is_idempotent());
            let pause = backoff(retries, again, self.flight.worker.chance());
            if again >= retries.max || !(pending || repeatable) || pause >= self.timer.left() {
                return tried;
            }
            again += 1;
            tokio::time::sleep(pause).await;
        }
    }

    fn pick(&self) -> Result<Picked, Failed> {
        pick(&self.call.target.provider, &self.local, self.flight.worker.chance(), None)
    }

    fn note(&mut self, failed: &Failed, time: Duration) {
        let status = failed.fault.as_ref().map(|fault| fault.status);
        let target = self.call.target.provider.name.clone();
        self.flight.failed(Attempt { target, status, cause: failed.cause, time });
    }

    /// One call, to an answer of any status.
    async fn send(&mut self, picked: &Picked) -> Result<Passed, Failed> {
        let target = &self.call.target;
        let ProviderKind::Remote(remote) = &target.provider.kind else {
            return Err(Failed::new("unsupported", Next::Onward, "the provider has no network"));
        };
        let slot = attempt::slot(self.timer, target, &self.local).await?;
        self.timer.stage(target.times.first_token);
        self.flight.begin_call(Calling {
            target,
            scope: SCOPE,
            picked,
            estimate: estimate(&self.call.method),
            bytes: self.call.body.held(),
            service_tier: None,
        })?;
        let began = self.flight.call_goes();
        let noted = self.flight.record.noted.as_deref();
        let request = request(self.call, remote.as_ref(), picked, noted)?;
        let (head, source) = {
            let going = Sending::new(self.flight);
            let origin = (remote.origin(), &*target.provider);
            let sending = pin!(upstream::send(&self.local.pool, origin, &request, &going.begun));
            self.timer.within(sending).await.map_err(timed_out)??
        };
        self.flight.call_heard(began);
        self.flight.call_answered(head.status.as_u16());
        let expanded =
            if is_expanded(&head) && !source.is_done() { head.encoding } else { Encoding::Identity };
        let mut body = Incoming::new(source, expanded, self.settings.body_bytes_max, slot)?;
        if !(head.status.is_client_error() || head.status.is_server_error()) {
            return Ok(Passed { head, queue: VecDeque::new(), body, failed: None });
        }
        let held = (self.flight.worker.budget().share(), self.settings.buffered_bytes_max);
        let (queue, _, _held) = take::collect(self.timer, &mut body, FAULT_BYTES_MAX, held).await?;
        let codec = outbound(self.flight.record.endpoint.dialect());
        let mut fault = codec.decode_fault(head.status.as_u16(), &joined(queue.clone()));
        if let Some(kind) = &head.error_type {
            fault = fault.with_type(kind);
        }
        remote.classify(&mut fault);
        let failed = Some(Failed::fault(fault, head.retry_after));
        Ok(Passed { head, queue, body, failed })
    }
}

/// Whether the body is compressed in a way that we undo. A part of one cannot be.
fn is_expanded(head: &Head) -> bool {
    !matches!(head.encoding, Encoding::Identity | Encoding::Unknown)
        && head.status != StatusCode::PARTIAL_CONTENT
}

fn request(
    call: &Call,
    remote: &dyn Provider,
    picked: &Picked,
    noted: Option<&Noted>,
) -> Result<Request<Outgoing>, Failed> {
    let mut headers = call.headers.clone();
    headers.insert(header::HOST, remote.host().clone());
    headers.insert(header::USER_AGENT, AGENT.clone());
    if let Some(noted) = noted {
        noted.write(&mut headers);
    }
    prepare::complete((call.method.clone(), call.path.clone(), headers), &call.body, remote, picked)
}

/// The answer on its way, byte for byte.
fn deliver(
    (mut flight, snapshot): (Box<Flight>, &Snapshot),
    call: &Call,
    Passed { head, queue, body, failed }: Passed,
    timer: Timer,
) -> Response<Answer> {
    flight.record.status = head.status.as_u16();
    flight.record.stream = head.is_events;
    let good = failed.map_or(Outcome::Ok, |failed| Outcome::Fault(failed.cause));
    let mut headers = answer::head(&flight, Content::Json, &[]);
    let media_type = passed_on(&head, &mut headers);
    let alone = call.method == Method::HEAD
        || matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
        || (queue.is_empty() && body.is_done());
    let status = head.status;
    let mut response = if alone {
        if call.method == Method::HEAD
            && let Some(length) = head.length.filter(|_| !is_expanded(&head))
        {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        flight.record.outcome = good;
        let mut response = Response::new(Answer::Full(None));
        *response.headers_mut() = headers;
        response
    } else {
        let dialects = &call.target.provider.dialects;
        let tap = match media_type {
            Some(framing) => Tap::events(framing, dialects),
            None => Tap::value(dialects),
        };
        let length = head.length.filter(|_| !is_expanded(&head));
        let relay = Relay::bytes(flight, (queue, body, length), (timer, call.target.times.idle), (tap, good));
        let answered = if head.is_events { Answered::Streaming } else { Answered::InPart };
        stream_out(headers, relay.finish_alone(!aborts(snapshot, &call.method, answered)))
    };
    *response.status_mut() = status;
    response
}

/// Puts on what goes on of the answer's headers; how its events are told apart, if it has some.
fn passed_on(head: &Head, headers: &mut HeaderMap) -> Option<Framing> {
    headers.remove(header::CONTENT_TYPE);
    let Some(all) = &head.all else { return None };
    for name in &ANSWERED {
        headers.extend(all.get_all(name).iter().map(|value| (name.clone(), value.clone())));
    }
    if !is_expanded(head) {
        let encodings = all.get_all(header::CONTENT_ENCODING).iter();
        headers.extend(encodings.map(|value| (header::CONTENT_ENCODING, value.clone())));
    }
    let kind = all.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let binary = kind.starts_with(Framing::EventStream.media_type().as_bytes());
    head.is_events.then_some(if binary { Framing::EventStream } else { Framing::Sse })
}
