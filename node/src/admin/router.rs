//! The admin router, and how requests of the other listener reach it.

use super::{
    Place,
    api::{self, Sources as ApiSources},
};
use crate::{admin::Health, cluster::Gather, control::Control, metric::Registry};
use axum::{
    Extension, Router,
    extract::{ConnectInfo, Request, State},
    http::{Response, StatusCode, Uri, header},
    response::IntoResponse,
    routing::get,
};
use bytes::Bytes;
use hyper::body::Incoming;
use std::net::SocketAddr;
use tokio::runtime::Handle;
use tower::ServiceExt;
use trestle_gateway::text;

/// Largest answer that is handed to another listener, in bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Whether the router has something at a path, beside probes.
pub(crate) fn serves(path: &str) -> bool {
    path == "/metrics" || path == "/api" || path.starts_with("/api/")
}

/// What operators ask.
#[derive(Clone)]
pub(crate) struct Admin {
    router: Router,
    runtime: Handle,
}

#[derive(Clone)]
struct Sources {
    registry: Registry,
    health: Health,
}

impl Admin {
    /// Runs on the runtime that it is made on.
    pub(crate) fn new(registry: Registry, health: Health, of: (Control, Gather, Place)) -> Self {
        let gateway = registry.gateway.clone();
        let (control, gather, place) = of;
        let router = Router::new()
            .route("/healthz", get(probe))
            .route("/readyz", get(probe))
            .route("/metrics", get(metrics))
            .with_state(Sources { registry, health });
        let router = router.merge(api::router(ApiSources { control, gateway, gather, place }));
        Self { router, runtime: Handle::current() }
    }

    /// The router for the requests of a peer.
    pub(crate) fn router(&self, peer: SocketAddr) -> Router {
        self.router.clone().layer(Extension(ConnectInfo(peer)))
    }

    /// Answers a request that came over another listener; the work is done on the admin runtime.
    pub(crate) async fn answer(&self, request: Request<Incoming>, peer: SocketAddr) -> Response<Bytes> {
        let router = self.router(peer);
        let answer = self.runtime.spawn(async move {
            let Ok(answer) = router.oneshot(request.map(axum::body::Body::new)).await;
            let (head, body) = answer.into_parts();
            axum::body::to_bytes(body, ANSWER_BYTES_MAX).await.map(|body| Response::from_parts(head, body))
        });
        match answer.await {
            Ok(Ok(answer)) => answer,
            // A panic there, or an answer without bounds: both are ours.
            Ok(Err(_)) | Err(_) => {
                let mut answer = Response::new(Bytes::from_static(b"internal error\n"));
                *answer.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
                answer
            }
        }
    }
}

async fn probe(State(sources): State<Sources>, uri: Uri) -> axum::response::Response {
    match sources.health.answer(uri.path()) {
        Some(answer) => answer.map(axum::body::Body::from),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn metrics(State(sources): State<Sources>) -> impl IntoResponse {
    let text = text(&sources.registry.families().await);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
}
