//! `/api/keys/{id}/...`: what keys of clients can do beside other entities: be made, rotated, revoked.

use super::{
    Problem,
    asker::Asker,
    body::json_or_default,
    entities::{Created, found, set},
    shown::{Applied, DryRun},
};
use crate::{
    control::{ChangeError, Control, Intent, Role},
    key::{Holder, Key},
};
use axum::{
    Json,
    extract::{Path, State},
};
use bytes::Bytes;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};
use trestle_config::{Kind, SigningPair};

/// How long a key goes on after its rotation, where nothing is said, and at most.
const GRACE: Duration = Duration::from_secs(24 * 3600);
const GRACE_MAX: Duration = Duration::from_secs(90 * 24 * 3600);

/// Whether a key is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, clap::ValueEnum, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeyState {
    /// It is.
    Active,
    /// It is disabled (revoked).
    Disabled,
    /// It has ended.
    Expired,
}

impl KeyState {
    /// The state of a key as it is kept.
    pub(crate) fn of(value: &Value, now: SystemTime) -> Self {
        let end = value.get("expires_at").and_then(Value::as_str);
        let end = end.and_then(|end| humantime::parse_rfc3339(end).ok());
        if value.get("disabled") == Some(&Value::Bool(true)) {
            Self::Disabled
        } else if end.is_some_and(|end| end <= now) {
            Self::Expired
        } else {
            Self::Active
        }
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Disabled => "disabled",
            Self::Expired => "expired",
        }
    }
}

/// Makes the key of a new entity that has none; what is to be shown.
pub(super) fn make_missing(value: &mut Value) -> Result<Option<Key>, Problem> {
    if value.is_null() {
        *value = json!({});
    }
    match value.as_object_mut() {
        Some(members) if !members.contains_key("value") => {
            let key = Key::generate(Holder::Application)?;
            members.insert("value".to_owned(), key.hash().into());
            Ok(Some(key))
        }
        // Other values than maps are refused with all other problems.
        _ => Ok(None),
    }
}

/// How to rotate.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rotation {
    /// How long the key of before is still taken, in seconds: default a day, at most 90 days, 0 for not at all.
    grace_seconds: Option<u64>,
}

/// Give a key a new secret. The one of before goes on for a grace window.
#[utoipa::path(
    post,
    path = "/api/keys/{id}/rotate",
    tag = "keys",
    params(("id" = String, Path, description = "Its name, percent-encoded.")),
    request_body = Rotation,
    responses((status = 200, body = Created), (status = 404, body = Problem))
)]
pub(super) async fn rotate(
    State(control): State<Control>,
    Path(id): Path<String>,
    asker: Asker,
    body: Bytes,
) -> Result<Json<Created>, Problem> {
    asker.needs(Role::Operator)?;
    let rotation: Rotation = json_or_default(&body)?;
    let grace = rotation.grace_seconds.map_or(GRACE, Duration::from_secs);
    if grace > GRACE_MAX {
        let most = GRACE_MAX.as_secs();
        return Err(Problem::bad_request(format!("`grace_seconds` must be at most {most}")));
    }
    let secret = Key::generate(Holder::Application)?;
    let until = humantime::format_rfc3339_seconds(SystemTime::now() + grace).to_string();
    let changing = control.change(&asker.origin, Intent::Apply, |view| {
        let mut value = found(view, Kind::Key, &id)?.entity.value;
        let before = value.get("value").cloned().unwrap_or_default();
        if let Some(members) = value.as_object_mut() {
            members.insert("value".to_owned(), secret.hash().into());
            members.remove("previous");
            if !grace.is_zero() {
                members.insert("previous".to_owned(), json!({"value": before, "expires_at": until}));
            }
        }
        Ok(set(Kind::Key, &id, value))
    });
    let applied = Applied::new(changing.await?, DryRun::default());
    Ok(Json(Created::new(applied, Some(secret.reveal().to_owned()))))
}

/// Revoke a key: it stays in the document, disabled, and so does what it did. The key before a rotation goes as well.
#[utoipa::path(
    post,
    path = "/api/keys/{id}/revoke",
    tag = "keys",
    params(("id" = String, Path, description = "Its name, percent-encoded.")),
    responses((status = 200, body = Applied), (status = 404, body = Problem))
)]
pub(super) async fn revoke(
    State(control): State<Control>,
    Path(id): Path<String>,
    asker: Asker,
) -> Result<Json<Applied>, Problem> {
    asker.needs(Role::Operator)?;
    let changing = control.change(&asker.origin, Intent::Apply, |view| {
        let mut value = found(view, Kind::Key, &id)?.entity.value;
        let members = value.as_object_mut().ok_or_else(|| ChangeError::Missing(format!("keys/{id}")))?;
        members.insert("disabled".to_owned(), true.into());
        members.remove("previous");
        Ok(set(Kind::Key, &id, value))
    });
    Ok(Json(Applied::new(changing.await?, DryRun::default())))
}

/// What a key signs with, where clients of Amazon sign their requests.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Signing {
    /// `AWS_ACCESS_KEY_ID`.
    access_key_id: String,
    /// `AWS_SECRET_ACCESS_KEY`: as good as the key itself.
    secret_access_key: String,
}

/// Show what a key signs with. It is made of the key, so nothing changes; a rotated key has another pair.
#[utoipa::path(
    post,
    path = "/api/keys/{id}/aws",
    tag = "keys",
    params(("id" = String, Path, description = "Its name, percent-encoded.")),
    responses((status = 200, body = Signing), (status = 404, body = Problem), (status = 409, body = Problem))
)]
pub(super) async fn aws(
    State(control): State<Control>,
    Path(id): Path<String>,
    asker: Asker,
) -> Result<Json<Signing>, Problem> {
    asker.needs(Role::Operator)?;
    let snapshot = control.snapshot();
    let missing = || Problem::missing(&format!("keys/{id}, or its secret cannot be had on this node"));
    let caller = snapshot.callers.named(&id).ok_or_else(missing)?;
    let pair = snapshot.derived.as_ref().and_then(|derived| derived.signing_pair(&caller.hash));
    let pair = pair.ok_or_else(|| {
        let detail = "signatures need a data key: start the nodes with key_encryption_key";
        Problem::refused(StatusCode::CONFLICT, detail)
    })?;
    tracing::info!(key = id, actor = asker.origin.actor, "the signing pair of a key was shown");
    let SigningPair { access_key_id, secret_access_key } = pair;
    Ok(Json(Signing { access_key_id, secret_access_key }))
}
