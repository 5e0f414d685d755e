//! The routes of the admin API. Those that are described and those that are served are the same ones.

use super::{
    Problem, audit,
    body::{BODY_BYTES_MAX, DOCUMENT_BYTES_MAX},
    document, dry_run, entities, keys,
    openapi::{self, Base, Description},
    revisions, tokens,
};
use crate::control::Control;
use axum::{
    Router,
    extract::{DefaultBodyLimit, FromRef},
    routing::get,
};
use http::Uri;
use trestle_gateway::Gateway;
use utoipa::OpenApi as _;
use utoipa_axum::{router::OpenApiRouter, routes};

/// What handlers are given.
#[derive(Clone)]
pub(super) struct Sources {
    pub(super) control: Control,
    pub(super) gateway: Gateway,
    description: Description,
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

impl FromRef<Sources> for Description {
    fn from_ref(sources: &Sources) -> Self {
        sources.description.clone()
    }
}

/// All routes below `/api`.
pub(super) fn router(control: Control, gateway: Gateway) -> Router {
    let document = OpenApiRouter::with_openapi(Base::openapi())
        .routes(routes!(document::get, document::put, document::patch))
        .layer(DefaultBodyLimit::max(DOCUMENT_BYTES_MAX));
    let others = OpenApiRouter::new()
        .routes(routes!(entities::list, entities::create))
        .routes(routes!(entities::get, entities::put, entities::patch, entities::delete))
        .routes(routes!(keys::rotate))
        .routes(routes!(keys::revoke))
        .routes(routes!(revisions::list))
        .routes(routes!(revisions::diff))
        .routes(routes!(revisions::get))
        .routes(routes!(revisions::rollback))
        .routes(routes!(audit::list))
        .routes(routes!(dry_run::ask))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::revoke))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX));
    let (routes, api) = document.merge(others).split_for_parts();
    let sources = Sources { control, gateway, description: Description::new(&api) };
    routes
        .route("/api/openapi.json", get(openapi::json))
        .route("/api/docs", get(openapi::docs))
        .fallback(nothing)
        .with_state(sources)
}

async fn nothing(uri: Uri) -> Problem {
    Problem::missing(&format!("{} here; there are: /healthz, /readyz, /metrics, /api/docs", uri.path()))
}
