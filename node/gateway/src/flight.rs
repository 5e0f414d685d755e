//! One request on its way: counted while it flies, settled exactly once when it is dropped, on every path.

use crate::{
    Endpoint,
    call::{Call, kind_of},
    headers::Headers,
    limits::{Account, Refused},
    metrics::{Gaps, Place},
    record::{Outcome, Record},
    spans::Noted,
    worker::Worker,
};
use std::{
    rc::Rc,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant, SystemTime},
};
use trestle_dialect::{
    Attempt, Refusal,
    ir::{self, Usage},
};

/// One request on its way.
pub(crate) struct Flight {
    /// Where it runs.
    pub(crate) worker: Rc<Worker>,
    /// When it began.
    pub(crate) started: Instant,
    /// What it did so far.
    pub(crate) record: Record,
    /// What it holds of limits.
    pub(crate) account: Account,
    /// The call of a provider that runs.
    pub(crate) call: Option<Call>,
    /// Where the last call was counted.
    pub(crate) counted: Option<Place>,
    gaps: Gaps,
    last_event: Option<Instant>,
}

impl Flight {
    /// A request that begins now. Boxed: it is handed on from stage to stage.
    pub(crate) fn begin(worker: &Rc<Worker>, endpoint: Endpoint) -> Box<Self> {
        worker.seat().in_flight.fetch_add(1, Relaxed);
        Box::new(Self {
            worker: Rc::clone(worker),
            started: Instant::now(),
            record: Record::new(worker.random(), endpoint, SystemTime::now()),
            account: Account::default(),
            call: None,
            counted: None,
            gaps: Gaps::default(),
            last_event: None,
        })
    }

    /// Joins the trace that the headers name, or begins one, where requests are traced.
    pub(crate) fn join_trace(&mut self, headers: &Headers) {
        if let Some(sampling) = &self.worker.shared.sampling {
            self.record.noted = Some(Noted::begin(sampling, headers, &self.worker));
        }
    }

    /// Whether it is known already that it will be told, so that it pays to look at its answer.
    pub(crate) fn is_sampled(&self) -> bool {
        self.record.noted.as_ref().is_some_and(|noted| noted.is_sampled())
    }

    /// Notes what a whole answer says of itself.
    pub(crate) fn response(&mut self, response: &ir::Response) {
        if let Some(noted) = &mut self.record.noted {
            noted.response(response);
        }
    }

    /// Notes what an event of a stream says of its answer.
    pub(crate) fn event(&mut self, event: &ir::Event) {
        if let Some(noted) = &mut self.record.noted {
            noted.event(event);
        }
    }

    /// All of the request was read.
    pub(crate) fn received(&mut self) {
        self.record.marks.received = Some(self.started.elapsed());
    }

    /// Its targets are tried from then on.
    pub(crate) fn walked(&mut self, at: Instant) {
        self.record.marks.walked.get_or_insert(at.duration_since(self.started));
    }

    /// Our id of the request, 32 hexadecimal digits.
    pub(crate) fn id(&self) -> String {
        self.record.id_text()
    }

    /// Notes a refusal of ours.
    pub(crate) fn refused(&mut self, refusal: &Refusal) {
        self.record.status = refusal.kind.status();
        self.record.outcome = Outcome::Refused(refusal.kind.name());
    }

    /// Counts that a limit has no room.
    pub(crate) fn limited(&self, refused: &Refused) {
        if let Some(reached) = refused.reached() {
            self.worker.seat().shard.limited(&reached.limit, "refused");
        }
    }

    /// Notes an attempt that did not lead to an answer.
    pub(crate) fn failed(&mut self, attempt: Attempt) {
        self.worker.seat().shard.attempt_failed(&self.record, attempt.cause);
        if let Some(noted) = &mut self.record.noted {
            noted.failed(self.started.elapsed());
        }
        self.record.attempts.push(attempt);
    }

    /// Notes content events that came at once: the first after a gap, the others after none.
    pub(crate) fn contents(&mut self, count: u32) {
        if count == 0 {
            return;
        }
        let now = Instant::now();
        match self.last_event.replace(now) {
            None => self.record.first = Some(now.duration_since(self.started)),
            Some(last) => self.gaps.add(now.duration_since(last), 1),
        }
        self.gaps.add(Duration::ZERO, count - 1);
        self.record.events += count;
    }

    /// Notes usage; what a later report leaves out stays as it was.
    pub(crate) fn usage(&mut self, usage: Usage) {
        self.call_usage(usage);
        self.record.usage = Some(self.record.usage.unwrap_or_default().merge(usage));
    }

    /// Notes usage that a stream reports on its way.
    pub(crate) fn usage_so_far(&mut self, usage: Usage) {
        self.call_usage_so_far(usage);
        self.record.usage = Some(self.record.usage.unwrap_or_default().merge(usage));
    }

    /// Notes usage on top of what was noted: each response of a session has its own.
    pub(crate) fn more_usage(&mut self, usage: Usage) {
        self.call_usage(self.record.usage.unwrap_or_default().plus(usage));
        self.record.usage = Some(self.record.usage.unwrap_or_default().plus(usage));
    }

    /// Ends the call that runs as the request ends, and settles its limits.
    pub(crate) fn close(&mut self) {
        let cause = match self.record.outcome {
            Outcome::Ok => None,
            outcome => Some(outcome.cause().unwrap_or(outcome.name())),
        };
        self.end_call(kind_of(self.record.outcome), cause);
        self.account.settle();
        if self.account.is_empty() {
            return;
        }
        for (limit, window, percent) in self.account.warnings(self.now_ms()) {
            if self.worker.at_hand().is_news(limit.id, window, percent) {
                self.worker.seat().shard.limited(limit, "warned");
                self.record.warnings.push((Arc::clone(limit), window, percent));
            }
        }
    }

    fn settle(&mut self) {
        if std::thread::panicking() {
            self.record.outcome = Outcome::Panic;
        }
        self.close();
        let seat = self.worker.seat();
        self.record.total = self.started.elapsed();
        let key_names = &self.worker.shared.key_names;
        seat.shard.settle(&self.record, &self.gaps, (key_names, self.counted.take()));
        let empty = Record::new(0, self.record.endpoint, self.record.at);
        // Boxed: it goes through a ring and lies among others for a while.
        let mut record = Box::new(std::mem::replace(&mut self.record, empty));
        record.account = std::mem::take(&mut self.account);
        self.worker.log(record);
        // Last, so that who sees that nothing flies sees all that was settled.
        seat.in_flight.fetch_sub(1, Relaxed);
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.settle();
    }
}
