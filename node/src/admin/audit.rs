//! `/api/audit`: who changed what. The records are those of the revisions themselves, chained by SHA-256.

use super::{
    Problem,
    asker::Asker,
    revisions::{Which, shown, time},
    shown::Changed,
};
use crate::{
    control::{Control, Origin},
    key::hex,
};
use axum::{
    Json,
    extract::{Query, State},
    response::{IntoResponse, Response},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use http::header;
use serde::{Deserialize, Serialize};
use tokio::task::block_in_place;
use trestle_cluster::Revision;

/// A page of audit records, the newest first.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct AuditPage {
    items: Vec<AuditRecord>,
    /// Ask for the next page with `before` of this; the last page has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
    /// The head of the chain.
    head: Head,
}

/// The last record of the chain.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Head {
    revision: u64,
    /// The SHA-256 of the last record, in hexadecimal.
    sha256: String,
}

/// What one revision did, and the records that prove it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct AuditRecord {
    revision: u64,
    /// When, in UTC.
    at: String,
    /// Who, from where, what was asked.
    origin: Origin,
    /// What changed; secrets masked.
    changes: Vec<Changed>,
    /// The records as they are hashed, in base64: each holds the SHA-256 of the one before.
    records: Vec<String>,
}

impl From<Revision> for AuditRecord {
    fn from(revision: Revision) -> Self {
        Self {
            revision: revision.revision,
            at: time(revision.at_unix_ms),
            origin: Origin::from_bytes(&revision.origin),
            changes: revision.steps.into_iter().map(shown).collect(),
            records: revision.records.iter().map(|record| BASE64_STANDARD.encode(record)).collect(),
        }
    }
}

/// How the records are to look.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Form {
    /// `json` (default), or `jsonl`: a record a line.
    #[serde(default)]
    #[param(inline)]
    format: Format,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    #[default]
    Json,
    Jsonl,
}

/// Who changed what: the newest first.
#[utoipa::path(get, path = "/api/audit", tag = "audit", params(Which, Form), responses((status = 200, body = AuditPage)))]
pub(super) async fn list(
    State(control): State<Control>,
    (Query(which), Query(form)): (Query<Which>, Query<Form>),
    _asker: Asker,
) -> Result<Response, Problem> {
    block_in_place(|| {
        let (revision, sha256) = control.consensus().head()?;
        // No record is newer than the head that is told.
        let history = which.until(revision).history(&control)?;
        let next = history.last().map(|last| last.revision).filter(|last| *last > 1);
        let items: Vec<AuditRecord> = history.into_iter().map(Into::into).collect();
        if form.format == Format::Jsonl {
            let mut lines = String::new();
            for item in &items {
                lines.push_str(&serde_json::to_string(item).map_err(anyhow::Error::from)?);
                lines.push('\n');
            }
            return Ok(([(header::CONTENT_TYPE, "application/jsonl")], lines).into_response());
        }
        let head = Head { revision, sha256: hex(&sha256) };
        Ok(Json(AuditPage { items, next, head }).into_response())
    })
}
