//! The endpoints under `/_mock`: what was recorded, what each call came to, and the script.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Response, StatusCode, header::CONTENT_TYPE};
use serde_json::json;

use super::body::{Step, Steps};
use super::serve::Upstream;

/// Answers a control request.
pub(super) fn handle(upstream: &Upstream, method: &Method, path: &str, body: &[u8]) -> Response<Steps> {
    let (status, text) = match (method, path) {
        (&Method::GET, "/_mock/requests") => (StatusCode::OK, upstream.recorder.to_json().to_string()),
        (&Method::DELETE, "/_mock/requests") => {
            upstream.recorder.clear();
            (StatusCode::OK, json!({ "requests": [] }).to_string())
        }
        (&Method::GET, "/_mock/account") => (StatusCode::OK, upstream.tallies.to_json().to_string()),
        (&Method::DELETE, "/_mock/account") => {
            upstream.tallies.clear();
            (StatusCode::OK, json!({ "calls": [] }).to_string())
        }
        (&Method::GET, "/_mock/script") => {
            (StatusCode::OK, json!({ "waiting": upstream.script.len() }).to_string())
        }
        (&Method::POST, "/_mock/script") => match upstream.script.add_json(body) {
            Ok(waiting) => (StatusCode::OK, json!({ "waiting": waiting }).to_string()),
            Err(problem) => (StatusCode::BAD_REQUEST, json!({ "error": problem }).to_string()),
        },
        (&Method::DELETE, "/_mock/script") => {
            upstream.script.clear();
            (StatusCode::OK, json!({ "waiting": 0 }).to_string())
        }
        _ => {
            let known =
                "GET|DELETE /_mock/requests, GET|DELETE /_mock/account, GET|POST|DELETE /_mock/script";
            (StatusCode::NOT_FOUND, json!({ "error": "no such control", "known": known }).to_string())
        }
    };
    plain(status, "application/json", text)
}

/// An answer that is not recorded.
pub(super) fn plain(status: StatusCode, mime: &'static str, text: String) -> Response<Steps> {
    let length = text.len();
    let steps = VecDeque::from([Step::Data(Bytes::from(text))]);
    let mut response = Response::new(Steps::new(steps, None, Arc::default()).with_length(length));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(mime));
    response
}
