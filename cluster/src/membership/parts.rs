//! Messages that came in several datagrams, put together.

use super::seal::{Inside, SALT_BYTES};
use std::collections::HashMap;

/// Messages that wait for parts; about 5 MB at worst, and from peers only.
const WAITING_MAX: usize = 64;
const WAITS_MS: u64 = 5_000;

/// The sender and the counter of its first part.
type MessageId = ([u8; SALT_BYTES], u64);

/// Messages of which parts are still to come.
#[derive(Default)]
pub(super) struct Parts {
    waiting: HashMap<MessageId, Waiting>,
}

struct Waiting {
    since_ms: u64,
    left: usize,
    parts: Vec<Option<Vec<u8>>>,
}

impl Parts {
    /// The message, if this was the last part of it that was missing. No part comes here twice.
    pub(super) fn add(
        &mut self,
        salt: [u8; SALT_BYTES],
        counter: u64,
        inside: &Inside<'_>,
        unix_ms: u64,
    ) -> Option<Vec<u8>> {
        if inside.parts == 1 {
            return Some(inside.bytes.to_vec());
        }
        let id = (salt, counter.checked_sub(u64::from(inside.part))?);
        if !self.waiting.contains_key(&id) {
            self.make_room(unix_ms);
        }
        let parts = usize::from(inside.parts);
        let waiting = self.waiting.entry(id).or_insert_with(|| Waiting {
            since_ms: unix_ms,
            left: parts,
            parts: vec![None; parts],
        });
        let place = waiting.parts.get_mut(usize::from(inside.part))?;
        if place.replace(inside.bytes.to_vec()).is_none() {
            waiting.left -= 1;
        }
        if waiting.left > 0 {
            return None;
        }
        let whole = self.waiting.remove(&id)?;
        Some(whole.parts.into_iter().flatten().flatten().collect())
    }

    /// Drops what waits for too long, and the oldest if there are too many.
    fn make_room(&mut self, unix_ms: u64) {
        self.waiting.retain(|_, waiting| unix_ms.abs_diff(waiting.since_ms) < WAITS_MS);
        if self.waiting.len() >= WAITING_MAX {
            let oldest = self.waiting.iter().min_by_key(|(_, waiting)| waiting.since_ms).map(|(id, _)| *id);
            oldest.map(|id| self.waiting.remove(&id));
        }
    }
}
