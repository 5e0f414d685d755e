//! Which request is whose: method and path of the inference endpoints.

use http::Method;
use trestle_dialect::Dialect;
use trestle_provider::Operation;

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
    pub const PATHS: [&'static str; 9] = [
        "POST /v1/chat/completions",
        "POST /v1/messages",
        "POST /v1/completions",
        "POST /v1/embeddings",
        "GET /v1/models",
        "the same below /openai and /anthropic",
        "GET /healthz",
        "GET /readyz",
        "GET /metrics",
    ];

    /// The endpoint of a method and path; `None` if it is not one of ours. A known path with a wrong method is
    /// `Err` with the method that it takes.
    pub fn find(method: &Method, path: &str) -> Option<Result<Self, &'static str>> {
        let below = path.strip_prefix("/openai").or_else(|| path.strip_prefix("/anthropic")).unwrap_or(path);
        let found = match below.strip_prefix("/v1").unwrap_or(below) {
            "/chat/completions" => Self::Generate(Dialect::OpenAiChat),
            "/messages" => Self::Generate(Dialect::AnthropicMessages),
            "/completions" => Self::Completions,
            "/embeddings" => Self::Embeddings,
            "/models" => Self::Models,
            _ => return None,
        };
        // Without a prefix the version is not optional: `/models` is nobody's path.
        if below.len() == path.len() && !path.starts_with("/v1/") {
            return None;
        }
        let (right, name) = if found == Self::Models { (Method::GET, "GET") } else { (Method::POST, "POST") };
        Some(if *method == right { Ok(found) } else { Err(name) })
    }

    /// The dialect in which the client speaks here.
    pub(crate) const fn dialect(self) -> Dialect {
        match self {
            Self::Generate(dialect) => dialect,
            Self::Completions | Self::Embeddings | Self::Models => Dialect::OpenAiChat,
        }
    }

    /// The name in logs and metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Generate(dialect) => dialect.name(),
            Self::Completions => "completions",
            Self::Embeddings => "embeddings",
            Self::Models => "models",
        }
    }

    /// What is asked of a provider that speaks `dialect`.
    pub(crate) const fn operation(self, dialect: Dialect) -> Operation {
        match self {
            Self::Completions => Operation::Completions,
            Self::Embeddings => Operation::Embeddings,
            Self::Generate(_) | Self::Models => Operation::Generate(dialect),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_with_and_without_prefix() {
        let chat = Endpoint::Generate(Dialect::OpenAiChat);
        let messages = Endpoint::Generate(Dialect::AnthropicMessages);
        for (method, path, expected) in [
            (Method::POST, "/v1/chat/completions", Some(Ok(chat))),
            (Method::POST, "/openai/v1/chat/completions", Some(Ok(chat))),
            (Method::POST, "/openai/chat/completions", Some(Ok(chat))),
            (Method::POST, "/anthropic/v1/messages", Some(Ok(messages))),
            (Method::POST, "/v1/messages", Some(Ok(messages))),
            (Method::GET, "/openai/v1/models", Some(Ok(Endpoint::Models))),
            (Method::POST, "/v1/embeddings", Some(Ok(Endpoint::Embeddings))),
            (Method::POST, "/v1/completions", Some(Ok(Endpoint::Completions))),
            (Method::GET, "/v1/chat/completions", Some(Err("POST"))),
            (Method::POST, "/v1/models", Some(Err("GET"))),
            (Method::POST, "/chat/completions", None),
            (Method::GET, "/models", None),
            (Method::POST, "/v1/chat/completions/", None),
            (Method::POST, "/v2/messages", None),
            (Method::GET, "/", None),
            (Method::GET, "/openai", None),
        ] {
            assert_eq!(Endpoint::find(&method, path), expected, "{method} {path}");
        }
    }
}
