//! One try to give the collector a message, over gRPC or HTTP, and what its answer means by the rules of OTLP.

use super::connect::{Connector, authority};
use crate::settings::{Otlp, Protocol};
use http::{HeaderMap, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use opentelemetry_proto::tonic::collector::{
    metrics::v1::{
        ExportMetricsServiceRequest, ExportMetricsServiceResponse,
        metrics_service_client::MetricsServiceClient,
    },
    trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse, trace_service_client::TraceServiceClient,
    },
};
use prost::Message;
use std::time::{Duration, SystemTime};
use tonic::{
    Code, Status,
    metadata::MetadataMap,
    transport::{Channel, Endpoint},
};
use tonic_types::StatusExt;
use tower::service_fn;

/// Answers are small; of a larger one the rest is not read.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Of what a collector says no more is told.
const SAID_MAX: usize = 200;
/// Finds out that a collector is gone without a word.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// A message for the collector.
#[derive(Debug, Clone)]
pub(crate) enum Export {
    /// Spans.
    Traces(ExportTraceServiceRequest),
    /// Metrics.
    Metrics(ExportMetricsServiceRequest),
}

impl Export {
    /// The word for its kind, in logs and labels.
    pub(crate) fn signal(&self) -> &'static str {
        match self {
            Self::Traces(_) => "traces",
            Self::Metrics(_) => "metrics",
        }
    }

    fn encode(&self) -> Vec<u8> {
        match self {
            Self::Traces(request) => request.encode_to_vec(),
            Self::Metrics(request) => request.encode_to_vec(),
        }
    }
}

/// What a collector took.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// So many spans or points it would not have.
    pub(crate) rejected: u64,
    /// What it says of that.
    pub(crate) said: String,
}

impl Taken {
    fn new(rejected: i64, said: &str) -> Self {
        Self { rejected: u64::try_from(rejected).unwrap_or(0), said: excerpt(said) }
    }

    fn of_traces(answer: ExportTraceServiceResponse) -> Self {
        let partial = answer.partial_success;
        partial.map(|partial| Self::new(partial.rejected_spans, &partial.error_message)).unwrap_or_default()
    }

    fn of_metrics(answer: ExportMetricsServiceResponse) -> Self {
        let partial = answer.partial_success;
        let taken = partial.map(|partial| Self::new(partial.rejected_data_points, &partial.error_message));
        taken.unwrap_or_default()
    }
}

/// A try that failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) why: String,
    pub(super) next: Next,
}

/// Whether the same message may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Never,
    Later,
    /// Not before.
    After(Duration),
}

/// How the collector is reached.
#[derive(Clone)]
pub(super) enum Route {
    Grpc(Channel),
    Http(Connector, Uri),
}

impl Route {
    /// Connects on first use. To be called inside of a Tokio runtime.
    pub(super) fn new(settings: &Otlp) -> anyhow::Result<Self> {
        let connector = Connector::new(settings)?;
        if settings.protocol == Protocol::Http {
            return Ok(Self::Http(connector, settings.endpoint.clone()));
        }
        let endpoint = Endpoint::from(settings.endpoint.clone())
            .user_agent(concat!("trestle/", env!("CARGO_PKG_VERSION")))?
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE);
        let connect = service_fn(move |_: Uri| connector.clone().connect());
        Ok(Self::Grpc(endpoint.connect_with_connector_lazy(connect)))
    }

    /// One try.
    pub(super) async fn send(&self, export: &Export, headers: HeaderMap) -> Result<Taken, Failure> {
        match self {
            Self::Grpc(channel) => grpc(channel.clone(), export.clone(), headers).await,
            Self::Http(connector, endpoint) => http(connector.clone(), endpoint, (export, headers)).await,
        }
    }
}

async fn grpc(channel: Channel, export: Export, headers: HeaderMap) -> Result<Taken, Failure> {
    let headers = MetadataMap::from_headers(headers);
    let answered = match export {
        Export::Traces(message) => {
            let request = tonic::Request::from_parts(headers, http::Extensions::new(), message);
            let answer = TraceServiceClient::new(channel).export(request).await;
            answer.map(|answer| Taken::of_traces(answer.into_inner()))
        }
        Export::Metrics(message) => {
            let request = tonic::Request::from_parts(headers, http::Extensions::new(), message);
            let answer = MetricsServiceClient::new(channel).export(request).await;
            answer.map(|answer| Taken::of_metrics(answer.into_inner()))
        }
    };
    answered.map_err(|status| refused(&status))
}

fn refused(status: &Status) -> Failure {
    let wait = status.get_details_retry_info().and_then(|info| info.retry_delay);
    let next = match (status.code(), wait) {
        (Code::ResourceExhausted | Code::Unavailable, Some(wait)) => Next::After(wait),
        (
            Code::Cancelled
            | Code::DeadlineExceeded
            | Code::Aborted
            | Code::OutOfRange
            | Code::Unavailable
            | Code::DataLoss,
            _,
        ) => Next::Later,
        _ => Next::Never,
    };
    let mut why = format!("{:?}: {}", status.code(), excerpt(status.message()));
    let mut source = std::error::Error::source(status);
    while let Some(cause) = source {
        why.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    Failure { why, next }
}

/// A connection for each message: there is one in seconds, and none that the collector closed meanwhile is used.
async fn http(
    connector: Connector,
    endpoint: &Uri,
    (export, mut headers): (&Export, HeaderMap),
) -> Result<Taken, Failure> {
    let later = |why: String| Failure { why, next: Next::Later };
    let path = format!("{}/v1/{}", endpoint.path().trim_end_matches('/'), export.signal());
    let request =
        Request::builder().method(Method::POST).uri(path).body(Full::<Bytes>::from(export.encode()));
    let mut request = request.map_err(|error| Failure { why: error.to_string(), next: Next::Never })?;
    let host = authority(endpoint).parse();
    headers.insert(header::HOST, host.unwrap_or(http::HeaderValue::from_static("collector")));
    headers.insert(header::CONTENT_TYPE, http::HeaderValue::from_static("application/x-protobuf"));
    let agent = concat!("trestle/", env!("CARGO_PKG_VERSION"));
    headers.insert(header::USER_AGENT, http::HeaderValue::from_static(agent));
    *request.headers_mut() = headers;

    let stream = connector.connect().await.map_err(|error| later(format!("cannot connect: {error}")))?;
    let handshake = hyper::client::conn::http1::handshake(stream).await;
    let (mut sender, connection) = handshake.map_err(|error| later(error.to_string()))?;
    let exchange = async move {
        let answer = sender.send_request(request).await?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
        Ok::<_, hyper::Error>((head, body.map(|body| body.to_bytes()).unwrap_or_default()))
    };
    tokio::pin!(exchange, connection);
    let (head, body) = tokio::select! {
        answered = &mut exchange => answered.map_err(|error| later(error.to_string()))?,
        _ = &mut connection => exchange.await.map_err(|error| later(error.to_string()))?,
    };
    if !head.status.is_success() {
        return Err(answered(head.status, &head.headers, &body));
    }
    Ok(match export {
        // An answer that is none of ours was a success all the same.
        Export::Traces(_) => Taken::of_traces(ExportTraceServiceResponse::decode(body).unwrap_or_default()),
        Export::Metrics(_) => {
            Taken::of_metrics(ExportMetricsServiceResponse::decode(body).unwrap_or_default())
        }
    })
}

fn answered(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failure {
    let wait = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()).and_then(retry_after);
    let next = match (status.as_u16(), wait) {
        (429 | 502 | 503 | 504, Some(wait)) => Next::After(wait),
        (429 | 502 | 503 | 504, None) => Next::Later,
        _ => Next::Never,
    };
    // Errors are a `google.rpc.Status`, or the words of whatever stands in front of the collector.
    let said = match tonic_types::pb::Status::decode(body) {
        Ok(status) if !status.message.is_empty() => status.message,
        _ => String::from_utf8_lossy(body).into_owned(),
    };
    Failure { why: format!("HTTP {}: {}", status.as_u16(), excerpt(&said)), next }
}

/// Seconds or a date.
fn retry_after(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = httpdate::parse_http_date(text).ok()?;
    Some(at.duration_since(SystemTime::now()).unwrap_or_default())
}

fn excerpt(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(SAID_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic_types::ErrorDetails;

    #[test]
    fn grpc_is_tried_again_where_otlp_says_so() {
        let check = |status: Status, next: Next| assert_eq!(refused(&status).next, next, "{status:?}");
        check(Status::unavailable(""), Next::Later);
        check(Status::deadline_exceeded(""), Next::Later);
        check(Status::invalid_argument(""), Next::Never);
        check(Status::unauthenticated(""), Next::Never);
        check(Status::resource_exhausted(""), Next::Never);
        let wait = Duration::from_secs(7);
        let details = || ErrorDetails::with_retry_info(Some(wait));
        check(Status::with_error_details(Code::ResourceExhausted, "", details()), Next::After(wait));
        check(Status::with_error_details(Code::Unavailable, "", details()), Next::After(wait));
        check(Status::with_error_details(Code::Internal, "", details()), Next::Never);
    }

    #[test]
    fn http_is_tried_again_where_otlp_says_so() {
        let check = |status: u16, after: Option<&str>, next: Next| {
            let mut headers = HeaderMap::new();
            if let Some(after) = after {
                headers.insert(header::RETRY_AFTER, after.parse().unwrap());
            }
            let failure = answered(StatusCode::from_u16(status).unwrap(), &headers, b"\x08\x0d\x12\x03bad");
            assert_eq!((failure.next, failure.why), (next, format!("HTTP {status}: bad")));
        };
        check(503, None, Next::Later);
        check(429, Some("3"), Next::After(Duration::from_secs(3)));
        check(502, Some("soon"), Next::Later);
        check(504, Some("Mon, 01 Jan 2001 00:00:00 GMT"), Next::After(Duration::ZERO));
        check(400, Some("3"), Next::Never);
        check(500, None, Next::Never);
    }
}
