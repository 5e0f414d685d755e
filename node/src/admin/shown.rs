//! How entities and changes look in answers.

use super::problem::Place;
use crate::control::{Done, Kept, mask};
use serde::Serialize;
use serde_json::Value;
use trestle_config::{Difference, Entity};

/// An entity of the document.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Shown {
    /// `providers`, `models`, `customers`, `teams`, `users`, `keys`, `catalog` or `settings`.
    kind: &'static str,
    /// Its name in the document.
    pub(super) id: String,
    /// The revision that changed it last: its ETag.
    revision: u64,
    /// The version that introduced the members that it uses.
    introduced: u32,
    /// What is set of it; secrets are references or handles.
    #[schema(value_type = Object)]
    value: Value,
}

impl From<Kept> for Shown {
    fn from(Kept { entity, revision }: Kept) -> Self {
        let Entity { kind, id, introduced, value } = mask(entity);
        Self { kind: kind.name(), id, revision, introduced, value }
    }
}

/// Changed entities that an answer holds.
const SHOWN_MAX: usize = 1_000;

/// What a change did, or would do.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Applied {
    /// The revision that it made; the last one if nothing changed or nothing was to be done.
    pub(super) revision: u64,
    /// Whether it was only looked at.
    dry_run: bool,
    /// How many entities it changes.
    changed: usize,
    /// The first 1,000 of them.
    pub(super) changes: Vec<Changed>,
    /// What is not right and does not hinder it.
    warnings: Vec<Place>,
}

/// How an entity changes.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Changed {
    /// The kind of the entity.
    pub(super) kind: String,
    /// Its name.
    pub(super) id: String,
    /// `created`, `changed` or `removed`.
    pub(super) action: &'static str,
    /// What was set of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(super) before: Option<Value>,
    /// What is set of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(super) after: Option<Value>,
}

impl Changed {
    pub(super) fn new(kind: String, id: String, before: Option<Value>, after: Option<Value>) -> Self {
        let action = match (&before, &after) {
            (None, _) => "created",
            (Some(_), Some(_)) => "changed",
            (Some(_), None) => "removed",
        };
        Self { kind, id, action, before, after }
    }
}

impl Applied {
    pub(super) fn new(done: Done, dry_run: DryRun) -> Self {
        let changed = done.steps.len();
        let changes = done.steps.into_iter().take(SHOWN_MAX).map(|(before, difference)| {
            let (kind, id) = (difference.kind().name().to_owned(), difference.id().to_owned());
            let after = match difference {
                Difference::Set(entity) => Some(entity.value),
                Difference::Removed(..) => None,
            };
            Changed::new(kind, id, before.map(|entity| entity.value), after)
        });
        Self {
            revision: done.revision,
            dry_run: dry_run.dry_run,
            changed,
            changes: changes.collect(),
            warnings: done.warnings.into_iter().map(Into::into).collect(),
        }
    }
}

/// Whether a change is only to be looked at.
#[derive(Debug, Clone, Copy, Default, serde::Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct DryRun {
    /// Only say what would change, and what is wrong with it.
    #[serde(default)]
    pub(super) dry_run: bool,
}

impl DryRun {
    pub(super) fn intent(self) -> crate::control::Intent {
        if self.dry_run { crate::control::Intent::Look } else { crate::control::Intent::Apply }
    }
}
