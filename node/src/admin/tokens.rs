//! `/api/admin-tokens`: who may use this API.

use super::{Problem, asker::Asker, body::json};
use crate::{
    control::{ChangeError, Control, Edit, Intent, Role, TOKENS, TokenEntity},
    key::{Holder, Key},
};
use axum::{
    Json,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::StatusCode;
use serde::{Deserialize, Serialize};

/// Most admin tokens, and the longest name.
const TOKENS_MAX: usize = 1_000;
const NAME_BYTES_MAX: usize = 128;

/// A new admin token.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewToken {
    /// Whose it is: the name in the audit record.
    name: String,
    /// What it allows.
    role: Role,
    /// Refused from then on: a time in UTC such as `2027-01-31T00:00:00Z`.
    expires_at: Option<String>,
}

/// An admin token without its secret.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct ShownToken {
    /// Whose it is.
    name: String,
    /// What it allows.
    role: Role,
    /// Refused from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    /// The revision that changed it last.
    revision: u64,
}

/// A token that was made.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct CreatedToken {
    /// Whose it is.
    name: String,
    /// The token itself: it is shown only now.
    secret: String,
    /// The revision that it came with.
    revision: u64,
}

/// All admin tokens.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct TokenList {
    /// In order of their names.
    items: Vec<ShownToken>,
}

/// List the admin tokens, without their secrets. For admins.
#[utoipa::path(get, path = "/api/admin-tokens", tag = "admin tokens", responses((status = 200, body = TokenList)))]
pub(super) async fn list(State(control): State<Control>, asker: Asker) -> Result<Json<TokenList>, Problem> {
    asker.needs(Role::Admin)?;
    let mut items = Vec::new();
    for stored in control.consensus().page(TOKENS, None, TOKENS_MAX)?.1 {
        let token: TokenEntity = serde_json::from_slice(&stored.value).map_err(anyhow::Error::from)?;
        let TokenEntity { role, expires_at, .. } = token;
        items.push(ShownToken { name: stored.id, role, expires_at, revision: stored.revision });
    }
    Ok(Json(TokenList { items }))
}

/// Make an admin token. For admins.
#[utoipa::path(
    post,
    path = "/api/admin-tokens",
    tag = "admin tokens",
    request_body = NewToken,
    responses((status = 201, body = CreatedToken), (status = 409, body = Problem))
)]
pub(super) async fn create(
    State(control): State<Control>,
    asker: Asker,
    body: Bytes,
) -> Result<Response, Problem> {
    asker.needs(Role::Admin)?;
    let NewToken { name, role, expires_at } = json(&body)?;
    if name.trim() != name
        || name.is_empty()
        || name.len() > NAME_BYTES_MAX
        || name.chars().any(char::is_control)
    {
        let detail = format!("`name` must have 1 to {NAME_BYTES_MAX} bytes, without control characters");
        return Err(Problem::bad_request(detail));
    }
    if expires_at.as_ref().is_some_and(|end| humantime::parse_rfc3339(end).is_err()) {
        let detail = "`expires_at` is not a time in UTC; write it as `2027-01-31T00:00:00Z`";
        return Err(Problem::bad_request(detail));
    }
    let secret = Key::generate(Holder::Operator)?;
    let token = TokenEntity { expires_at, ..TokenEntity::new(secret.hash(), role) };
    let changing = control.change(&asker.origin, Intent::Apply, |view| {
        if view.token(&name)?.is_some() {
            return Err(ChangeError::Exists(format!("an admin token `{name}`")));
        }
        if control.consensus().page(TOKENS, None, TOKENS_MAX)?.1.len() == TOKENS_MAX {
            return Err(ChangeError::Exists(format!("as many as {TOKENS_MAX} admin tokens")));
        }
        Ok(Edit { tokens: vec![(name.clone(), Some(token.clone()))], ..Edit::default() })
    });
    let revision = changing.await?.revision;
    let created = CreatedToken { name: name.clone(), secret: secret.reveal().to_owned(), revision };
    Ok((StatusCode::CREATED, Json(created)).into_response())
}

/// Revoke an admin token at once. For admins.
#[utoipa::path(
    delete,
    path = "/api/admin-tokens/{name}",
    tag = "admin tokens",
    params(("name" = String, Path, description = "Whose it is, percent-encoded.")),
    responses((status = 204, description = "It is gone."), (status = 404, body = Problem))
)]
pub(super) async fn revoke(
    State(control): State<Control>,
    Path(name): Path<String>,
    asker: Asker,
) -> Result<StatusCode, Problem> {
    asker.needs(Role::Admin)?;
    let changing = control.change(&asker.origin, Intent::Apply, |view| {
        if view.token(&name)?.is_none() {
            return Err(ChangeError::Missing(format!("admin token `{name}`")));
        }
        Ok(Edit { tokens: vec![(name.clone(), None)], ..Edit::default() })
    });
    changing.await?;
    Ok(StatusCode::NO_CONTENT)
}
