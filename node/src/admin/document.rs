//! `/api/document`: the whole document.

use super::{
    Problem,
    asker::Asker,
    body::{Condition, condition, etag, json, merge},
    shown::{Applied, DryRun},
};
use crate::{
    control::{ChangeError, Control, Edit, Kept, Role, View, mask, revisions, towards},
    source::all_problems,
};
use axum::{
    Json,
    extract::{Query, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, header};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use tokio::task::block_in_place;
use trestle_config::{Difference, Entity, Kind, Problem as Finding, Problems, gather, parse, split, to_yaml};

/// How the document is to look.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Look {
    /// `json` (default) or `yaml`.
    #[serde(default)]
    #[param(inline)]
    format: Format,
    /// As it was at this revision; the last one if missing.
    revision: Option<u64>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    #[default]
    Json,
    Yaml,
}

/// The document: what is set and nothing else. Secrets are references or handles (`sealed:...`) that may be sent back.
#[utoipa::path(
    get,
    path = "/api/document",
    tag = "document",
    params(Look),
    responses((status = 200, description = "The document; its ETag is the revision.", body = ref("#/components/schemas/Document")))
)]
pub(super) async fn get(
    State(control): State<Control>,
    Query(look): Query<Look>,
    _asker: Asker,
) -> Result<Response, Problem> {
    block_in_place(|| {
        let view = control.view();
        let (revision, kept) = match look.revision {
            None => view.all_now()?,
            Some(revision) => (revision, view.at(revision)?),
        };
        let entities: Vec<_> = kept.into_iter().map(|kept| mask(kept.entity)).collect();
        let document = gather(entities.iter().map(|e| (e.kind, e.id.as_str(), e.value.clone())));
        Ok(match look.format {
            Format::Json => (etag(revision), Json(document)).into_response(),
            Format::Yaml => {
                let kind = [(header::CONTENT_TYPE, "application/yaml")];
                (etag(revision), kind, to_yaml(&document)).into_response()
            }
        })
    })
}

/// Replace the document. With `if-match` of the revision that it was made of, what others changed since in other entities
/// stays; where they changed the same ones the answer is 412.
#[utoipa::path(
    put,
    path = "/api/document",
    tag = "document",
    params(DryRun, ("if-match" = String, Header, description = "The ETag of the document that was changed, or `*`.")),
    request_body(content = ref("#/components/schemas/Document"), description = "The document, in JSON or YAML.", content_type = "application/yaml"),
    responses((status = 200, body = Applied), (status = 412, body = Problem), (status = 422, body = Problem), (status = 428, body = Problem))
)]
pub(super) async fn put(
    State(control): State<Control>,
    Query(dry_run): Query<DryRun>,
    asker: Asker,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    asker.needs(Role::Operator)?;
    let condition = condition(&headers)?;
    let entities = block_in_place(|| {
        let text = std::str::from_utf8(&body).map_err(|_| Problem::bad_request("the body is not UTF-8"))?;
        let document = parse(text).map_err(|problems| Problem::invalid(all_problems(text, problems)))?;
        split(&document).map_err(Problem::invalid)
    })?;
    if matches!(condition, Condition::None | Condition::Absent) {
        return Err(Problem::no_condition());
    }
    let changing = control.change(&asker.origin, dry_run.intent(), |view| {
        let document = match condition {
            Condition::Revision(revision) => rebased(view, revision, &entities)?,
            _ => towards(&view.all()?, &entities),
        };
        Ok(Edit { document, ..Edit::default() })
    });
    let done = changing.await?;
    Ok((etag(done.revision), Json(Applied::new(done, dry_run))).into_response())
}

/// What has to change now for a document that was made of a revision. Only what the caller changed itself is its own.
fn rebased(view: &View<'_>, revision: u64, entities: &[Entity]) -> Result<Vec<Difference>, ChangeError> {
    let then = view.at(revision)?;
    let entities = known(&then, entities);
    let own = towards(&then, &entities);
    if revision == view.revision {
        return Ok(own);
    }
    let now = view.all()?;
    let (then, now) = (revisions(&then), revisions(&now));
    let others: Vec<_> = own
        .iter()
        .map(|difference| (difference.kind(), difference.id()))
        .filter(|name| then.get(name) != now.get(name))
        .map(|(kind, id)| (kind, id.to_owned()))
        .collect();
    if others.is_empty() { Ok(own) } else { Err(ChangeError::Changed(others)) }
}

/// Entities as they came, but with what the caller was shown of them where that is all it sent back.
fn known(kept: &[Kept], entities: &[Entity]) -> Vec<Entity> {
    let shown = |entity: &Entity| {
        let same =
            kept.iter().find(|kept| (kept.entity.kind, &kept.entity.id) == (entity.kind, &entity.id))?;
        (mask(same.entity.clone()).value == entity.value).then(|| same.entity.clone())
    };
    entities.iter().map(|entity| shown(entity).unwrap_or_else(|| entity.clone())).collect()
}

/// Change parts of the document: JSON Merge Patch (RFC 7396). What it does not name stays; `null` removes.
#[utoipa::path(
    patch,
    path = "/api/document",
    tag = "document",
    params(DryRun, ("if-match" = Option<String>, Header, description = "The ETag of the document that was seen.")),
    request_body(content = Object, description = "A part of the document.", content_type = "application/merge-patch+json"),
    responses((status = 200, body = Applied), (status = 412, body = Problem), (status = 422, body = Problem))
)]
pub(super) async fn patch(
    State(control): State<Control>,
    Query(dry_run): Query<DryRun>,
    asker: Asker,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    asker.needs(Role::Operator)?;
    let condition = condition(&headers)?;
    let patch: Value = json(&body)?;
    let changing = control.change(&asker.origin, dry_run.intent(), |view| {
        let document = patched(view, &patch, condition)?;
        Ok(Edit { document, ..Edit::default() })
    });
    let done = changing.await?;
    Ok((etag(done.revision), Json(Applied::new(done, dry_run))).into_response())
}

fn patched(view: &View<'_>, patch: &Value, seen: Condition) -> Result<Vec<Difference>, ChangeError> {
    let wrong = |path: &str, message: &str| {
        let (path, message) = (path.to_owned(), message.to_owned());
        ChangeError::Invalid(Problems(vec![Finding { path, message }]))
    };
    let Value::Object(kinds) = patch else { return Err(wrong("document", "must be a map")) };
    let mut differences = Vec::new();
    let mut changed = BTreeSet::new();
    for (name, patch) in kinds {
        let kind = Kind::find(name);
        let kind =
            kind.ok_or_else(|| wrong(name, &format!("unknown member; known: {}", Kind::names("`"))))?;
        let mut one = |id: &str, patch: &Value| {
            let kept = view.entity(kind, id)?;
            if let (Condition::Revision(seen), Some(kept)) = (seen, &kept)
                && kept.revision > seen
            {
                changed.insert((kind, id.to_owned()));
            }
            if patch.is_null() {
                differences.push(Difference::Removed(kind, id.to_owned()));
            } else {
                let value = kept.map(|kept| kept.entity.value).unwrap_or_default();
                differences.push(Difference::Set(Entity::new(kind, id, merge(value, patch.clone()))));
            }
            Ok::<_, ChangeError>(())
        };
        match (kind, patch) {
            (Kind::Settings, patch) => one(Kind::ONLY, patch)?,
            (_, Value::Object(entities)) => {
                for (id, patch) in entities {
                    one(id, patch)?;
                }
            }
            (_, Value::Null) => {
                for kept in view.all()?.iter().filter(|kept| kept.entity.kind == kind) {
                    one(&kept.entity.id, &Value::Null)?;
                }
            }
            _ => return Err(wrong(name, "must be a map")),
        }
    }
    if changed.is_empty() {
        Ok(differences)
    } else {
        Err(ChangeError::Changed(changed.into_iter().collect()))
    }
}
