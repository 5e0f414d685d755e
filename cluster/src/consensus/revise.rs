//! A change in effect: the entities as they become, the records of that, and what is forgotten in return.

use super::{
    apply::{ApplyError, Budget, Head, NAME_BYTES_MAX, ORIGIN_BYTES_MAX, Trees, digest},
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

/// So many records may be removed for a revision that has so many. Looking for a record after a revision's last one counts
/// as well, so it is twice as many.
pub(super) fn forgotten_max(records: u32) -> u32 {
    records.saturating_mul(2).saturating_add(FORGOTTEN_MORE)
}

impl Trees<'_> {
    /// Goes on with the writes of a revision: so many are done, and so many of its records written. Whether all are.
    pub(super) fn write_on(
        &self,
        change: &log::Change,
        (done, part): (&mut usize, &mut u32),
        head: &mut Head,
        budget: &mut Budget,
    ) -> Result<bool, ApplyError> {
        let begun = self.revisions.get(revision_key(head.revision, *part))?;
        let begun = begun.map(|value| record::read::<log::Revision>(&value)).transpose()?;
        let mut steps = begun.unwrap_or_default().steps;
        while let Some(write) = change.writes.get(*done) {
            if steps.len() == STEPS_MAX {
                head.sha256 = self.note(change, *part, head, std::mem::take(&mut steps))?;
                *part += 1;
            }
            if budget.is_spent() {
                // The record that is begun waits in its place for the steps that come.
                if !steps.is_empty() {
                    self.note(change, *part, head, steps)?;
                }
                return Ok(false);
            }
            let step = self.write(write, head.revision, budget)?;
            *done += 1;
            // To remove what is not there is no step.
            if !(step.before_sha256.is_empty() && step.after_sha256.is_empty()) {
                steps.push(step);
            }
        }
        if *part == 0 || !steps.is_empty() {
            head.sha256 = self.note(change, *part, head, steps)?;
            *part += 1;
        }
        Ok(true)
    }

    fn write(&self, write: &log::Write, revision: u64, budget: &mut Budget) -> Result<log::Step, ApplyError> {
        let log::Write { kind, id, introduced, value } = write;
        let key = entity_key(kind, id);
        let mut step =
            log::Step { kind: kind.clone(), id: id.clone(), introduced: *introduced, ..log::Step::default() };
        budget.spend(value.as_ref().map_or(0, Bytes::len));
        if let Some(before) = self.entities.get(&key)? {
            let before: log::Entity = record::read(&before)?;
            (step.before_revision, step.before_introduced) = (before.revision, before.introduced);
            step.before_sha256 = before.large_sha256;
            // A large one is kept already: what the entity referred to, the record refers to now.
            if step.before_sha256.is_empty() {
                step.before_sha256 = digest(&before.value);
                budget.spend(before.value.len());
                values::hold(self.values, &step.before_sha256, &before.value)?;
            }
        }
        let Some(value) = value else {
            self.entities.remove(&key[..])?;
            return Ok(step);
        };
        step.after_sha256 = digest(value);
        let mut entity = log::Entity { revision, introduced: *introduced, ..log::Entity::default() };
        if value.len() > PIECE_BYTES {
            values::hold(self.values, &step.after_sha256, value)?;
            entity.large_sha256 = step.after_sha256.clone();
        } else {
            entity.value = value.clone();
        }
        self.entities.insert(&key[..], record::write(&entity))?;
        Ok(step)
    }

    /// Writes a record of a revision; it holds the digest of the one before. Its own digest.
    fn note(
        &self,
        change: &log::Change,
        part: u32,
        head: &Head,
        steps: Vec<log::Step>,
    ) -> Result<[u8; 32], ApplyError> {
        let revision = log::Revision {
            revision: head.revision,
            at_unix_ms: head.at_unix_ms,
            origin: if part == 0 { change.origin.clone() } else { Bytes::new() },
            steps,
            previous_sha256: Bytes::copy_from_slice(&head.sha256),
            part,
        };
        let value = record::write(&revision);
        let sha256 = Sha256::digest(&value).into();
        self.revisions.insert(revision_key(head.revision, part), value)?;
        Ok(sha256)
    }

    /// Goes on removing the oldest records beyond those that are kept, and what only they refer to; not more than so many.
    /// Whether that is done.
    pub(super) fn forget_on(
        &self,
        records: &mut u32,
        head: &mut Head,
        budget: &mut Budget,
    ) -> Result<bool, ApplyError> {
        while *records > 0 && head.oldest + self.revisions_kept <= head.revision {
            if budget.is_spent() {
                return Ok(false);
            }
            *records -= 1;
            let Some(value) = self.revisions.remove(revision_key(head.oldest, head.oldest_part))? else {
                (head.oldest, head.oldest_part) = (head.oldest + 1, 0);
                budget.spend(0);
                continue;
            };
            head.oldest_part += 1;
            budget.spend(value.len());
            let revision: log::Revision = record::read(&value)?;
            for step in revision.steps.iter().filter(|step| !step.before_sha256.is_empty()) {
                values::release(self.values, &step.before_sha256, budget)?;
            }
        }
        Ok(true)
    }
}

impl Head {
    /// The first revision that is kept whole, or the next one if there is none.
    pub(super) fn first(&self) -> u64 {
        self.oldest.max(1) + u64::from(self.oldest_part > 0)
    }
}
