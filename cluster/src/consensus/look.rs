//! How others look at the entities and at what they were. Each look sees one state.

use super::{
    apply::Head,
    disk::{Disk, DiskError},
    handle::Consensus,
    record::{self, Changed, Entity, RecordError, Revision, Step, entity_key, revision_key},
    values,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};
use trestle_proto::log;

/// The data cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the entities cannot be read: {0}")]
pub struct ReadError(#[from] DiskError);

impl Consensus {
    /// The last revision that is in effect here.
    pub fn revision(&self) -> u64 {
        *self.revisions().borrow()
    }

    /// All entities and the revision that they are of.
    pub fn entities(&self) -> Result<(u64, Vec<Entity>), ReadError> {
        let mut all = Vec::new();
        let revision = self.visit(|entity| all.push(entity))?;
        Ok((revision, all))
    }

    /// Visits all entities in order of kind and id, without holding them all in memory; the revision that they are of.
    /// Changes wait until it is over, so the visitor must not.
    pub fn visit(&self, mut visit: impl FnMut(Entity)) -> Result<u64, ReadError> {
        self.look(|view| {
            view.disk.walk(&view.disk.entities, |key, value| {
                visit(view.read(key, value)?);
                Ok(())
            })?;
            Ok(view.head.revision)
        })
    }

    /// One entity.
    pub fn entity(&self, kind: &str, id: &str) -> Result<Option<Entity>, ReadError> {
        self.look(|view| view.entity(kind, id))
    }

    /// At most so many entities of a kind in order of id, from the first or from the one after `after`; and the revision
    /// that they are of.
    pub fn page(
        &self,
        kind: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(u64, Vec<Entity>), ReadError> {
        let prefix = entity_key(kind, "");
        let from = entity_key(kind, after.unwrap_or_default());
        self.look(|view| {
            let range = view.disk.entities.range::<&[u8], _>((Bound::Excluded(&from[..]), Bound::Unbounded));
            let mut page = Vec::new();
            for pair in range.take(limit) {
                let (key, value) = pair?;
                if !key.starts_with(&prefix) {
                    break;
                }
                page.push(view.read(&key, &value)?);
            }
            Ok((view.head.revision, page))
        })
    }

    /// The last revision, and the entities that changed after another one, in order of kind and id. `None` if the records
    /// do not reach back so far, or there is no such revision yet.
    pub fn changed_since(&self, revision: u64) -> Result<Option<(u64, Vec<Changed>)>, ReadError> {
        self.look(|view| {
            let Some(after) = view.after(revision) else { return Ok(None) };
            let mut names = BTreeSet::new();
            for revision in after {
                view.steps(revision, |step| {
                    names.insert((step.kind, step.id));
                })?;
            }
            let changed = names.into_iter().map(|(kind, id)| {
                let now = view.entity(&kind, &id)?;
                Ok(Changed { kind, id, now })
            });
            Ok(Some((view.head.revision, changed.collect::<Result<_, DiskError>>()?)))
        })
    }

    /// The entities as they were at a revision, in order of kind and id. `None` if the records do not reach back so far, or
    /// there is no such revision yet.
    pub fn entities_at(&self, revision: u64) -> Result<Option<Vec<Entity>>, ReadError> {
        self.look(|view| {
            let Some(after) = view.after(revision) else { return Ok(None) };
            // What the first step after it found is what was there.
            let mut found = BTreeMap::new();
            for revision in after {
                view.steps(revision, |step| {
                    found.entry((step.kind.clone(), step.id.clone())).or_insert(step);
                })?;
            }
            let mut all = Vec::new();
            view.disk.walk(&view.disk.entities, |key, value| {
                if !found.contains_key(&names(key)) {
                    all.push(view.read(key, value)?);
                }
                Ok(())
            })?;
            for ((kind, id), step) in found {
                if let Some(value) = view.before(&step)? {
                    let (revision, introduced) = (step.before_revision, step.before_introduced);
                    all.push(Entity { kind, id, revision, introduced, value });
                }
            }
            all.sort_unstable_by(|one, other| (&one.kind, &one.id).cmp(&(&other.kind, &other.id)));
            Ok(Some(all))
        })
    }

    /// Revisions before one, or the last ones; the newest first, at most so many.
    pub fn history(&self, before: Option<u64>, limit: usize) -> Result<Vec<Revision>, ReadError> {
        self.look(|view| {
            let end = before.unwrap_or(u64::MAX).min(view.head.revision.saturating_add(1));
            let revisions = (view.head.first()..end).rev().take(limit);
            revisions.map(|revision| view.revision(revision)).collect()
        })
    }

    /// One revision, if its records are kept.
    pub fn record(&self, revision: u64) -> Result<Option<Revision>, ReadError> {
        self.look(|view| {
            let kept = (view.head.first()..=view.head.revision).contains(&revision);
            kept.then(|| view.revision(revision)).transpose()
        })
    }

    /// The head of the chain: the last revision, and the SHA-256 of its last record (zeros if there is none).
    pub fn head(&self) -> Result<(u64, [u8; 32]), ReadError> {
        self.look(|view| Ok((view.head.revision, view.head.sha256)))
    }

    fn look<T>(&self, look: impl FnOnce(View<'_>) -> Result<T, DiskError>) -> Result<T, ReadError> {
        self.machine.look(|disk, head| look(View { disk, head })).map_err(ReadError)
    }
}

/// One state.
struct View<'a> {
    disk: &'a Disk,
    head: &'a Head,
}

impl View<'_> {
    fn entity(&self, kind: &str, id: &str) -> Result<Option<Entity>, DiskError> {
        let key = entity_key(kind, id);
        self.disk.entities.get(&key)?.map(|value| self.read(&key, &value)).transpose()
    }

    fn read(&self, key: &[u8], value: &[u8]) -> Result<Entity, DiskError> {
        let log::Entity { revision, introduced, value, large_sha256 } = record::read(value)?;
        let value = match large_sha256.is_empty() {
            true => value,
            false => values::read(&self.disk.values, &large_sha256)?,
        };
        let (kind, id) = names(key);
        Ok(Entity { kind, id, revision, introduced, value: value.into() })
    }

    /// The revisions after one, if all of them are kept and there was that one.
    fn after(&self, revision: u64) -> Option<std::ops::RangeInclusive<u64>> {
        let known = revision <= self.head.revision && revision.saturating_add(1) >= self.head.first();
        known.then(|| revision.saturating_add(1)..=self.head.revision)
    }

    /// The records of a revision, each also as it is on the disk.
    fn records(&self, revision: u64) -> impl Iterator<Item = Result<(sled::IVec, log::Revision), DiskError>> {
        self.disk.revisions.scan_prefix(revision.to_be_bytes()).values().map(|value| {
            let value = value?;
            let record = record::read(&value)?;
            Ok((value, record))
        })
    }

    fn steps(&self, revision: u64, mut visit: impl FnMut(log::Step)) -> Result<(), DiskError> {
        for record in self.records(revision) {
            record?.1.steps.into_iter().for_each(&mut visit);
        }
        Ok(())
    }

    fn revision(&self, revision: u64) -> Result<Revision, DiskError> {
        let first = self.disk.revisions.get(revision_key(revision, 0))?.ok_or(RecordError::Gone)?;
        let log::Revision { at_unix_ms, origin, .. } = record::read(&first)?;
        let (mut steps, mut records) = (Vec::new(), Vec::new());
        for record in self.records(revision) {
            let (raw, record) = record?;
            records.push(raw.to_vec());
            for step in record.steps {
                let (before, after) = (self.before(&step)?, self.after_step(&step, revision)?);
                steps.push(Step { kind: step.kind, id: step.id, before, after });
            }
        }
        Ok(Revision { revision, at_unix_ms, origin: origin.into(), steps, records })
    }

    fn before(&self, step: &log::Step) -> Result<Option<Vec<u8>>, DiskError> {
        let sha256 = &step.before_sha256;
        let value = (!sha256.is_empty()).then(|| values::read(&self.disk.values, sha256));
        Ok(value.transpose()?.map(Into::into))
    }

    /// What an entity became: it is that still, or a later step found it so.
    fn after_step(&self, step: &log::Step, revision: u64) -> Result<Option<Vec<u8>>, DiskError> {
        if step.after_sha256.is_empty() {
            return Ok(None);
        }
        match self.entity(&step.kind, &step.id)? {
            Some(now) if now.revision == revision => Ok(Some(now.value)),
            _ => Ok(Some(values::read(&self.disk.values, &step.after_sha256)?.into())),
        }
    }
}

/// Kind and id of an entity, by its key.
fn names(key: &[u8]) -> (String, String) {
    let key = String::from_utf8_lossy(key);
    let (kind, id) = key.split_once('\0').unwrap_or((&key, ""));
    (kind.to_owned(), id.to_owned())
}
