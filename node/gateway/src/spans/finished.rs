//! A request that has ended, described for whoever makes spans of it.

use super::{noted::NotedCall, sampling::Sampling, stages::Stage};
use crate::{Act, Endpoint, record::Record};
use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};
use trestle_config::{Caller, ProviderKind, TargetConfig};
use trestle_dialect::{Dialect, ir::Usage};
use trestle_provider::Operation;

/// A request that has ended. Times are from its begin on.
#[derive(Debug)]
pub struct FinishedRequest {
    /// Its trace.
    pub trace_id: u128,
    /// Its own span.
    pub span_id: u64,
    /// The span of whoever sent it, where that was said.
    pub parent: Option<u64>,
    /// `tracestate` as it came.
    pub state: Option<Box<str>>,
    /// It was decided at its begin, and told to those that were called.
    pub sampled: bool,
    /// When it began.
    pub at: SystemTime,
    /// How long it took.
    pub total: Duration,
    /// Our id of it.
    pub request_id: String,
    /// What was asked, in our word.
    pub endpoint: &'static str,
    /// The same in the word of the GenAI conventions, where they have one.
    pub operation: &'static str,
    /// The HTTP method, where the endpoint tells it.
    pub method: Option<&'static str>,
    /// Who asked.
    pub caller: Option<Arc<Caller>>,
    /// The model as the client named it.
    pub model: Box<str>,
    /// Who answered, or was tried last.
    pub target: Option<Arc<TargetConfig>>,
    /// The status that the client got.
    pub status: u16,
    /// How it ended: `ok`, `refused`, `fault`, `broken`, `cancelled` or `panic`.
    pub outcome: &'static str,
    /// Why, where it did not end well.
    pub cause: Option<&'static str>,
    /// It was streamed.
    pub stream: bool,
    /// To the first content of a stream.
    pub first: Option<Duration>,
    /// What all calls used.
    pub usage: Option<Usage>,
    /// What they cost.
    pub nano_usd: Option<u64>,
    /// The answer's own id.
    pub response_id: Option<Box<str>>,
    /// The model by the answer's own account.
    pub response_model: Option<Box<str>>,
    /// Why the answer ended.
    pub finish_reasons: Vec<Box<str>>,
    /// Stages that can be drawn as spans, each with its begin and its end.
    pub stages: Vec<(Stage, Duration, Duration)>,
    /// Calls of providers, in order.
    pub calls: Vec<FinishedCall>,
    /// Tries that did not come to an answer, in order: with a call or without one.
    pub failed: Vec<Skipped>,
}

/// A call of a provider.
#[derive(Debug)]
pub struct FinishedCall {
    /// Its span.
    pub span_id: u64,
    /// Who was called.
    pub target: Arc<TargetConfig>,
    /// When it was sent.
    pub begun: Duration,
    /// When the head of its answer was there.
    pub head: Option<Duration>,
    /// When it ended.
    pub ended: Duration,
    /// The provider's status; 0 without an answer.
    pub status: u16,
    /// Why it failed; none where it did not.
    pub cause: Option<&'static str>,
    /// What the provider reported.
    pub usage: Option<Usage>,
}

/// A try that did not come to an answer.
#[derive(Debug)]
pub struct Skipped {
    /// `provider/model`.
    pub target: Box<str>,
    /// Why.
    pub cause: &'static str,
    /// When that was known.
    pub at: Duration,
}

impl FinishedCall {
    /// Host and port of the provider.
    pub fn server(&self) -> Option<(&str, u16)> {
        match &self.target.provider.kind {
            ProviderKind::Remote(remote) => Some((&remote.origin().host, remote.origin().port)),
            ProviderKind::Mock(_) => None,
        }
    }
}

impl FinishedRequest {
    /// Of a record, where it is sampled, or ended so that it is told all the same.
    pub(crate) fn of(record: &Record, sampling: &Sampling) -> Option<Self> {
        let noted = record.noted.as_deref()?;
        if !noted.sampled && !sampling.tells(record.outcome) {
            return None;
        }
        let failed = record.attempts.iter().zip(&noted.failed);
        let failed = failed.map(|(attempt, at)| Skipped {
            target: attempt.target.clone(),
            cause: attempt.cause,
            at: *at,
        });
        Some(Self {
            trace_id: noted.trace_id,
            span_id: noted.span_id,
            parent: noted.parent,
            state: noted.state.clone(),
            sampled: noted.sampled,
            at: record.at,
            total: record.total,
            request_id: record.id_text(),
            endpoint: record.endpoint.name(),
            operation: operation(record.endpoint),
            method: method(record.endpoint),
            caller: record.caller.clone(),
            model: record.model.clone(),
            target: record.target.clone(),
            status: record.status,
            outcome: record.outcome.name(),
            cause: record.outcome.cause(),
            stream: record.stream,
            first: record.first,
            usage: record.usage,
            nano_usd: record.nano_usd,
            response_id: noted.id.clone(),
            response_model: noted.model.clone(),
            finish_reasons: noted.reasons.clone(),
            stages: stages(record),
            calls: noted.calls.iter().map(call).collect(),
            failed: failed.collect(),
        })
    }
}

fn call(call: &NotedCall) -> FinishedCall {
    FinishedCall {
        span_id: call.span_id,
        target: Arc::clone(&call.target),
        begun: call.begun,
        head: call.head,
        ended: call.ended,
        status: call.status,
        cause: call.cause,
        usage: call.usage,
    }
}

/// Those that lie in one piece; `attempt` is around the calls, which are drawn themselves.
fn stages(record: &Record) -> Vec<(Stage, Duration, Duration)> {
    let (marks, total) = (record.marks, record.total);
    let received = marks.received.unwrap_or(if marks.walked.is_some() { Duration::ZERO } else { total });
    let walked = marks.walked.unwrap_or(total);
    let answered = marks.answered.unwrap_or(total);
    let mut stages = vec![(Stage::Receive, Duration::ZERO, received)];
    if marks.received.or(marks.walked).is_some() {
        stages.push((Stage::Route, received, walked));
    }
    if marks.walked.is_some() {
        stages.push((Stage::Attempt, walked, answered));
    }
    if marks.answered.is_some() {
        stages.push((Stage::Relay, answered, total));
    }
    stages
}

fn operation(endpoint: Endpoint) -> &'static str {
    match endpoint {
        Endpoint::Generate(Dialect::Gemini) => "generate_content",
        Endpoint::Generate(_) => "chat",
        Endpoint::Embed(_) => "embeddings",
        Endpoint::Pass(Operation::Completions) => "text_completion",
        other => other.name(),
    }
}

fn method(endpoint: Endpoint) -> Option<&'static str> {
    match endpoint {
        Endpoint::Generate(_) | Endpoint::Embed(_) | Endpoint::Pass(_) => Some("POST"),
        Endpoint::Models(_) | Endpoint::Usage(_) | Endpoint::Realtime => Some("GET"),
        Endpoint::Stored(_, act) => Some(by_act(act)),
        Endpoint::Passthrough(_) => None,
    }
}

fn by_act(act: Act) -> &'static str {
    let method = act.method();
    ["GET", "DELETE"].into_iter().find(|known| method == *known).unwrap_or("POST")
}
