//! What the mock keeps for each API key, as a vendor keeps it for each account: another key does not find it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::vendor::Events;

/// Things kept over all keys; the oldest go first.
const KEPT_MAX: usize = 10_000;

/// One of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thing {
    /// What describes it.
    pub(crate) shown: Value,
    /// What it becomes when it is looked at next.
    pub(crate) next: Option<Value>,
    /// The bytes of a file, or the results of a batch.
    pub(crate) content: Vec<u8>,
    /// The items of an answer's input, and all of its conversation.
    pub(crate) items: Vec<Value>,
    pub(crate) conversation: Vec<Value>,
    /// An answer that may be told again as a stream.
    pub(crate) events: Option<Events>,
}

/// All of them, by key and id.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<VecDeque<(String, String, Thing)>>);

/// What one key finds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account<'a> {
    pub(crate) kept: &'a Kept,
    pub(crate) key: &'a str,
}

impl Account<'_> {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, String, Thing)>> {
        self.kept.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn put(&self, id: &str, thing: Thing) {
        let mut all = self.lock();
        all.retain(|(key, own, _)| (key.as_str(), own.as_str()) != (self.key, id));
        all.push_back((self.key.to_owned(), id.to_owned(), thing));
        if all.len() > KEPT_MAX {
            all.pop_front();
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<Thing> {
        let all = self.lock();
        all.iter().find(|(key, own, _)| key == self.key && own == id).map(|(_, _, thing)| thing.clone())
    }

    /// Looks at it: what was to come has come.
    pub(crate) fn look(&self, id: &str) -> Option<Thing> {
        let mut thing = self.get(id)?;
        if let Some(next) = thing.next.take() {
            thing.shown = next;
            self.put(id, thing.clone());
        }
        Some(thing)
    }

    pub(crate) fn remove(&self, id: &str) -> Option<Thing> {
        let mut all = self.lock();
        let at = all.iter().position(|(key, own, _)| key == self.key && own == id)?;
        all.remove(at).map(|(_, _, thing)| thing)
    }

    /// What describes those whose `object` or `type` is this, newest first.
    pub(crate) fn all(&self, kind: &str) -> Vec<Value> {
        let is = |thing: &Thing| {
            [thing.shown.get("object"), thing.shown.get("type")].contains(&Some(&kind.into()))
        };
        let all = self.lock();
        let own = all.iter().rev().filter(|(key, _, thing)| key == self.key && is(thing));
        own.map(|(_, _, thing)| thing.shown.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn another_key_finds_nothing() {
        let kept = Kept::default();
        let [one, two] = ["one", "two"].map(|key| Account { kept: &kept, key });
        one.put(
            "x",
            Thing {
                shown: json!({ "object": "a" }),
                next: Some(json!({ "object": "b" })),
                ..Thing::default()
            },
        );
        assert!(two.get("x").is_none() && two.remove("x").is_none() && two.all("a").is_empty());
        assert_eq!(one.all("a").len(), 1);
        assert_eq!(one.look("x").unwrap().shown, json!({ "object": "b" }));
        assert!(one.remove("x").is_some() && one.get("x").is_none());
    }
}
