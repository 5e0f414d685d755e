//! Data threads: each a `LocalRuntime` with pools, metric shard and ring of its own.

use crate::{Answer, Endpoint, RequestBody};
use http::{Request, Response};
use std::rc::Rc;

/// What one data thread owns. Never leaves its thread.
pub struct Worker {
    _private: (),
}

#[allow(unused_variables, clippy::unimplemented)]
impl Worker {
    /// Serves one request here. Never fails: errors are answers. A panic ends this request alone.
    pub async fn handle(
        self: &Rc<Self>,
        endpoint: Endpoint,
        request: Request<RequestBody>,
    ) -> Response<Answer> {
        unimplemented!()
    }

    /// Serves one request here, or on the least loaded thread if this one is busier by a threshold: for connections
    /// that carry many requests at once (HTTP/2).
    pub async fn handle_spread(
        self: &Rc<Self>,
        endpoint: Endpoint,
        request: Request<RequestBody>,
    ) -> Response<Answer> {
        unimplemented!()
    }

    /// Answers a request that is no inference request with an error of ours (404, 405, ...) in JSON.
    pub fn refuse(
        &self,
        request: &Request<RequestBody>,
        status: http::StatusCode,
        message: &str,
    ) -> Response<Answer> {
        unimplemented!()
    }
}
