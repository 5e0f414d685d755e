//! Which request is whose: method and path of the inference endpoints.

use http::Method;
use trestle_dialect::Dialect;

/// An inference endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// Generate a message: `/v1/chat/completions`, `/v1/messages`.
    Generate(Dialect),
    /// `/v1/completions`.
    Completions,
    /// `/v1/embeddings`.
    Embeddings,
    /// `GET /v1/models`, in the OpenAI or the Anthropic shape.
    Models,
}

impl Endpoint {
    /// The paths that exist, for the 404 that lists them.
    pub const PATHS: [&'static str; 8] = [
        "POST /v1/chat/completions",
        "POST /v1/messages",
        "POST /v1/completions",
        "POST /v1/embeddings",
        "GET /v1/models",
        "POST /openai/v1/... (the same)",
        "POST /anthropic/v1/messages",
        "GET /healthz, /readyz, /metrics",
    ];

    /// The endpoint of a method and path; `None` if it is not one of ours. A known path with a wrong method is
    /// `Err` with the method that it takes.
    #[allow(unused_variables, clippy::unimplemented)]
    pub fn find(method: &Method, path: &str) -> Option<Result<Self, &'static str>> {
        unimplemented!()
    }
}
