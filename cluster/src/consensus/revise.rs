//! A change in effect: the entities as they become, the records of that, and what is forgotten in return.

use super::{
    apply::{ApplyError, Head, NAME_BYTES_MAX, ORIGIN_BYTES_MAX, Trees, digest},
    disk::VALUE_BYTES_MAX,
    record::{self, entity_key, revision_key},
    values::{self, PIECE_BYTES},
};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use trestle_proto::log;

/// Steps in one record of a revision: with the longest names it stays a small value.
const STEPS_MAX: usize = 32;
/// All of a step but the names: digests, numbers and tags.
const STEP_BYTES_MAX: usize = 112;
const _: () =
    assert!(STEPS_MAX * (NAME_BYTES_MAX + STEP_BYTES_MAX) + ORIGIN_BYTES_MAX + 128 < VALUE_BYTES_MAX);
/// Records that a revision removes beyond as many as it writes. So a large old revision goes bit by bit, and yet there is
/// an end to what is kept.
const FORGOTTEN_MORE: u32 = 32;

impl Trees<'_> {
    /// Makes a revision.
    pub(super) fn revise(&self, change: log::Change, head: &mut Head) -> Result<(), ApplyError> {
        head.revision += 1;
        let steps = change.writes.into_iter().map(|write| self.write(write, head.revision));
        let mut steps = steps.collect::<Result<Vec<_>, _>>()?;
        // To remove what is not there is no step.
        steps.retain(|step| !(step.before_sha256.is_empty() && step.after_sha256.is_empty()));
        let records = self.note(steps, change.origin, head)?;
        // Looking for a record after a revision's last one counts as well, so twice.
        self.forget(records.saturating_mul(2).saturating_add(FORGOTTEN_MORE), head)
    }

    fn write(&self, write: log::Write, revision: u64) -> Result<log::Step, ApplyError> {
        let log::Write { kind, id, introduced, value } = write;
        let key = entity_key(&kind, &id);
        let mut step = log::Step { kind, id, introduced, ..log::Step::default() };
        if let Some(before) = self.entities.get(&key)? {
            let before: log::Entity = record::read(&before)?;
            (step.before_revision, step.before_introduced) = (before.revision, before.introduced);
            step.before_sha256 = before.large_sha256;
            // A large one is kept already: what the entity referred to, the record refers to now.
            if step.before_sha256.is_empty() {
                step.before_sha256 = digest(&before.value);
                values::hold(self.values, &step.before_sha256, &before.value)?;
            }
        }
        let Some(value) = value else {
            self.entities.remove(&key[..])?;
            return Ok(step);
        };
        step.after_sha256 = digest(&value);
        let mut entity = log::Entity { revision, introduced, ..log::Entity::default() };
        if value.len() > PIECE_BYTES {
            values::hold(self.values, &step.after_sha256, &value)?;
            entity.large_sha256 = step.after_sha256.clone();
        } else {
            entity.value = value;
        }
        self.entities.insert(&key[..], record::write(&entity))?;
        Ok(step)
    }

    /// Records a revision; each record holds the digest of the one before. So many there are.
    fn note(&self, steps: Vec<log::Step>, origin: Bytes, head: &mut Head) -> Result<u32, ApplyError> {
        let mut steps = steps.into_iter().peekable();
        let mut origin = Some(origin);
        let mut part = 0;
        while part == 0 || steps.peek().is_some() {
            let revision = log::Revision {
                revision: head.revision,
                at_unix_ms: head.at_unix_ms,
                origin: origin.take().unwrap_or_default(),
                steps: steps.by_ref().take(STEPS_MAX).collect(),
                previous_sha256: Bytes::copy_from_slice(&head.sha256),
                part,
            };
            let value = record::write(&revision);
            head.sha256 = Sha256::digest(&value).into();
            self.revisions.insert(revision_key(head.revision, part), value)?;
            part += 1;
        }
        Ok(part)
    }

    /// Removes the oldest records beyond those that are kept, and what only they refer to; not more than so many.
    fn forget(&self, records_max: u32, head: &mut Head) -> Result<(), ApplyError> {
        for _ in 0..records_max {
            if head.oldest + self.revisions_kept > head.revision {
                break;
            }
            let Some(value) = self.revisions.remove(revision_key(head.oldest, head.oldest_part))? else {
                (head.oldest, head.oldest_part) = (head.oldest + 1, 0);
                continue;
            };
            head.oldest_part += 1;
            let revision: log::Revision = record::read(&value)?;
            for step in revision.steps.iter().filter(|step| !step.before_sha256.is_empty()) {
                values::release(self.values, &step.before_sha256)?;
            }
        }
        Ok(())
    }
}

impl Head {
    /// The first revision that is kept whole, or the next one if there is none.
    pub(super) fn first(&self) -> u64 {
        self.oldest.max(1) + u64::from(self.oldest_part > 0)
    }
}
