//! What is noted of a request on its way, where requests are traced.

use super::{context, sampling::Sampling};
use crate::{call::Ending, headers::Headers, worker::Worker};
use http::{HeaderMap, HeaderName, HeaderValue};
use std::{sync::Arc, time::Duration};
use trestle_config::TargetConfig;
use trestle_dialect::ir::{self, Event, StopReason, Usage};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
/// Of what a vendor says, no more is kept.
const WORD_MAX: usize = 256;
/// Calls that one request notes, the last ones.
const CALLS_MAX: usize = 128;

/// A request's place in its trace, and what it did there.
#[derive(Debug)]
pub(crate) struct Noted {
    pub(crate) trace_id: u128,
    pub(crate) span_id: u64,
    pub(super) parent: Option<u64>,
    pub(super) state: Option<Box<str>>,
    /// It was decided at its begin.
    pub(super) sampled: bool,
    pub(super) calls: Vec<NotedCall>,
    /// When tries failed, as many as the record has.
    pub(super) failed: Vec<Duration>,
    pub(super) id: Option<Box<str>>,
    pub(super) model: Option<Box<str>>,
    pub(super) reasons: Vec<Box<str>>,
}

/// A call of a provider.
#[derive(Debug)]
pub(super) struct NotedCall {
    pub(super) span_id: u64,
    pub(super) target: Arc<TargetConfig>,
    pub(super) begun: Duration,
    pub(super) head: Option<Duration>,
    pub(super) ended: Duration,
    pub(super) status: u16,
    pub(super) cause: Option<&'static str>,
    pub(super) usage: Option<Usage>,
}

impl Noted {
    /// A request that begins. What it says of its trace is read; without that it begins one.
    pub(crate) fn begin(sampling: &Sampling, headers: &Headers, worker: &Worker) -> Box<Self> {
        let parent = context::parent(headers);
        let state = parent.and_then(|_| context::state(headers));
        let trace_id = parent.map_or_else(|| worker.random().max(1), |parent| parent.trace_id);
        Box::new(Self {
            trace_id,
            span_id: span_id(worker),
            parent: parent.map(|parent| parent.span_id),
            state,
            sampled: sampling.decide(trace_id, parent.as_ref()),
            calls: Vec::new(),
            failed: Vec::new(),
            id: None,
            model: None,
            reasons: Vec::new(),
        })
    }

    /// Whether it is known already that it will be told, so that it pays to look at its answer.
    pub(crate) fn is_sampled(&self) -> bool {
        self.sampled
    }

    /// A call begins.
    pub(crate) fn call(&mut self, target: &Arc<TargetConfig>, begun: Duration, worker: &Worker) {
        if self.calls.len() == CALLS_MAX {
            self.calls.remove(0);
        }
        let (target, span_id) = (Arc::clone(target), span_id(worker));
        let (head, ended, status, cause, usage) = (None, begun, 0, None, None);
        self.calls.push(NotedCall { span_id, target, begun, head, ended, status, cause, usage });
    }

    /// Its head is there.
    pub(crate) fn answered(&mut self, at: Duration) {
        if let Some(call) = self.calls.last_mut() {
            call.head = Some(at);
        }
    }

    /// It ends.
    pub(crate) fn ended(&mut self, at: Duration, ending: &Ending) {
        if let Some(call) = self.calls.last_mut() {
            (call.ended, call.status) = (at, ending.status);
            (call.cause, call.usage) = (ending.cause, ending.usage);
        }
    }

    /// A try failed, with a call or without.
    pub(crate) fn failed(&mut self, at: Duration) {
        self.failed.push(at);
    }

    /// Tells the provider of the call that runs where it is called from.
    pub(crate) fn write(&self, headers: &mut HeaderMap) {
        let span_id = self.calls.last().map_or(self.span_id, |call| call.span_id);
        let parent = context::traceparent((self.trace_id, span_id), self.sampled);
        // Those of the client were from elsewhere.
        headers.remove(&TRACEPARENT);
        headers.remove(&TRACESTATE);
        headers.extend(HeaderValue::try_from(parent).ok().map(|value| (TRACEPARENT, value)));
        let state = self.state.as_deref().and_then(|state| HeaderValue::from_str(state).ok());
        headers.extend(state.map(|value| (TRACESTATE, value)));
    }

    /// Notes what a whole answer says of itself.
    pub(crate) fn response(&mut self, response: &ir::Response) {
        self.is(&response.id.plain(), &response.model.plain());
        self.stopped(&response.stop);
    }

    /// Notes what an event of a stream says of it.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::Start { id, model, .. } => self.is(&id.plain(), &model.plain()),
            Event::Stop { reason, .. } => self.stopped(reason),
            _ => {}
        }
    }

    fn is(&mut self, id: &str, model: &str) {
        let word = |text: &str| (!text.is_empty()).then(|| text.chars().take(WORD_MAX).collect());
        (self.id, self.model) = (word(id), word(model));
    }

    fn stopped(&mut self, reason: &StopReason) {
        let word = match reason {
            StopReason::EndTurn | StopReason::StopSequence => "stop",
            StopReason::MaxTokens => "length",
            StopReason::ToolUse => "tool_calls",
            StopReason::ContentFilter => "content_filter",
            StopReason::Refusal => "refusal",
            StopReason::Pause => "pause_turn",
            StopReason::Other(word) => &word.plain(),
        };
        self.reasons = vec![word.chars().take(WORD_MAX).collect()];
    }
}

/// Never 0.
fn span_id(worker: &Worker) -> u64 {
    ((worker.random() >> 64) as u64).max(1)
}
