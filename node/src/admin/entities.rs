//! `/api/{kind}`: the entities of the document, each kind in the same way.

use super::{
    Problem,
    asker::Asker,
    body::{Condition, condition, etag, json, merge},
    keys,
    shown::{Applied, DryRun, Shown},
};
use crate::control::{ChangeError, Control, Edit, Kept, Role, View};
use axum::{
    Json,
    extract::{Path, Query, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::SystemTime;
use tokio::task::block_in_place;
use trestle_config::{Difference, Entity, Kind};

/// Entities of a page, where nothing is said, and at most. So many are read at once, too: each may have a mebibyte.
const PAGE: usize = 100;
const PAGE_MAX: usize = 1_000;
/// Entities that one request looks at; with filters a page may be shorter than its limit though there are more.
const LOOKED_AT_MAX: usize = 10_000;

/// Which entities to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    /// Begin after this id: the `next` of the page before.
    after: Option<String>,
    /// At most so many (default 100, at most 1,000).
    limit: Option<usize>,
    /// Only ids that contain this.
    search: Option<String>,
    /// Of keys: only those with this tag.
    tag: Option<String>,
    /// Of keys: `active`, `disabled` or `expired`.
    #[param(inline)]
    state: Option<keys::KeyState>,
}

/// A page of entities.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Page {
    /// In order of their ids.
    items: Vec<Shown>,
    /// Ask for the next page with `after` of this; the last page has none. With filters a page may be short.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// The revision that the page is of.
    revision: u64,
}

/// A new entity.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct New {
    /// Its name in the document.
    id: String,
    /// What is set of it: a `ProviderEntry`, `ModelGroup`, `CallerKey` or `Settings`. A key without `value` is made, and its
    /// secret is in the answer, once.
    #[serde(default)]
    #[schema(value_type = Object)]
    value: Value,
}

/// An entity that was made, and the secret of a key.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Created {
    #[serde(flatten)]
    applied: Applied,
    /// The key itself, if it was made here: it is shown only now.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

impl Created {
    pub(super) fn new(applied: Applied, secret: Option<String>) -> Self {
        Self { applied, secret }
    }
}

fn kind(name: &str) -> Result<Kind, Problem> {
    Kind::find(name).ok_or_else(|| Problem::missing(&format!("/api/{name} here: see /api/docs")))
}

/// List entities of a kind.
#[utoipa::path(
    get,
    path = "/api/{kind}",
    tag = "entities",
    params(("kind" = String, Path, description = "`providers`, `models`, `customers`, `teams`, `users`, `keys`, `catalog` or `settings`."), Filter),
    responses((status = 200, body = Page))
)]
pub(super) async fn list(
    State(control): State<Control>,
    Path(name): Path<String>,
    Query(filter): Query<Filter>,
    _asker: Asker,
) -> Result<Json<Page>, Problem> {
    let kind = kind(&name)?;
    let limit = filter.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    block_in_place(|| page(&control, kind, &filter, limit)).map(Json)
}

fn page(control: &Control, kind: Kind, filter: &Filter, limit: usize) -> Result<Page, Problem> {
    let (now, mut after, mut looked_at) = (SystemTime::now(), filter.after.clone(), 0);
    let mut page = Page { items: Vec::new(), next: None, revision: 0 };
    loop {
        let (revision, stored) = control.consensus().page(kind.name(), after.as_deref(), PAGE)?;
        page.revision = revision;
        let ends = stored.len() < PAGE;
        for stored in stored {
            if page.items.len() == limit || looked_at == LOOKED_AT_MAX {
                page.next = after;
                return Ok(page);
            }
            looked_at += 1;
            after = Some(stored.id.clone());
            let Some(kept) = Kept::read(stored)? else { continue };
            if filter.takes(&kept.entity, now) {
                page.items.push(kept.into());
            }
        }
        if ends {
            return Ok(page);
        }
    }
}

impl Filter {
    fn takes(&self, entity: &Entity, now: SystemTime) -> bool {
        let tagged = |tag: &String| {
            let tags = entity.value.get("tags").and_then(Value::as_array);
            tags.is_some_and(|tags| tags.iter().any(|found| found == tag.as_str()))
        };
        self.search.as_ref().is_none_or(|text| entity.id.contains(text.as_str()))
            && self.tag.as_ref().is_none_or(tagged)
            && self.state.is_none_or(|state| {
                entity.kind == Kind::Key && keys::KeyState::of(&entity.value, now) == state
            })
    }
}

/// Get an entity.
#[utoipa::path(
    get,
    path = "/api/{kind}/{id}",
    tag = "entities",
    params(("kind" = String, Path, description = "`providers`, `models`, `customers`, `teams`, `users`, `keys`, `catalog` or `settings`."), ("id" = String, Path, description = "Its name, percent-encoded; `all` for the settings.")),
    responses((status = 200, body = Shown), (status = 404, body = Problem))
)]
pub(super) async fn get(
    State(control): State<Control>,
    Path((name, id)): Path<(String, String)>,
    _asker: Asker,
) -> Result<Response, Problem> {
    let kind = kind(&name)?;
    let kept = block_in_place(|| found(&control.view(), kind, &id))?;
    Ok((etag(kept.revision), Json(Shown::from(kept))).into_response())
}

/// An entity that must be there. Settings always are.
pub(super) fn found(view: &View<'_>, kind: Kind, id: &str) -> Result<Kept, ChangeError> {
    match view.entity(kind, id)? {
        Some(kept) => Ok(kept),
        None if kind == Kind::Settings && id == Kind::ONLY => {
            Ok(Kept { entity: Entity::new(kind, id, Value::Object(Default::default())), revision: 0 })
        }
        None => Err(ChangeError::Missing(format!("{}/{id}", kind.name()))),
    }
}

/// Create an entity.
#[utoipa::path(
    post,
    path = "/api/{kind}",
    tag = "entities",
    params(("kind" = String, Path, description = "`providers`, `models`, `customers`, `teams`, `users`, `keys`, `catalog` or `settings`."), DryRun),
    request_body = New,
    responses((status = 201, body = Created), (status = 409, body = Problem), (status = 422, body = Problem))
)]
pub(super) async fn create(
    State(control): State<Control>,
    Path(name): Path<String>,
    Query(dry_run): Query<DryRun>,
    asker: Asker,
    body: Bytes,
) -> Result<Response, Problem> {
    let kind = kind(&name)?;
    asker.needs(Role::Operator)?;
    let New { id, mut value } = json(&body)?;
    let secret = if kind == Kind::Key { keys::make_missing(&mut value)? } else { None };
    let changing = control.change(&asker.origin, dry_run.intent(), |view| {
        if view.entity(kind, &id)?.is_some() {
            return Err(ChangeError::Exists(format!("{}/{id}", kind.name())));
        }
        Ok(set(kind, &id, value.clone()))
    });
    let done = changing.await?;
    let path = format!("/api/{name}/{}", utf8_percent_encode(&id, NON_ALPHANUMERIC));
    let head = [(header::LOCATION, path)];
    let secret = secret.filter(|_| !dry_run.dry_run).map(|secret| secret.reveal().to_owned());
    let body = Json(Created { applied: Applied::new(done, dry_run), secret });
    Ok((if dry_run.dry_run { StatusCode::OK } else { StatusCode::CREATED }, head, body).into_response())
}

/// Replace an entity, or create it. `if-match` and `if-none-match: *` are heeded.
#[utoipa::path(
    put,
    path = "/api/{kind}/{id}",
    tag = "entities",
    params(("kind" = String, Path, description = "`providers`, `models`, `customers`, `teams`, `users`, `keys`, `catalog` or `settings`."), ("id" = String, Path, description = "Its name, percent-encoded; `all` for the settings."), DryRun),
    request_body(content = Object, description = "What is set of it: a `ProviderEntry`, `ModelGroup`, `CallerKey` or `Settings`."),
    responses((status = 200, body = Applied), (status = 412, body = Problem), (status = 422, body = Problem))
)]
pub(super) async fn put(
    State(control): State<Control>,
    Path((name, id)): Path<(String, String)>,
    Query(dry_run): Query<DryRun>,
    (asker, headers): (Asker, HeaderMap),
    body: Bytes,
) -> Result<Response, Problem> {
    let value: Value = json(&body)?;
    write(&control, &(name, id), (asker, headers), dry_run, |_| Ok(Some(value.clone()))).await
}

/// Change parts of an entity: JSON Merge Patch (RFC 7396). What it does not name stays; `null` removes.
#[utoipa::path(
    patch,
    path = "/api/{kind}/{id}",
    tag = "entities",
    params(("kind" = String, Path, description = "`providers`, `models`, `customers`, `teams`, `users`, `keys`, `catalog` or `settings`."), ("id" = String, Path, description = "Its name, percent-encoded; `all` for the settings."), DryRun),
    request_body(content = Object, content_type = "application/merge-patch+json"),
    responses((status = 200, body = Applied), (status = 404, body = Problem), (status = 412, body = Problem), (status = 422, body = Problem))
)]
pub(super) async fn patch(
    State(control): State<Control>,
    Path((name, id)): Path<(String, String)>,
    Query(dry_run): Query<DryRun>,
    (asker, headers): (Asker, HeaderMap),
    body: Bytes,
) -> Result<Response, Problem> {
    let patch: Value = json(&body)?;
    write(&control, &(name, id), (asker, headers), dry_run, |kept| {
        let kept = kept.ok_or(())?;
        Ok(Some(merge(kept.entity.value.clone(), patch.clone())))
    })
    .await
}

/// Delete an entity. Settings return to their defaults.
#[utoipa::path(
    delete,
    path = "/api/{kind}/{id}",
    tag = "entities",
    params(("kind" = String, Path, description = "`providers`, `models`, `customers`, `teams`, `users`, `keys`, `catalog` or `settings`."), ("id" = String, Path, description = "Its name, percent-encoded; `all` for the settings."), DryRun),
    responses((status = 200, body = Applied), (status = 404, body = Problem), (status = 412, body = Problem), (status = 422, body = Problem))
)]
pub(super) async fn delete(
    State(control): State<Control>,
    Path((name, id)): Path<(String, String)>,
    Query(dry_run): Query<DryRun>,
    (asker, headers): (Asker, HeaderMap),
) -> Result<Response, Problem> {
    write(&control, &(name, id), (asker, headers), dry_run, |kept| kept.map(|_| None).ok_or(())).await
}

/// Writes what is made of an entity as it is; `None` removes it, an error means that it should be there.
async fn write(
    control: &Control,
    (name, id): &(String, String),
    (asker, headers): (Asker, HeaderMap),
    dry_run: DryRun,
    make: impl Fn(Option<&Kept>) -> Result<Option<Value>, ()>,
) -> Result<Response, Problem> {
    let kind = kind(name)?;
    asker.needs(Role::Operator)?;
    let condition = condition(&headers)?;
    let changing = control.change(&asker.origin, dry_run.intent(), |view| {
        let kept = match found(view, kind, id) {
            Ok(kept) => Some(kept),
            Err(ChangeError::Missing(_)) => None,
            Err(error) => return Err(error),
        };
        let fits = match condition {
            Condition::None => true,
            Condition::Any => kept.is_some(),
            Condition::Absent => kept.as_ref().is_none_or(|kept| kept.revision == 0),
            Condition::Revision(seen) => kept.as_ref().is_some_and(|kept| kept.revision == seen),
        };
        if !fits {
            return Err(ChangeError::Changed(vec![(kind, id.clone())]));
        }
        match make(kept.as_ref()) {
            Ok(Some(value)) => Ok(set(kind, id, value)),
            Ok(None) => Ok(Edit { document: vec![Difference::Removed(kind, id.clone())], ..Edit::default() }),
            Err(()) => Err(ChangeError::Missing(format!("{}/{id}", kind.name()))),
        }
    });
    let done = changing.await?;
    Ok((etag(done.revision), Json(Applied::new(done, dry_run))).into_response())
}

/// Sets one entity.
pub(super) fn set(kind: Kind, id: &str, value: Value) -> Edit {
    Edit { document: vec![Difference::Set(Entity::new(kind, id, value))], ..Edit::default() }
}
