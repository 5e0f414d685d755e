//! Which request is whose: what method and path say of an inference request.

use crate::{Act, Item, kept::stored};
use http::Method;
use percent_encoding::percent_decode_str;
use std::net::IpAddr;
use trestle_dialect::{Dialect, Stored, embed::Api};
use trestle_provider::{Operation, Stream};

/// An inference endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// Generate a message.
    Generate(Dialect),
    /// Embed something.
    Embed(Api),
    /// What is passed on as it is, but for the model.
    Pass(Operation),
    /// Something about what a provider keeps.
    Stored(Stored, Act),
    /// Whatever a provider has, called as it is; the dialect in which our own errors are told.
    Passthrough(Dialect),
    /// A session over WebSocket: OpenAI's Realtime API.
    Realtime,
    /// The list of models, or one that the path names, in the shape of a dialect's vendor.
    Models(Dialect),
    /// What the caller may use and has used; the dialect in which our own errors are told.
    Usage(Dialect),
}

/// What the first line of a request says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLine {
    /// What is asked for.
    pub endpoint: Endpoint,
    /// What some vendors put into the path.
    pub named: Option<Named>,
    /// What of the kept is meant.
    pub item: Option<Box<Item>>,
    /// What form the events of an answer have.
    pub form: Form,
    /// The key of the client, where the query holds one (Gemini's `key`).
    pub key: Option<Box<str>>,
    /// Path and query as they came, where requests may be signed (Bedrock).
    pub target: Option<Box<str>>,
    /// A call of a provider as it is.
    pub through: Option<Box<Through>>,
    /// From where the request comes, where that is known.
    pub peer: Option<IpAddr>,
}

/// A call of a provider as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Through {
    /// The provider's name in the document.
    pub provider: Box<str>,
    /// The method.
    pub method: Method,
    /// The path behind the provider's name, as it came.
    pub path: Box<str>,
    /// The query, without the key of the client.
    pub query: Option<Box<str>>,
}

/// What form the events of an answer have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
    /// The dialect's own.
    #[default]
    Events,
    /// One JSON array: Gemini without `alt=sse`.
    Array,
}

/// A path that names the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The model.
    pub model: Box<str>,
    /// Whether the answer is to be streamed; `None` where the body says that.
    pub stream: Option<bool>,
}

/// What stands before the paths of an SDK. Which one it is does not matter, but for lists of models and errors.
const PREFIXES: [(&str, Dialect); 7] = [
    ("/openai", Dialect::OpenAiChat),
    ("/anthropic", Dialect::AnthropicMessages),
    ("/genai", Dialect::Gemini),
    ("/bedrock", Dialect::BedrockConverse),
    ("/cohere", Dialect::CohereChat),
    ("/litellm", Dialect::OpenAiChat),
    ("/langchain", Dialect::OpenAiChat),
];

impl From<Endpoint> for RequestLine {
    fn from(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            named: None,
            item: None,
            form: Form::Events,
            key: None,
            target: None,
            through: None,
            peer: None,
        }
    }
}

impl RequestLine {
    /// The paths that exist, for the 404 that lists them.
    pub const PATHS: [&'static str; 52] = [
        "POST /v1/chat/completions",
        "POST /v1/responses",
        "GET, DELETE /v1/responses/{id}",
        "POST /v1/responses/{id}/cancel",
        "GET /v1/responses/{id}/input_items",
        "POST /v1/responses/input_tokens",
        "POST /v1/messages",
        "POST /v1beta/models/{model}:generateContent",
        "POST /v1beta/models/{model}:streamGenerateContent",
        "POST /model/{model}/converse",
        "POST /model/{model}/converse-stream",
        "POST /v2/chat",
        "POST /v1/completions",
        "POST /v1/embeddings",
        "POST /v1/moderations",
        "POST /v1/images/generations",
        "POST /v1/images/edits",
        "POST /v1/images/variations",
        "POST /v1/audio/speech",
        "POST /v1/audio/transcriptions",
        "POST /v1/audio/translations",
        "POST /v1/rerank",
        "POST /v2/rerank",
        "POST /v2/embed",
        "POST /v1/messages/count_tokens",
        "POST /v1beta/models/{model}:countTokens",
        "POST /v1beta/models/{model}:embedContent",
        "POST /v1beta/models/{model}:batchEmbedContents",
        "POST /model/{model}/invoke",
        "POST /v1/files",
        "GET, DELETE /v1/files/{id}",
        "GET /v1/files/{id}/content",
        "POST /v1/batches",
        "GET /v1/batches/{id}",
        "POST /v1/batches/{id}/cancel",
        "POST /v1/messages/batches",
        "GET, DELETE /v1/messages/batches/{id}",
        "POST /v1/messages/batches/{id}/cancel",
        "GET /v1/messages/batches/{id}/results",
        "GET /v1/realtime?model={model} (WebSocket)",
        "GET /v1/models",
        "GET /v1/models/{model}",
        "GET /v1beta/models",
        "GET /v1beta/models/{model}",
        "GET /v1/usage",
        "the same below /openai, /anthropic, /genai, /bedrock, /cohere, /litellm and /langchain",
        "POST /openai/deployments/{model}/chat/completions",
        "and .../completions, embeddings, images/generations, images/edits, audio/speech, audio/transcriptions, audio/translations",
        "any method /passthrough/{provider}/...",
        "GET /healthz",
        "GET /readyz",
        "GET /metrics",
    ];

    /// What a method and target (a path, perhaps with a query) ask for; `None` if the path is not one of ours. A known
    /// path with a wrong method is `Err` with the method that it takes.
    pub fn find(method: &Method, target: &str) -> Option<Result<Self, &'static str>> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if let Some(rest) = path.strip_prefix("/passthrough/") {
            return through(method, rest, target.split_once('?').map(|(_, query)| query)).map(Ok);
        }
        let (prefix, below) = split_prefix(path);
        let model = || (*method == Method::GET).then(|| one_model(below, prefix)).flatten();
        let Some(mut found) = fixed(below, prefix).or_else(model).or_else(|| named(below)) else {
            // Anthropic's own files are another thing.
            let below = unversioned(below, prefix)?;
            let theirs = below.starts_with("files") && prefix == Some(Dialect::AnthropicMessages);
            return if theirs { None } else { stored::find(method, below, query) };
        };
        if found.endpoint.dialect() == Dialect::Gemini {
            found.read_query(query);
        }
        if found.endpoint == Endpoint::Realtime {
            found.named = session_model(query);
        }
        let signable = matches!(
            found.endpoint,
            Endpoint::Generate(Dialect::BedrockConverse) | Endpoint::Embed(Api::Bedrock)
        );
        if signable {
            found.target = Some(target.into());
        }
        let list = matches!(found.endpoint, Endpoint::Models(_) | Endpoint::Usage(_) | Endpoint::Realtime);
        let (right, name) = if list { (Method::GET, "GET") } else { (Method::POST, "POST") };
        Some(if *method == right { Ok(found) } else { Err(name) })
    }
}

impl RequestLine {
    fn read_query(&mut self, query: &str) {
        if in_query(query, "alt") != Some("sse") {
            self.form = Form::Array;
        }
        self.key = key_in(query);
    }
}

fn in_query<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// The model of a session stands in the query; Azure calls it a deployment.
fn session_model(query: &str) -> Option<Named> {
    let model = in_query(query, "model").or_else(|| in_query(query, "deployment"))?;
    let model = percent_decode_str(model).decode_utf8().ok().filter(|model| !model.is_empty())?;
    Some(Named { model: model.into(), stream: Some(true) })
}

fn key_in(query: &str) -> Option<Box<str>> {
    in_query(query, "key").and_then(|key| percent_decode_str(key).decode_utf8().ok()).map(|key| key.into())
}

/// `NAME/...`: what follows the name of a provider goes to it. A `key` in the query is the client's, and stays here.
fn through(method: &Method, rest: &str, query: Option<&str>) -> Option<RequestLine> {
    let (provider, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let provider = percent_decode_str(provider).decode_utf8().ok().filter(|name| !name.is_empty())?;
    let is_key = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default();
        percent_decode_str(name).decode_utf8_lossy() == "key"
    };
    let key = query.and_then(key_in);
    let others = |query: &str| query.split('&').filter(|pair| !is_key(pair)).collect::<Vec<_>>().join("&");
    let query = query.map(others).filter(|query| !query.is_empty());
    let through = Through {
        provider: provider.into(),
        method: method.clone(),
        path: path.into(),
        query: query.as_deref().map(Into::into),
    };
    let through = Some(Box::new(through));
    Some(RequestLine { through, key, ..Endpoint::Passthrough(Dialect::OpenAiChat).into() })
}

/// The vendor of the SDK that a prefix is for, and the path below it.
fn split_prefix(path: &str) -> (Option<Dialect>, &str) {
    for (prefix, dialect) in PREFIXES {
        if let Some(below) = path.strip_prefix(prefix)
            && below.starts_with('/')
        {
            return (Some(dialect), below);
        }
    }
    (None, path)
}

/// The dialect in which an error is told to a client that asked for a path that is nobody's.
pub(crate) fn dialect_of(path: &str) -> Dialect {
    split_prefix(path).0.unwrap_or(Dialect::OpenAiChat)
}

/// Paths that hold no name. Without a prefix the version is not optional: `/models` is nobody's path.
fn fixed(path: &str, prefix: Option<Dialect>) -> Option<RequestLine> {
    match path {
        "/v2/chat" => return Some(Endpoint::Generate(Dialect::CohereChat).into()),
        "/v2/embed" => return Some(Endpoint::Embed(Api::Cohere).into()),
        "/v2/rerank" => return Some(Endpoint::Pass(Operation::Rerank).into()),
        "/v1beta/models" => return Some(Endpoint::Models(Dialect::Gemini).into()),
        _ => {}
    }
    let endpoint = match unversioned(path, prefix)? {
        "chat/completions" => Endpoint::Generate(Dialect::OpenAiChat),
        "messages" => Endpoint::Generate(Dialect::AnthropicMessages),
        "responses" => Endpoint::Generate(Dialect::OpenAiResponses),
        "completions" => Endpoint::Pass(Operation::Completions),
        "embeddings" => Endpoint::Embed(Api::OpenAi),
        "moderations" => Endpoint::Pass(Operation::Moderations),
        "images/generations" => Endpoint::Pass(Operation::ImageGenerations),
        "images/edits" => Endpoint::Pass(Operation::ImageEdits),
        "images/variations" => Endpoint::Pass(Operation::ImageVariations),
        "audio/speech" => Endpoint::Pass(Operation::Speech),
        "audio/transcriptions" => Endpoint::Pass(Operation::Transcriptions),
        "audio/translations" => Endpoint::Pass(Operation::Translations),
        "messages/count_tokens" => Endpoint::Pass(Operation::CountTokens),
        "responses/input_tokens" => Endpoint::Pass(Operation::ResponseTokens),
        "rerank" => Endpoint::Pass(Operation::Rerank),
        "realtime" => Endpoint::Realtime,
        "models" => Endpoint::Models(prefix.unwrap_or(Dialect::OpenAiChat)),
        "usage" => Endpoint::Usage(prefix.unwrap_or(Dialect::OpenAiChat)),
        _ => return None,
    };
    Some(endpoint.into())
}

/// What follows the version, which a prefix makes optional.
fn unversioned(path: &str, prefix: Option<Dialect>) -> Option<&str> {
    path.strip_prefix("/v1/").or_else(|| prefix.and_then(|_| path.strip_prefix('/')))
}

/// `/v1/models/ID`.
fn one_model(path: &str, prefix: Option<Dialect>) -> Option<RequestLine> {
    let (dialect, id) = match path.strip_prefix("/v1beta/models/") {
        Some(id) => (Dialect::Gemini, id),
        None => {
            let below = path.strip_prefix("/v1").or(prefix.map(|_| path))?;
            (prefix.unwrap_or(Dialect::OpenAiChat), below.strip_prefix("/models/")?)
        }
    };
    let model = percent_decode_str(id).decode_utf8().ok().filter(|model| !model.is_empty())?;
    let named = Some(Named { model: model.into(), stream: None });
    Some(RequestLine { named, ..Endpoint::Models(dialect).into() })
}

/// Paths that hold the model: `/model/ID/converse`, `/v1beta/models/ID:generateContent`, `/deployments/ID/embeddings`.
fn named(path: &str) -> Option<RequestLine> {
    let line = |endpoint: Endpoint, model: &str, stream| {
        // An id that is no text names no model of anybody.
        let model = percent_decode_str(model).decode_utf8().ok().filter(|model| !model.is_empty())?;
        Some(RequestLine { named: Some(Named { model: model.into(), stream }), ..endpoint.into() })
    };
    if let Some(rest) = path.strip_prefix("/model/") {
        let (model, operation) = rest.rsplit_once('/')?;
        let (endpoint, stream) = match operation {
            "converse" => (Endpoint::Generate(Dialect::BedrockConverse), false),
            "converse-stream" => (Endpoint::Generate(Dialect::BedrockConverse), true),
            "invoke" => (Endpoint::Embed(Api::Bedrock), false),
            _ => return None,
        };
        return line(endpoint, model, Some(stream));
    }
    if let Some(rest) = path.strip_prefix("/deployments/") {
        let (model, operation) = rest.split_once('/')?;
        let endpoint = match operation {
            "chat/completions" => Endpoint::Generate(Dialect::OpenAiChat),
            "completions" => Endpoint::Pass(Operation::Completions),
            "embeddings" => Endpoint::Embed(Api::OpenAi),
            "images/generations" => Endpoint::Pass(Operation::ImageGenerations),
            "images/edits" => Endpoint::Pass(Operation::ImageEdits),
            "audio/speech" => Endpoint::Pass(Operation::Speech),
            "audio/transcriptions" => Endpoint::Pass(Operation::Transcriptions),
            "audio/translations" => Endpoint::Pass(Operation::Translations),
            _ => return None,
        };
        return line(endpoint, model, None);
    }
    let below = path.strip_prefix("/v1beta").or_else(|| path.strip_prefix("/v1")).unwrap_or(path);
    let (model, operation) = below.strip_prefix("/models/")?.rsplit_once(':')?;
    let (endpoint, stream) = match operation {
        "generateContent" => (Endpoint::Generate(Dialect::Gemini), false),
        "streamGenerateContent" => (Endpoint::Generate(Dialect::Gemini), true),
        "countTokens" => (Endpoint::Pass(Operation::GeminiCountTokens), false),
        "embedContent" => (Endpoint::Embed(Api::Gemini), false),
        "batchEmbedContents" => (Endpoint::Embed(Api::GeminiBatch), false),
        _ => return None,
    };
    line(endpoint, model, Some(stream))
}

impl Endpoint {
    /// The dialect in which the client speaks here.
    pub(crate) const fn dialect(self) -> Dialect {
        match self {
            Self::Generate(dialect)
            | Self::Models(dialect)
            | Self::Usage(dialect)
            | Self::Passthrough(dialect) => dialect,
            Self::Embed(api) => api.dialect(),
            Self::Pass(operation) => operation.dialect(),
            Self::Stored(stored, _) => stored.dialect(),
            Self::Realtime => Operation::Realtime.dialect(),
        }
    }

    /// Whether its requests are forms, or may be.
    pub(crate) const fn takes_form(self) -> bool {
        match self {
            Self::Pass(operation) => operation.takes_form(),
            Self::Stored(stored, act) => matches!((stored, act), (Stored::File, Act::Create)),
            _ => false,
        }
    }

    /// The operation, if it is about sound or pictures.
    pub(crate) fn media(self) -> Option<Operation> {
        match self {
            Self::Pass(operation) if operation.is_media() => Some(operation),
            _ => None,
        }
    }

    /// The name in logs and metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Generate(dialect) => dialect.name(),
            Self::Embed(api) => Operation::embed(api).name(),
            Self::Pass(operation) => operation.name(),
            Self::Stored(stored, act) => stored::name(stored, act),
            Self::Passthrough(_) => "passthrough",
            Self::Realtime => Operation::Realtime.name(),
            Self::Models(_) => "models",
            Self::Usage(_) => "usage",
        }
    }

    /// What is asked of a provider that speaks `dialect`; of one that embeds, its own.
    pub(crate) const fn operation(self, dialect: Dialect, stream: Stream) -> Operation {
        match self {
            Self::Embed(api) => Operation::embed(api),
            Self::Pass(operation) => operation,
            Self::Realtime => Operation::Realtime,
            Self::Stored(stored, _) => Operation::stored(stored),
            Self::Generate(_) | Self::Models(_) | Self::Usage(_) | Self::Passthrough(_) => {
                Operation::generate(dialect, stream)
            }
        }
    }
}

#[cfg(test)]
mod tests;
