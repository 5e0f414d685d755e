//! `/api/requests/{id}/trace`: why a request went as it did.

use super::{Problem, asker::Asker};
use axum::{
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, header};
use trestle_gateway::Gateway;

/// Why a request went as it did: who asked, which limits counted it with which figures, where it could go and where not and
/// why, what became of it there, and what it cost. Of the last 10,000 requests of this node.
#[utoipa::path(
    get,
    path = "/api/requests/{id}/trace",
    tag = "requests",
    params(("id" = String, Path, description = "What the client got as `x-request-id`.")),
    responses((status = 200, body = serde_json::Value), (status = 404, body = Problem)),
)]
pub(super) async fn trace(
    State(gateway): State<Gateway>,
    Path(id): Path<String>,
    _asker: Asker,
) -> Result<Response, Problem> {
    let parsed = u128::from_str_radix(&id, 16).ok().filter(|_| id.len() == 32);
    let found = parsed.and_then(|id| gateway.trace(id));
    let Some(found) = found else {
        let what =
            "such request among the last 10,000 of this node; what older ones came to is in /api/ledger";
        return Err(Problem::missing(what));
    };
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], found).into_response())
}
