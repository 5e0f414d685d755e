//! What each call came to by the mock's own account: what it handed over, and what usage it reported.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::{Value, json};

/// Calls that an account is kept of.
const CALLS_MAX: usize = 200_000;

/// One call, as the mock has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// The model as it came, with the settings in its name.
    pub model: String,
    /// The status of the answer; 0 if there was none.
    pub status: u16,
    /// Content events of a stream that were handed over; the mock takes each for a token.
    pub events: u64,
    /// Bytes of the body that were handed over.
    pub bytes: u64,
    /// The last report of usage was handed over.
    pub reported: bool,
    /// All input tokens that were reported.
    pub input: u64,
    /// Of them, read from a cache.
    pub cached: u64,
    /// All output tokens that were reported.
    pub output: u64,
}

/// What a piece of a body tells, once it is handed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// Content events.
    pub(crate) events: u64,
    /// Input tokens, those of them from a cache, output tokens.
    pub(crate) usage: Option<(u64, u64, u64)>,
    /// Nothing will be reported behind it.
    pub(crate) last: bool,
}

impl Told {
    /// A whole answer.
    pub(crate) fn whole(text: &str) -> Self {
        Self { events: 0, usage: usage(text), last: true }
    }

    /// Adds what comes at once with it.
    pub(crate) fn add(&mut self, other: Self) {
        self.events += other.events;
        self.usage = other.usage.or(self.usage);
        self.last |= other.last;
    }
}

/// Usage in an answer or an event, whichever vendor's.
pub(crate) fn usage(text: &str) -> Option<(u64, u64, u64)> {
    if !text.contains("\"usage") {
        return None;
    }
    let root: Value = serde_json::from_str(text).ok()?;
    let places = ["/usage", "/message/usage", "/response/usage", "/usageMetadata"];
    let usage = places.iter().find_map(|place| root.pointer(place).filter(|usage| usage.is_object()))?;
    let number = |path: &str| usage.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let has = |name: &str| usage.get(name).is_some();
    Some(if has("promptTokenCount") {
        let output = number("/candidatesTokenCount") + number("/thoughtsTokenCount");
        (number("/promptTokenCount"), number("/cachedContentTokenCount"), output)
    } else if has("prompt_tokens") {
        let cached = number("/prompt_tokens_details/cached_tokens");
        (number("/prompt_tokens"), cached, number("/completion_tokens"))
    } else if has("cache_read_input_tokens") {
        // Anthropic has them beside each other.
        let cached = number("/cache_read_input_tokens");
        let input = number("/input_tokens") + cached + number("/cache_creation_input_tokens");
        (input, cached, number("/output_tokens"))
    } else {
        let cached = number("/input_tokens_details/cached_tokens");
        (number("/input_tokens"), cached, number("/output_tokens"))
    })
}

#[derive(Debug, Default)]
struct Calls {
    kept: Vec<Tally>,
    /// Of the first that is kept.
    first: usize,
    left_out: usize,
}

/// The account of all calls.
#[derive(Debug, Default)]
pub(crate) struct Tallies(Mutex<Calls>);

impl Tallies {
    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call has come.
    pub(crate) fn begin(self: &Arc<Self>, model: &str) -> Tallying {
        let mut calls = self.lock();
        let number = calls.first + calls.kept.len();
        if calls.kept.len() < CALLS_MAX {
            calls.kept.push(Tally { model: model.to_owned(), ..Tally::default() });
        } else {
            calls.left_out += 1;
        }
        Tallying { tallies: Arc::clone(self), number }
    }

    /// All calls since the last time that they were cleared.
    pub(crate) fn all(&self) -> Vec<Tally> {
        self.lock().kept.clone()
    }

    pub(crate) fn clear(&self) {
        let mut calls = self.lock();
        calls.first += calls.kept.len();
        calls.kept.clear();
        calls.left_out = 0;
    }

    pub(crate) fn to_json(&self) -> Value {
        let calls = self.lock();
        json!({ "calls": calls.kept, "left_out": calls.left_out })
    }
}

/// One call while it runs.
#[derive(Debug)]
pub(crate) struct Tallying {
    tallies: Arc<Tallies>,
    number: usize,
}

impl Tallying {
    fn change(&self, change: impl FnOnce(&mut Tally)) {
        let mut calls = self.tallies.lock();
        let at = self.number.checked_sub(calls.first);
        if let Some(tally) = at.and_then(|at| calls.kept.get_mut(at)) {
            change(tally);
        }
    }

    /// Its answer begins.
    pub(crate) fn answered(&self, status: u16) {
        self.change(|tally| tally.status = status);
    }

    /// A piece of its body is handed over.
    pub(crate) fn handed_over(&self, bytes: usize) {
        self.change(|tally| tally.bytes += bytes as u64);
    }

    /// What that piece tells.
    pub(crate) fn told(&self, told: &Told) {
        self.change(|tally| {
            tally.events += told.events;
            if let Some((input, cached, output)) = told.usage {
                (tally.input, tally.cached, tally.output) = (input, cached, output);
                tally.reported |= told.last;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_found_wherever_a_vendor_has_it() {
        let check = |text: &str, expected| assert_eq!(usage(text), expected, "{text}");
        check(r#"{"usage":null}"#, None);
        check(
            r#"{"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens":2}}"#,
            Some((9, 4, 2)),
        );
        check(
            r#"{"message":{"usage":{"input_tokens":5,"cache_read_input_tokens":4,"output_tokens":1}}}"#,
            Some((9, 4, 1)),
        );
        check(r#"{"response":{"usage":{"input_tokens":5,"output_tokens":1}}}"#, Some((5, 0, 1)));
        check(r#"{"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3}}"#, Some((5, 0, 3)));
    }

    #[test]
    fn what_was_cleared_is_not_changed_by_calls_that_run_still() {
        let tallies = Arc::new(Tallies::default());
        let old = tallies.begin("old");
        tallies.clear();
        let new = tallies.begin("new");
        old.answered(500);
        new.answered(200);
        new.told(&Told { events: 2, usage: Some((3, 0, 2)), last: true });
        new.handed_over(7);
        let expected = Tally {
            model: "new".into(),
            status: 200,
            events: 2,
            bytes: 7,
            reported: true,
            input: 3,
            cached: 0,
            output: 2,
        };
        assert_eq!(tallies.all(), [expected]);
    }
}
