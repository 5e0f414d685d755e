//! The routes of the admin API. Those that are described and those that are served are the same ones.

use super::{
    Place, Problem, audit,
    body::{BODY_BYTES_MAX, DOCUMENT_BYTES_MAX},
    cluster, document, dry_run, entities, keys, ledger, limits,
    openapi::{self, Base},
    requests, revisions, tokens, usage,
};
use crate::{cluster::Gather, control::Control};
use axum::{
    Router,
    extract::{DefaultBodyLimit, FromRef},
    middleware::map_response,
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderValue, Method, StatusCode, Uri, header};
use trestle_gateway::Gateway;
use utoipa::{OpenApi as _, openapi::OpenApi};
use utoipa_axum::{router::OpenApiRouter, routes};

/// What handlers are given.
#[derive(Clone)]
pub(super) struct Sources {
    pub(super) control: Control,
    pub(super) gateway: Gateway,
    pub(super) gather: Gather,
    pub(super) place: Place,
}

impl FromRef<Sources> for Control {
    fn from_ref(sources: &Sources) -> Self {
        sources.control.clone()
    }
}

impl FromRef<Sources> for Gateway {
    fn from_ref(sources: &Sources) -> Self {
        sources.gateway.clone()
    }
}

impl FromRef<Sources> for Gather {
    fn from_ref(sources: &Sources) -> Self {
        sources.gather.clone()
    }
}

impl FromRef<Sources> for Place {
    fn from_ref(sources: &Sources) -> Self {
        sources.place.clone()
    }
}

/// What the handlers say of themselves.
pub(super) fn described() -> OpenApi {
    routes().into_openapi()
}

fn routes() -> OpenApiRouter<Sources> {
    let document = OpenApiRouter::with_openapi(Base::openapi())
        .routes(routes!(document::get, document::put, document::patch))
        .layer(DefaultBodyLimit::max(DOCUMENT_BYTES_MAX));
    let others = OpenApiRouter::new()
        .routes(routes!(entities::list, entities::create))
        .routes(routes!(entities::get, entities::put, entities::patch, entities::delete))
        .routes(routes!(keys::rotate))
        .routes(routes!(keys::revoke))
        .routes(routes!(keys::aws))
        .routes(routes!(revisions::list))
        .routes(routes!(revisions::diff))
        .routes(routes!(revisions::get))
        .routes(routes!(revisions::rollback))
        .routes(routes!(requests::trace))
        .routes(routes!(audit::list))
        .routes(routes!(ledger::list))
        .routes(routes!(usage::sums))
        .routes(routes!(limits::list))
        .routes(routes!(dry_run::ask))
        .routes(routes!(cluster::get))
        .routes(routes!(cluster::remove))
        .routes(routes!(cluster::finalize))
        .routes(routes!(cluster::step_down))
        .routes(routes!(cluster::snapshot))
        .routes(routes!(cluster::backup))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::revoke))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX));
    document.merge(others)
}

/// All routes below `/api`.
pub(super) fn router(sources: Sources) -> Router {
    let (routes, _) = routes().split_for_parts();
    routes
        .route("/api/openapi.json", get(openapi::json))
        .route("/api/docs", get(openapi::docs))
        .fallback(nothing)
        .method_not_allowed_fallback(wrong_method)
        .layer(map_response(as_problem))
        .with_state(sources)
}

/// What was refused before a handler saw it, such as a body that is too large, as problem details.
async fn as_problem(answer: Response) -> Response {
    let of_ours = |value: &HeaderValue| value.as_bytes().starts_with(b"application/");
    let status = answer.status();
    if !status.is_client_error() || answer.headers().get(header::CONTENT_TYPE).is_some_and(of_ours) {
        return answer;
    }
    let text = axum::body::to_bytes(answer.into_body(), BODY_BYTES_MAX).await.unwrap_or_default();
    Problem::refused(status, String::from_utf8_lossy(&text)).into_response()
}

async fn wrong_method(method: Method, uri: Uri) -> Problem {
    let detail = format!("{} does not take {method}; see /api/docs", uri.path());
    Problem::refused(StatusCode::METHOD_NOT_ALLOWED, detail)
}

async fn nothing(uri: Uri) -> Problem {
    Problem::missing(&format!("{} here; there are: /healthz, /readyz, /metrics, /api/docs", uri.path()))
}
