//! Entities as consensus keeps them: those of the document, and those of this node's own kinds.

use trestle_cluster::Entity as Stored;
use trestle_config::{Difference, Entity, Kind};

/// The kind of admin tokens.
pub(crate) const TOKENS: &str = "admin_tokens";
/// The kind of what seals secrets, and the id of the only one.
pub(crate) const SECRETS: &str = "secrets";
pub(crate) const DATA_KEY: &str = "data_key";

/// An entity of the document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Kept {
    /// What it is.
    pub(crate) entity: Entity,
    /// The revision that changed it last.
    pub(crate) revision: u64,
}

impl Kept {
    /// From what is stored; `None` for one of another kind.
    pub(crate) fn read(stored: Stored) -> anyhow::Result<Option<Self>> {
        let Some(kind) = Kind::find(&stored.kind) else { return Ok(None) };
        let value = serde_json::from_slice(&stored.value)?;
        let Stored { id, introduced, revision, .. } = stored;
        Ok(Some(Self { entity: Entity { kind, id, introduced, value }, revision }))
    }

    /// What a difference of stored values means for the document; `None` for one of another kind.
    pub(crate) fn difference(
        kind: &str,
        id: String,
        now: Option<Stored>,
    ) -> anyhow::Result<Option<Difference>> {
        let Some(kind) = Kind::find(kind) else { return Ok(None) };
        let Some(now) = now else { return Ok(Some(Difference::Removed(kind, id))) };
        Ok(Self::read(now)?.map(|kept| Difference::Set(kept.entity)))
    }
}
