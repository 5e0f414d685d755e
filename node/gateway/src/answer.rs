//! Heads and error bodies of answers, in the client's dialect.

use crate::{
    Answer, Endpoint,
    cause::Failed,
    endpoint::dialect_of,
    flight::Flight,
    limits,
    record::{self, Outcome},
    trace,
    worker::Worker,
};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER},
};
use std::{rc::Rc, time::Duration};
use trestle_dialect::{
    Category, Dialect, Failure, Fault, Framing, Refusal, RefusalKind, bedrock_error_type, embed::Api,
    inbound, json,
};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const ANTHROPIC_REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
const AMAZON_REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");
const AMAZON_ERROR_TYPE: HeaderName = HeaderName::from_static("x-amzn-errortype");
const CLIENT_REQUEST_ID: HeaderName = HeaderName::from_static("x-client-request-id");
const INPUT_TOKENS: HeaderName = HeaderName::from_static("x-amzn-bedrock-input-token-count");
const PROVIDER: HeaderName = HeaderName::from_static("x-trestle-provider");
const MODEL: HeaderName = HeaderName::from_static("x-trestle-model");
const ATTEMPTS: HeaderName = HeaderName::from_static("x-trestle-attempts");
const DROPPED: HeaderName = HeaderName::from_static("x-trestle-dropped");
const COST: HeaderName = HeaderName::from_static("x-trestle-cost-usd");
const CLAMPED: HeaderName = HeaderName::from_static("x-trestle-clamped");
const TRACE: HeaderName = HeaderName::from_static("x-trestle-trace");
const TRACE_ID: HeaderName = HeaderName::from_static("x-trestle-trace-id");
const DOWNGRADED: HeaderName = HeaderName::from_static("x-trestle-downgraded");
static JSON: HeaderValue = HeaderValue::from_static("application/json");
static NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");

/// What kind of body follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// One JSON value.
    Json,
    /// Events.
    Events(Framing),
}

impl Content {
    fn media_type(self) -> HeaderValue {
        match self {
            Self::Json => JSON.clone(),
            Self::Events(framing) => HeaderValue::from_static(framing.media_type()),
        }
    }
}

/// The head that every answer of the pipeline has: who answered, after how many attempts, what was dropped.
pub(crate) fn head(flight: &Flight, content: Content, dropped: &[String]) -> HeaderMap {
    let record = &flight.record;
    let mut headers = HeaderMap::with_capacity(12);
    headers.insert(CONTENT_TYPE, content.media_type());
    if let Content::Events(_) = content {
        headers.insert(CACHE_CONTROL, NO_CACHE.clone());
    }
    if let Ok(id) = HeaderValue::from_bytes(&flight.record.id_hex()) {
        let own = match record.endpoint.dialect() {
            Dialect::AnthropicMessages => Some(ANTHROPIC_REQUEST_ID),
            Dialect::BedrockConverse => Some(AMAZON_REQUEST_ID),
            _ => None,
        };
        headers.extend(own.map(|own| (own, id.clone())));
        headers.insert(REQUEST_ID, id);
    }
    if let Some(noted) = &record.noted {
        headers.extend(HeaderValue::from_bytes(&record::hex(noted.trace_id)).ok().map(|id| (TRACE_ID, id)));
    }
    if record.endpoint == Endpoint::Embed(Api::Bedrock)
        && let Some(usage) = record.usage
    {
        headers.insert(INPUT_TOKENS, HeaderValue::from(usage.input));
    }
    if let Some(id) = record.client_id.as_deref().and_then(|id| HeaderValue::try_from(id).ok()) {
        headers.insert(CLIENT_REQUEST_ID, id);
    }
    if let Some(target) = &record.target {
        set(&mut headers, PROVIDER, &target.provider.name);
        if !target.model.is_empty() {
            set(&mut headers, MODEL, &target.model);
        }
        let attempts = record.attempts.len() + usize::from(record.status < 400);
        headers.insert(ATTEMPTS, HeaderValue::from(attempts));
    }
    if !dropped.is_empty() {
        set(&mut headers, DROPPED, &dropped_header(dropped));
    }
    limited(flight, &mut headers);
    headers
}

/// What the limits have to do with the answer. Its cost is known where it is told in one piece.
fn limited(flight: &Flight, headers: &mut HeaderMap) {
    let record = &flight.record;
    if let Some(nano_usd) = record.nano_usd {
        set(headers, COST, &limits::usd(nano_usd));
    }
    if let Some((limit, tokens)) = record.clamped.as_deref() {
        set(headers, CLAMPED, &format!("{tokens} tokens for the {limit}"));
    }
    if let Some(model) = &record.downgraded {
        set(headers, DOWNGRADED, model);
    }
    if record.traced {
        set(headers, TRACE, &trace::in_ascii(&trace::trace(record, &flight.account)));
    }
    if !flight.account.is_empty() {
        let now_ms = flight.now_ms();
        let left = flight.account.left(now_ms);
        limits::write_headers(record.endpoint.dialect(), now_ms, &left, headers);
    }
}

/// Header values are visible ASCII: what is not is percent-encoded.
fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    let value = HeaderValue::try_from(value).ok().or_else(|| {
        let encoded: String = value.bytes().fold(String::new(), |mut out, byte| {
            if byte.is_ascii_graphic() && byte != b'%' {
                out.push(char::from(byte));
            } else {
                out.push_str(&format!("%{byte:02X}"));
            }
            out
        });
        HeaderValue::try_from(encoded).ok()
    });
    if let Some(value) = value {
        headers.insert(name, value);
    }
}

/// The names, once each, within 4 KB; what does not fit is counted.
fn dropped_header(dropped: &[String]) -> String {
    let mut names: Vec<&str> = dropped.iter().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let mut out = String::new();
    for (index, name) in names.iter().enumerate() {
        if out.len() + name.len() > 4_000 {
            out.push_str(&format!(", and {} more", names.len() - index));
            break;
        }
        if index > 0 {
            out.push_str(", ");
        }
        out.push_str(name);
    }
    out
}

/// A whole answer.
pub(crate) fn full(mut flight: Box<Flight>, body: Bytes, dropped: &[String]) -> Response<Answer> {
    flight.record.bytes_out = body.len() as u64;
    let mut response = Response::new(Answer::full(body));
    *response.status_mut() = StatusCode::from_u16(flight.record.status).unwrap_or(StatusCode::OK);
    *response.headers_mut() = head(&flight, Content::Json, dropped);
    response
}

/// A refusal of ours.
pub(crate) fn refusal(mut flight: Box<Flight>, refusal: &Refusal) -> Response<Answer> {
    flight.refused(refusal);
    let id = flight.id();
    let failure = Failure {
        status: refusal.kind.status(),
        category: refusal.kind.category(),
        message: &refusal.message,
        code: Some(refusal.code.unwrap_or(refusal.kind.name())),
        param: refusal.param.as_deref(),
        attempts: &refusal.attempts,
        request_id: &id,
    };
    let dialect = flight.record.endpoint.dialect();
    let body = inbound(dialect).encode_failure(&failure);
    let mut response = full(flight, body.into(), &[]);
    retry_hint(response.headers_mut(), refusal.retry_after);
    error_type(response.headers_mut(), dialect, bedrock_error_type(refusal.kind.category()));
    response
}

/// The upstream's own error, because it is the request that must change: as it came where the client speaks the same
/// dialect and nothing else was tried, else in the client's words with every attempt.
pub(crate) fn fault(
    mut flight: Box<Flight>,
    failed: &Failed,
    fault: &Fault,
    theirs: Option<Dialect>,
) -> Response<Answer> {
    let ours = flight.record.endpoint.dialect();
    flight.record.status = if (400..600).contains(&fault.status) { fault.status } else { 502 };
    flight.record.outcome = Outcome::Fault(failed.cause);
    if theirs == Some(ours) && flight.record.attempts.len() == 1 && json::Raw::parse(&fault.body).is_ok() {
        let mut response = full(flight, fault.body.clone(), &[]);
        let own = fault.code.as_deref().unwrap_or(bedrock_error_type(fault.category));
        error_type(response.headers_mut(), ours, own);
        return response;
    }
    let id = flight.id();
    let attempts = std::mem::take(&mut flight.record.attempts);
    let failure = Failure {
        status: flight.record.status,
        category: fault.category,
        message: &fault.message,
        code: fault.code.as_deref().or(Some(failed.cause)),
        param: fault.param.as_deref(),
        attempts: &attempts,
        request_id: &id,
    };
    let body = inbound(ours).encode_failure(&failure);
    flight.record.attempts = attempts;
    let mut response = full(flight, body.into(), &[]);
    error_type(response.headers_mut(), ours, bedrock_error_type(fault.category));
    response
}

/// Clients of Amazon choose their exception by a header.
fn error_type(headers: &mut HeaderMap, dialect: Dialect, kind: &str) {
    if dialect == Dialect::BedrockConverse {
        set(headers, AMAZON_ERROR_TYPE, kind);
    }
}

fn retry_hint(headers: &mut HeaderMap, after: Option<Duration>) {
    if let Some(after) = after {
        // Whole seconds, rounded up: a client that comes a moment too early gains nothing.
        headers.insert(RETRY_AFTER, HeaderValue::from(after.as_millis().div_ceil(1000).max(1) as u64));
    }
}

/// An error in the middle of a stream.
pub(crate) fn failure_event(flight: &Flight, dialect: Dialect, failed: &Failed) -> Bytes {
    let kind = failed.kind().unwrap_or(RefusalKind::UpstreamFailed);
    let id = flight.id();
    let fault = failed.fault.as_ref();
    let failure = Failure {
        status: fault.map_or(kind.status(), |fault| fault.status),
        category: fault.map_or(kind.category(), |fault| fault.category),
        message: &failed.message,
        code: fault.and_then(|fault| fault.code.as_deref()).or(Some(failed.cause)),
        param: None,
        attempts: &[],
        request_id: &id,
    };
    inbound(dialect).encode_failure_event(&failure).into()
}

/// The answer to a request whose handling panicked.
pub(crate) fn panicked(worker: &Rc<Worker>, endpoint: Endpoint) -> Response<Answer> {
    let id = String::from_utf8_lossy(&record::hex(worker.random())).into_owned();
    let failure = Failure {
        status: 500,
        category: Category::Api,
        message: "an internal error ended this request; others are not affected",
        code: Some(RefusalKind::Internal.name()),
        param: None,
        attempts: &[],
        request_id: &id,
    };
    let mut response = Response::new(Answer::full(inbound(endpoint.dialect()).encode_failure(&failure)));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response.headers_mut().insert(CONTENT_TYPE, JSON.clone());
    error_type(response.headers_mut(), endpoint.dialect(), bedrock_error_type(Category::Api));
    response
}

/// An error for a request that is none of the pipeline's, in the shape of the SDK that the path is for.
pub(crate) fn plain(id: u128, path: &str, (status, message): (StatusCode, &str)) -> Response<Answer> {
    let id = record::hex(id);
    let id_text = String::from_utf8_lossy(&id);
    let dialect = dialect_of(path);
    let kind = match status.as_u16() {
        401 => RefusalKind::Unauthenticated,
        403 => RefusalKind::Forbidden,
        404 => RefusalKind::NotFound,
        408 => RefusalKind::ClientTimeout,
        413 => RefusalKind::TooLarge,
        503 => RefusalKind::Overloaded,
        500..=599 => RefusalKind::Internal,
        _ => RefusalKind::InvalidRequest,
    };
    let failure = Failure {
        status: status.as_u16(),
        category: kind.category(),
        message,
        code: Some(kind.name()),
        param: None,
        attempts: &[],
        request_id: &id_text,
    };
    let mut response = Response::new(Answer::full(inbound(dialect).encode_failure(&failure)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON.clone());
    error_type(response.headers_mut(), dialect, bedrock_error_type(kind.category()));
    if let Ok(id) = HeaderValue::from_bytes(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}
