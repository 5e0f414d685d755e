//! `/api/revisions`: what the document was, what changed, and the way back.

use super::{
    Problem,
    asker::Asker,
    body::{etag, json_or_default},
    shown::{Applied, Changed, DryRun},
};
use crate::control::{Control, Edit, Kept, Origin, Role, View, mask, towards};
use axum::{
    Json,
    extract::{Path, Query, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::{Duration, UNIX_EPOCH};
use tokio::task::block_in_place;
use trestle_cluster::{Revision, Step};
use trestle_config::{Difference, Entity, Kind};

/// Revisions of a page, where nothing is said, and at most.
const PAGE: usize = 50;
const PAGE_MAX: usize = 500;
/// Changed entities of a page, and bytes of their values; a revision with more comes last.
const STEPS_MAX: usize = 5_000;
const BYTES_MAX: usize = 8 << 20;
/// Names of changed entities that a line of the list holds.
const NAMES_MAX: usize = 20;

/// Which revisions to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Only those before this one: the `next` of the page before.
    before: Option<u64>,
    /// At most so many (default 50, at most 500).
    limit: Option<usize>,
}

impl Which {
    /// None that is newer than this one.
    pub(super) fn until(self, revision: u64) -> Self {
        Self { before: Some(self.before.unwrap_or(u64::MAX).min(revision + 1)), ..self }
    }

    pub(super) fn history(&self, control: &Control) -> Result<Vec<Revision>, Problem> {
        let limit = self.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
        let (mut found, mut before, mut steps, mut bytes) = (Vec::new(), self.before, 0, 0);
        while found.len() < limit && steps < STEPS_MAX && bytes < BYTES_MAX {
            let Some(next) = control.consensus().history(before, 1)?.pop() else { break };
            before = Some(next.revision);
            steps += next.steps.len();
            let values = next.steps.iter().flat_map(|step| [&step.before, &step.after]).flatten();
            bytes += values.map(Vec::len).sum::<usize>();
            found.push(next);
        }
        Ok(found)
    }
}

/// A page of revisions, the newest first.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct RevisionPage {
    items: Vec<Line>,
    /// Ask for the next page with `before` of this; the last page has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

/// A revision in a list.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Line {
    revision: u64,
    /// When, in UTC.
    at: String,
    /// Who, from where, what was asked.
    origin: Origin,
    /// How many entities changed.
    changed: usize,
    /// The first of them, as `kind/id`.
    entities: Vec<String>,
}

/// A revision with what it changed.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct ShownRevision {
    revision: u64,
    /// When, in UTC.
    at: String,
    /// Who, from where, what was asked.
    origin: Origin,
    /// The entities that it changed; secrets masked.
    changes: Vec<Changed>,
}

/// What differs between two revisions.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Diff {
    from: u64,
    to: u64,
    /// The entities that differ; secrets masked.
    changes: Vec<Changed>,
}

/// Between which revisions.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Between {
    /// The earlier one, or the one to go back to.
    from: u64,
    /// The later one; the last one if missing.
    to: Option<u64>,
}

/// A time as it is shown.
pub(super) fn time(at_unix_ms: u64) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(at_unix_ms)).to_string()
}

/// What a step changed, as it is shown: secrets masked, what is not the document's without its value.
pub(super) fn shown(step: Step) -> Changed {
    let Step { kind, id, before, after } = step;
    let masked = |value: Option<Vec<u8>>| {
        let value: Value = value.map(|bytes| serde_json::from_slice(&bytes).unwrap_or_default())?;
        Some(match Kind::find(&kind) {
            Some(kind) => mask(Entity::new(kind, &id, value)).value,
            None => hidden(value),
        })
    };
    let (before, after) = (masked(before), masked(after));
    Changed::new(kind, id, before, after)
}

/// Of admin tokens and keys for sealing only what is no secret.
fn hidden(value: Value) -> Value {
    let Value::Object(members) = value else { return Value::Null };
    let open = ["role", "expires_at", "key_encryption_key"];
    Value::Object(members.into_iter().filter(|(name, _)| open.contains(&name.as_str())).collect())
}

/// List the revisions, the newest first.
#[utoipa::path(get, path = "/api/revisions", tag = "revisions", params(Which), responses((status = 200, body = RevisionPage)))]
pub(super) async fn list(
    State(control): State<Control>,
    Query(which): Query<Which>,
    _asker: Asker,
) -> Result<Json<RevisionPage>, Problem> {
    block_in_place(|| {
        let history = which.history(&control)?;
        let next = history.last().map(|last| last.revision).filter(|last| *last > 1);
        let items = history.into_iter().map(|revision| Line {
            revision: revision.revision,
            at: time(revision.at_unix_ms),
            origin: Origin::from_bytes(&revision.origin),
            changed: revision.steps.len(),
            entities: revision
                .steps
                .iter()
                .take(NAMES_MAX)
                .map(|step| format!("{}/{}", step.kind, step.id))
                .collect(),
        });
        Ok(Json(RevisionPage { items: items.collect(), next }))
    })
}

/// Get a revision with what it changed.
#[utoipa::path(
    get,
    path = "/api/revisions/{revision}",
    tag = "revisions",
    params(("revision" = u64, Path, description = "Its number.")),
    responses((status = 200, body = ShownRevision), (status = 404, body = Problem))
)]
pub(super) async fn get(
    State(control): State<Control>,
    Path(number): Path<u64>,
    _asker: Asker,
) -> Result<Json<ShownRevision>, Problem> {
    block_in_place(|| {
        let revision = control.consensus().record(number)?;
        let revision = revision
            .ok_or_else(|| Problem::missing(&format!("revision {number}, or it is not kept any more")))?;
        Ok(Json(ShownRevision {
            revision: number,
            at: time(revision.at_unix_ms),
            origin: Origin::from_bytes(&revision.origin),
            changes: revision.steps.into_iter().map(shown).collect(),
        }))
    })
}

/// What differs in the document between two revisions.
#[utoipa::path(get, path = "/api/revisions/diff", tag = "revisions", params(Between), responses((status = 200, body = Diff), (status = 412, body = Problem)))]
pub(super) async fn diff(
    State(control): State<Control>,
    Query(between): Query<Between>,
    _asker: Asker,
) -> Result<Json<Diff>, Problem> {
    block_in_place(|| {
        let view = control.view();
        let from = view.at(between.from)?;
        let (to, now) = match between.to {
            Some(to) => (to, view.at(to)?),
            None => view.all_now()?,
        };
        let after: Vec<_> = now.into_iter().map(|kept| kept.entity).collect();
        let changes = towards(&from, &after).into_iter().map(|difference| changed(&from, difference));
        Ok(Json(Diff { from: between.from, to, changes: changes.collect() }))
    })
}

fn changed(from: &[Kept], difference: Difference) -> Changed {
    let (kind, id) = (difference.kind(), difference.id().to_owned());
    let before = from.iter().find(|kept| (kept.entity.kind, &kept.entity.id) == (kind, &id));
    let after = match difference {
        Difference::Set(entity) => Some(mask(entity).value),
        Difference::Removed(..) => None,
    };
    Changed::new(kind.name().to_owned(), id, before.map(|kept| mask(kept.entity.clone()).value), after)
}

/// How to go back.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rollback {
    /// Which kinds: default `providers`, `models`, `catalog` and `settings`. Keys, and the customers, teams and users that
    /// they belong to, only if they are named: a key that was revoked since would be taken again.
    kinds: Option<Vec<String>>,
}

/// Go back: the document becomes what it was at a revision, as a new revision. Admin tokens stay as they are.
#[utoipa::path(
    post,
    path = "/api/revisions/{revision}/rollback",
    tag = "revisions",
    params(("revision" = u64, Path, description = "The one to go back to."), DryRun),
    request_body = Rollback,
    responses((status = 200, body = Applied), (status = 412, body = Problem), (status = 422, body = Problem))
)]
pub(super) async fn rollback(
    State(control): State<Control>,
    Path(number): Path<u64>,
    Query(dry_run): Query<DryRun>,
    asker: Asker,
    body: Bytes,
) -> Result<Response, Problem> {
    asker.needs(Role::Operator)?;
    let kinds = match json_or_default::<Rollback>(&body)?.kinds {
        None => vec![Kind::Provider, Kind::Model, Kind::Catalog, Kind::Settings],
        Some(names) => {
            let kinds = names.iter().map(|name| {
                let wrong = || format!("`kinds`: `{name}` is none of {}", Kind::names(""));
                Kind::find(name).ok_or_else(|| Problem::bad_request(wrong()))
            });
            kinds.collect::<Result<_, _>>()?
        }
    };
    let changing = control.change(&asker.origin, dry_run.intent(), |view: &View<'_>| {
        let then: Vec<_> = view.at(number)?.into_iter().map(|kept| kept.entity).collect();
        let mut document = towards(&view.all()?, &then);
        document.retain(|difference| kinds.contains(&difference.kind()));
        Ok(Edit { document, ..Edit::default() })
    });
    let done = changing.await?;
    Ok((etag(done.revision), Json(Applied::new(done, dry_run))).into_response())
}
