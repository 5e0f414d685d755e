//! Whether audit records are what they were: each holds the SHA-256 of the one before, and what is shown of a revision is
//! what its records say.

use super::changes::Change;
use crate::{control::Origin, key::hex};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::time::{Duration, UNIX_EPOCH};
use trestle_cluster::{ChainError, Record, RecordStep, chain};
use trestle_config::{Entity, Kind, secret_values};

/// The last record of a chain.
#[derive(Debug, Deserialize)]
pub(super) struct Head {
    pub(super) revision: u64,
    /// In hexadecimal.
    pub(super) sha256: String,
}

/// The good part of a chain, as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Chain {
    first: u64,
    last: u64,
    /// The records of the last revision: the next ones must follow them.
    before: Vec<Vec<u8>>,
    sha256: [u8; 32],
    masked: usize,
}

/// A revision as it is shown, with its records.
#[derive(Debug, Deserialize)]
struct Line {
    revision: u64,
    at: String,
    origin: Value,
    changes: Vec<Change>,
    /// In base64.
    records: Vec<String>,
}

impl Chain {
    /// Takes one more revision; what is wrong with it names it.
    pub(super) fn add(&mut self, text: &str) -> Result<(), String> {
        let line: Line = serde_json::from_str(text).map_err(|error| match self.last {
            0 => format!("the first line is no audit record: {error}"),
            last => format!("after revision {last}: a line is no audit record: {error}"),
        })?;
        let wrong = |why: String| format!("revision {}: {why}", line.revision);
        let raw = line.records.iter().map(|record| BASE64_STANDARD.decode(record));
        let raw: Vec<Vec<u8>> =
            raw.collect::<Result<_, _>>().map_err(|_| wrong("a record is not in base64".to_owned()))?;
        let records = raw.iter().map(|raw| Record::decode(raw)).collect::<Result<Vec<_>, _>>();
        let records = records.map_err(|_| wrong("a record cannot be read".to_owned()))?;
        let sha256 = self.follows(&line, &raw, &records).map_err(wrong)?;
        let masked = agrees(&line, &records).map_err(wrong)?;
        if self.first == 0 {
            self.first = line.revision;
        }
        (self.last, self.before, self.sha256) = (line.revision, raw, sha256);
        self.masked += masked;
        Ok(())
    }

    /// The SHA-256 of the last of these records, if they follow those of the revision before.
    fn follows(&self, line: &Line, raw: &[Vec<u8>], records: &[Record]) -> Result<[u8; 32], String> {
        let first = records.first().ok_or("there are no records")?;
        if let Some(other) = records.iter().find(|record| record.revision != line.revision) {
            return Err(format!("its record is that of revision {}", other.revision));
        }
        if self.last > 0 && line.revision != self.last + 1 {
            let last = self.last;
            return Err(format!("it comes after revision {last}: something is missing or not in its order"));
        }
        if line.revision == 1 && first.previous_sha256 != [0; 32] {
            return Err("it is the first and says that there was one before".to_owned());
        }
        let all = self.before.iter().chain(raw).map(Vec::as_slice);
        chain(all).map_err(|error| match error {
            ChainError::Broken { .. } => {
                "it does not hold the SHA-256 of the one before: one of the two is not what it was".to_owned()
            }
            ChainError::Time { .. } => "it is older than the one before".to_owned(),
            ChainError::Gap { .. } => "a part of its records is missing or not in its order".to_owned(),
            ChainError::Empty | ChainError::Unreadable { .. } => "its records cannot be read".to_owned(),
        })
    }

    /// The first and the last revision that are good.
    pub(super) fn good(&self) -> Option<(u64, u64)> {
        (self.first > 0).then_some((self.first, self.last))
    }

    /// The SHA-256 of the last good record.
    pub(super) fn sha256(&self) -> [u8; 32] {
        self.sha256
    }

    /// Values that could not be compared.
    pub(super) fn masked(&self) -> usize {
        self.masked
    }

    /// Whether there are any.
    pub(super) fn is_any(&self) -> Result<(), String> {
        if self.first > 0 { Ok(()) } else { Err("there are no records".to_owned()) }
    }

    /// Whether the last record has this SHA-256.
    pub(super) fn ends_with(&self, sha256: &str) -> Result<(), String> {
        self.is_any()?;
        if hex(&self.sha256).eq_ignore_ascii_case(sha256.trim()) {
            return Ok(());
        }
        let last = self.last;
        Err(format!(
            "revision {last}: it is not the head: records are missing at the end, or it is not what it was"
        ))
    }

    /// Whether it ends at the head of a node.
    pub(super) fn ends_at(&self, head: &Head) -> Result<(), String> {
        self.is_any()?;
        if self.last != head.revision {
            return Err(format!(
                "the records end at revision {}, the head is revision {}",
                self.last, head.revision
            ));
        }
        self.ends_with(&head.sha256)
    }
}

/// Whether what is shown is what the records say; how many values cannot be compared.
fn agrees(line: &Line, records: &[Record]) -> Result<usize, String> {
    let Some(first) = records.first() else { return Ok(0) };
    let at = humantime::parse_rfc3339(&line.at).ok();
    if at != UNIX_EPOCH.checked_add(Duration::from_millis(first.at_unix_ms)) {
        return Err("`at` is not what the record says".to_owned());
    }
    let origin = serde_json::to_value(Origin::from_bytes(&first.origin)).unwrap_or_default();
    if origin != line.origin {
        return Err("`origin` is not what the record says".to_owned());
    }
    let steps: Vec<_> = records.iter().flat_map(|record| &record.steps).collect();
    if steps.len() != line.changes.len() {
        return Err(format!("{} changes are shown, the record has {}", line.changes.len(), steps.len()));
    }
    let mut masked = 0;
    for (step, change) in steps.into_iter().zip(&line.changes) {
        masked += same(step, change)?;
    }
    Ok(masked)
}

fn same(step: &RecordStep, change: &Change) -> Result<usize, String> {
    if (&step.kind, &step.id) != (&change.kind, &change.id) {
        let (kind, id) = (&change.kind, &change.id);
        return Err(format!("{kind}/{id} is shown, the record has {}/{}", step.kind, step.id));
    }
    let name = format!("{}/{}", step.kind, step.id);
    let action = match (&step.before_sha256, &step.after_sha256) {
        (None, _) => "created",
        (Some(_), Some(_)) => "changed",
        (Some(_), None) => "removed",
    };
    if change.action != action {
        return Err(format!("`action` of {name} is not what the record says ({action})"));
    }
    let mut masked = 0;
    for (side, value, sha256) in
        [("before", &change.before, step.before_sha256), ("after", &change.after, step.after_sha256)]
    {
        match (value, sha256) {
            (None, None) => {}
            (Some(value), Some(_)) if !is_whole(step, value) => masked += 1,
            (Some(value), Some(sha256)) if <[u8; 32]>::from(Sha256::digest(value.to_string())) == sha256 => {}
            _ => return Err(format!("`{side}` of {name} is not what the record says")),
        }
    }
    Ok(masked)
}

/// Whether a value is shown as it is kept: of the document, and without a secret that is sealed.
fn is_whole(step: &RecordStep, value: &Value) -> bool {
    let Some(kind) = Kind::find(&step.kind) else { return false };
    let mut entity = Entity::new(kind, &step.id, value.clone());
    let is_open = |value: &String| value.starts_with("env:") || value.starts_with("file:");
    secret_values(&mut entity).into_iter().all(|(_, value)| is_open(value))
}
