//! `/api/requests/{id}/trace`: why a request went as it did.

use super::{Problem, asker::Asker};
use crate::cluster::{Gather, Gathered};
use axum::{
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, header};

/// Why a request went as it did: who asked, which limits counted it with which figures, where it could go and where not and
/// why, what became of it there, and what it cost. Of the last 10,000 requests of each node.
#[utoipa::path(
    get,
    path = "/api/requests/{id}/trace",
    tag = "requests",
    params(("id" = String, Path, description = "What the client got as `x-request-id`.")),
    responses((status = 200, body = serde_json::Value), (status = 404, body = Problem)),
)]
pub(super) async fn trace(
    State(gather): State<Gather>,
    Path(id): Path<String>,
    _asker: Asker,
) -> Result<Response, Problem> {
    let parsed = u128::from_str_radix(&id, 16).ok().filter(|_| id.len() == 32);
    let found = match parsed {
        Some(id) => gather.trace(id).await?,
        None => Gathered { all: None, incomplete: Vec::new() },
    };
    let Some(trace) = found.all else { return Err(missing(&found.incomplete)) };
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], trace).into_response())
}

/// Whether it is nowhere is not known where a node did not answer.
fn missing(incomplete: &[String]) -> Problem {
    let what = "such request among the last 10,000 of each node; what older ones came to is in /api/ledger";
    match incomplete {
        [] => Problem::missing(what),
        silent => Problem::missing(&format!("{what}. These nodes did not answer: {}", silent.join(", ")))
            .incomplete(silent),
    }
}
