//! `/healthz`: the process runs. `/readyz`: send it requests.

use crate::control::Control;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header::CONTENT_TYPE};
use tokio::sync::watch;
use trestle_gateway::Gateway;

/// Answers to probes.
#[derive(Clone)]
pub(crate) struct Health {
    control: Control,
    gateway: Gateway,
    draining: watch::Receiver<bool>,
}

impl Health {
    pub(crate) fn new(control: Control, gateway: Gateway, draining: watch::Receiver<bool>) -> Self {
        Self { control, gateway, draining }
    }

    /// Whether a path is a probe's.
    pub(crate) fn serves(path: &str) -> bool {
        matches!(path, "/healthz" | "/readyz")
    }

    /// The answer to a probe; `None` for other paths.
    pub(crate) fn answer(&self, path: &str) -> Option<Response<Bytes>> {
        let (status, body) = match path {
            "/healthz" => (StatusCode::OK, r#"{"status":"ok"}"#.to_owned()),
            "/readyz" if *self.draining.borrow() => {
                (StatusCode::SERVICE_UNAVAILABLE, r#"{"status":"draining"}"#.to_owned())
            }
            "/readyz" => {
                let revision = self.gateway.snapshot().revision;
                if revision == 0 {
                    // What is kept does not compile here and never did: there is nothing to serve.
                    return Some(json(
                        StatusCode::SERVICE_UNAVAILABLE,
                        r#"{"status":"no document"}"#.to_owned(),
                    ));
                }
                // Requests are served without it: a node that is alone must not be taken away for it.
                let store = if self.control.consensus().is_running() { "" } else { r#","store":"down""# };
                (StatusCode::OK, format!(r#"{{"status":"ready","revision":{revision}{store}}}"#))
            }
            _ => return None,
        };
        Some(json(status, body))
    }
}

fn json(status: StatusCode, body: String) -> Response<Bytes> {
    let mut answer = Response::new(Bytes::from(body));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}
