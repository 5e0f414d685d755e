//! From requests that have ended to messages for the collector: a bounded queue, and one task that empties it.

use super::{collector::Collector, send::Export, spans::spans};
use crate::{metric, settings::Traces};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::InstrumentationScope,
    trace::v1::{ResourceSpans, ScopeSpans, Span},
};
use std::time::Duration;
use tokio::{sync::mpsc, task::JoinHandle};
use trestle_gateway::{FinishedRequest, Tracing};

/// Requests that may wait; each has some spans.
const QUEUE: usize = 2_048;
/// A message goes out with so many spans,
const SPANS: usize = 512;
/// or once the first has waited so long.
const WAIT: Duration = Duration::from_secs(5);
/// What is left at the end must be taken in this time.
const LAST: Duration = Duration::from_secs(5);

/// The task that sends spans.
pub(crate) struct Tracer {
    task: JoinHandle<()>,
}

impl Tracer {
    /// Starts it; what it sends comes through the sink. To be called inside of a Tokio runtime.
    pub(crate) fn start(collector: Collector, traces: &Traces) -> (Self, Tracing) {
        metric::spans_begin();
        let (requests, queue) = mpsc::channel::<FinishedRequest>(QUEUE);
        let wanted = traces.stages.clone();
        let sending = Sending { collector, queue };
        let task = tokio::spawn(sending.run(move |request: &FinishedRequest| spans(request, &wanted)));
        let sink = Box::new(move |request: FinishedRequest| {
            // Its own span and those of its calls, whatever else it would have had.
            let count = 1 + request.calls.len() as u64;
            if requests.try_send(request).is_err() {
                metric::spans_dropped("queue_full", count);
            }
        });
        (Self { task }, Tracing { sampling: traces.sampling, sink })
    }

    /// Sends what is left, once the sink is gone.
    pub(crate) async fn end(self) {
        let abort = self.task.abort_handle();
        if tokio::time::timeout(LAST, self.task).await.is_err() {
            tracing::warn!("the collector did not take the last spans in time");
            abort.abort();
        }
    }
}

struct Sending {
    collector: Collector,
    queue: mpsc::Receiver<FinishedRequest>,
}

impl Sending {
    /// Until the sink is gone and nothing is left.
    async fn run(mut self, spans: impl Fn(&FinishedRequest) -> Vec<Span>) {
        while let Some(first) = self.queue.recv().await {
            let mut batch = spans(&first);
            let end = tokio::time::sleep(WAIT);
            tokio::pin!(end);
            while batch.len() < SPANS {
                tokio::select! {
                    () = &mut end => break,
                    next = self.queue.recv() => match next {
                        Some(request) => batch.extend(spans(&request)),
                        None => break,
                    }
                }
            }
            self.send(batch).await;
        }
    }

    async fn send(&self, spans: Vec<Span>) {
        let count = spans.len() as u64;
        let scope = InstrumentationScope {
            name: "trestle".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..InstrumentationScope::default()
        };
        let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, ..ScopeSpans::default() }];
        let resource = Some(self.collector.resource());
        let resource_spans = vec![ResourceSpans { resource, scope_spans, ..ResourceSpans::default() }];
        let sent = self.collector.export(Export::Traces(ExportTraceServiceRequest { resource_spans })).await;
        match sent {
            None => metric::spans_dropped("not_taken", count),
            Some(taken) => {
                let rejected = taken.rejected.min(count);
                metric::spans_sent(count - rejected);
                if rejected > 0 {
                    metric::spans_dropped("rejected", rejected);
                    tracing::debug!(rejected, said = taken.said, "the collector does not take all spans");
                }
            }
        }
    }
}
