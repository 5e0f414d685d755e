//! What the mock received: the last requests, whether the client left early, and how many are running.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use bytes::Bytes;
use serde_json::{Value, json};

use super::tally::Tallying;

/// Requests kept.
const KEPT_MAX: usize = 1_000;
/// Body bytes kept over all requests; the oldest go first.
const KEPT_BYTES_MAX: usize = 512 << 20;

/// One request as it came in.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// A number that grows by one with every request.
    pub id: u64,
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// `HTTP/1.1` or `HTTP/2.0`.
    pub version: String,
    /// Header names (lower case) and values, in order.
    pub headers: Vec<(String, String)>,
    /// The body's bytes.
    pub body: Bytes,
    /// The client left before the answer was complete.
    pub aborted: bool,
    /// The answer was handed over completely.
    pub done: bool,
}

impl Recorded {
    /// The first value of a header (name in lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "method": self.method,
            "path": self.path,
            "version": self.version,
            "headers": self.headers,
            "body": std::str::from_utf8(&self.body).ok(),
            "body_base64": base64::engine::general_purpose::STANDARD.encode(&self.body),
            "aborted": self.aborted,
            "done": self.done,
        })
    }
}

#[derive(Debug, Default)]
struct Journal {
    kept: VecDeque<Recorded>,
    kept_bytes: usize,
    next: u64,
    in_flight: usize,
}

/// The journal of requests.
#[derive(Debug, Default)]
pub(crate) struct Recorder(Mutex<Journal>);

impl Recorder {
    fn lock(&self) -> MutexGuard<'_, Journal> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a request (its id is set here) and counts it as running until the ticket is dropped.
    pub(crate) fn begin(self: &Arc<Self>, mut request: Recorded, tally: Tallying) -> Ticket {
        let mut journal = self.lock();
        let id = journal.next;
        request.id = id;
        journal.next += 1;
        journal.in_flight += 1;
        journal.kept_bytes += request.body.len();
        journal.kept.push_back(request);
        while journal.kept.len() > KEPT_MAX || journal.kept_bytes > KEPT_BYTES_MAX {
            let Some(oldest) = journal.kept.pop_front() else { break };
            journal.kept_bytes -= oldest.body.len();
        }
        Ticket { recorder: self.clone(), tally, id, done: false }
    }

    fn end(&self, ticket: &Ticket) {
        let mut journal = self.lock();
        journal.in_flight -= 1;
        if let Some(request) = journal.kept.iter_mut().rev().find(|request| request.id == ticket.id) {
            request.done = ticket.done;
            request.aborted = !ticket.done;
        }
    }

    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.lock().kept.iter().cloned().collect()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.lock().in_flight
    }

    pub(crate) fn clear(&self) {
        let mut journal = self.lock();
        journal.kept.clear();
        journal.kept_bytes = 0;
    }

    pub(crate) fn to_json(&self) -> Value {
        let journal = self.lock();
        let requests: Vec<_> = journal.kept.iter().map(Recorded::to_json).collect();
        json!({ "in_flight": journal.in_flight, "total": journal.next, "requests": requests })
    }
}

/// A running request. Dropped before [`Ticket::finish`] it counts as aborted by the client.
#[derive(Debug)]
pub(crate) struct Ticket {
    recorder: Arc<Recorder>,
    /// Its place in the account.
    pub(crate) tally: Tallying,
    id: u64,
    done: bool,
}

impl Ticket {
    /// The last byte of the answer was handed over.
    pub(crate) fn finish(&mut self) {
        self.done = true;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.recorder.end(self);
    }
}
