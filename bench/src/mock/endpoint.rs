//! What method and path lead to.

use http::{HeaderMap, Method, Uri, header::AUTHORIZATION, request};

use super::serve::header;
use super::vendor::{Framing, Vendor};
use super::{anthropic, bedrock, cohere, form, gemini, openai};

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Chat,
    Responses,
    Messages,
    CountTokens,
    Completions,
    Embeddings,
    Images,
    Speech,
    Transcriptions,
    Translations,
    ImageEdits,
    ImageVariations,
    Moderations,
    CohereChat,
    CohereEmbed,
    Rerank,
    Models,
    Model(String),
    DeleteModel(String),
    Converse { model: String, stream: bool },
    Generate { model: String, stream: Option<Framing> },
    GeminiCount(String),
    Embed(String),
    BatchEmbed(String),
    GeminiModels,
    GeminiModel(String),
    ResponseTokens,
    Kept { what: Kind, id: String, action: String },
    Unknown(Unknown),
}

/// What a vendor keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Response,
    MessageBatch,
    Batch,
    File,
}

/// Whose path it would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    OpenAiOrAnthropic,
    Bedrock,
    Gemini,
}

impl Endpoint {
    /// Any prefix is accepted, as base URLs differ (`/v1`, `/openai/v1`, ...).
    pub(super) fn find(method: &Method, uri: &Uri, headers: &HeaderMap) -> Self {
        let (path, post) = (uri.path(), method == Method::POST);
        let get = matches!(*method, Method::GET | Method::HEAD);
        if let Some((_, rest)) = path.split_once("/model/") {
            return Self::of_bedrock(rest).filter(|_| post).unwrap_or(Self::Unknown(Unknown::Bedrock));
        }
        if let Some(found) = Self::of_gemini(method, uri, headers) {
            return found;
        }
        if let Some(found) = Self::of_kept(path) {
            return found;
        }
        match path {
            _ if post && path.ends_with("/chat/completions") => Self::Chat,
            _ if post && path.ends_with("/responses") => Self::Responses,
            _ if post && path.ends_with("/completions") => Self::Completions,
            _ if post && path.ends_with("/messages") => Self::Messages,
            _ if post && path.ends_with("/messages/count_tokens") => Self::CountTokens,
            _ if post && path.ends_with("/images/generations") => Self::Images,
            _ if post && path.ends_with("/audio/speech") => Self::Speech,
            _ if post && path.ends_with("/audio/transcriptions") => Self::Transcriptions,
            _ if post && path.ends_with("/audio/translations") => Self::Translations,
            _ if post && path.ends_with("/images/edits") => Self::ImageEdits,
            _ if post && path.ends_with("/images/variations") => Self::ImageVariations,
            _ if post && path.ends_with("/moderations") => Self::Moderations,
            _ if post && path.ends_with("/embeddings") => Self::Embeddings,
            _ if post && path.ends_with("/chat") => Self::CohereChat,
            _ if post && path.ends_with("/embed") => Self::CohereEmbed,
            _ if post && path.ends_with("/rerank") => Self::Rerank,
            _ if get && path.ends_with("/models") => Self::Models,
            _ if get || method == Method::DELETE => match path.split_once("/models/") {
                Some((_, id)) if !id.is_empty() && !get => Self::DeleteModel(id.to_owned()),
                Some((_, id)) if !id.is_empty() => Self::Model(id.to_owned()),
                _ => Self::Unknown(Unknown::OpenAiOrAnthropic),
            },
            _ => Self::Unknown(Unknown::OpenAiOrAnthropic),
        }
    }

    /// Whatever the method: the vendor says which it takes. The id is empty where all are meant.
    fn of_kept(path: &str) -> Option<Self> {
        if path.ends_with("/responses/input_tokens") {
            return Some(Self::ResponseTokens);
        }
        const ALL: [(&str, Kind); 4] = [
            ("/messages/batches", Kind::MessageBatch),
            ("/responses", Kind::Response),
            ("/batches", Kind::Batch),
            ("/files", Kind::File),
        ];
        let found = |(name, what)| Some((what, path.split_once(name)?.1));
        let (what, rest) = ALL.into_iter().find_map(found)?;
        let (id, action) = match rest.strip_prefix('/') {
            Some(rest) => rest.split_once('/').unwrap_or((rest, "")),
            None if rest.is_empty() && what != Kind::Response => ("", ""),
            None => return None,
        };
        Some(Self::Kept { what, id: decoded(id), action: action.to_owned() })
    }

    fn of_bedrock(rest: &str) -> Option<Self> {
        let (model, operation) = rest.rsplit_once('/')?;
        let stream = match operation {
            "converse" => false,
            "converse-stream" => true,
            _ => return None,
        };
        Some(Self::Converse { model: decoded(model), stream })
    }

    /// Gemini's own version is `v1beta`; below `v1` its operations and its header tell.
    fn of_gemini(method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Self> {
        let (own, rest) = match uri.path().split_once("/v1beta/models") {
            Some((_, rest)) => (true, rest),
            None => (headers.contains_key("x-goog-api-key"), uri.path().split_once("/v1/models")?.1),
        };
        let found = match rest.strip_prefix('/') {
            Some(rest) if method == Method::POST => {
                Self::operation_of_gemini(rest, uri.query().unwrap_or_default())
            }
            Some(id) if own => Some(Self::GeminiModel(decoded(id))),
            None if own && rest.is_empty() => Some(Self::GeminiModels),
            _ => None,
        };
        found.or(own.then_some(Self::Unknown(Unknown::Gemini)))
    }

    fn operation_of_gemini(rest: &str, query: &str) -> Option<Self> {
        let (model, operation) = rest.rsplit_once(':')?;
        let model = decoded(model);
        let framing =
            if query.split('&').any(|pair| pair == "alt=sse") { Framing::Sse } else { Framing::Array };
        Some(match operation {
            "generateContent" => Self::Generate { model, stream: None },
            "streamGenerateContent" => Self::Generate { model, stream: Some(framing) },
            "countTokens" => Self::GeminiCount(model),
            "embedContent" => Self::Embed(model),
            "batchEmbedContents" => Self::BatchEmbed(model),
            _ => return None,
        })
    }

    /// Whose endpoint it is.
    pub(super) fn vendor(&self, headers: &HeaderMap) -> &'static dyn Vendor {
        let anthropic = match self {
            Self::Converse { .. } | Self::Unknown(Unknown::Bedrock) => return &bedrock::Bedrock,
            Self::CohereChat | Self::CohereEmbed | Self::Rerank => return &cohere::Cohere,
            Self::Generate { .. }
            | Self::GeminiCount(_)
            | Self::Embed(_)
            | Self::BatchEmbed(_)
            | Self::GeminiModels
            | Self::GeminiModel(_)
            | Self::Unknown(Unknown::Gemini) => return &gemini::Gemini,
            Self::Messages | Self::CountTokens | Self::Kept { what: Kind::MessageBatch, .. } => true,
            Self::Models | Self::Model(_) | Self::Unknown(Unknown::OpenAiOrAnthropic) => {
                headers.contains_key("anthropic-version")
            }
            _ => false,
        };
        if anthropic { &anthropic::Anthropic } else { &openai::OpenAi }
    }

    /// The model that is asked for, wherever the vendor has it named.
    pub(super) fn model(&self, content_type: &str, body: &[u8]) -> String {
        #[derive(serde::Deserialize)]
        struct Named {
            model: String,
        }
        match self {
            Self::Converse { model, .. } | Self::Generate { model, .. } => model.clone(),
            Self::GeminiCount(model) | Self::Embed(model) | Self::BatchEmbed(model) => model.clone(),
            _ if form::is_form(content_type) => {
                let parts = form::parse(content_type, body).unwrap_or_default();
                let model = parts.iter().find(|part| part.name == "model").map(|part| part.content);
                String::from_utf8_lossy(model.unwrap_or_default()).into_owned()
            }
            _ => serde_json::from_slice::<Named>(body).map(|named| named.model).unwrap_or_default(),
        }
    }

    /// Whether a key came in the way that the vendor takes; `key` came in any way.
    pub(super) fn has_key(&self, head: &request::Parts, key: &str) -> bool {
        let authorization = header(head, AUTHORIZATION.as_str());
        let bearer = || authorization.strip_prefix("Bearer ").is_some_and(|key| !key.trim().is_empty());
        match self {
            // Google takes its own header at its compatible endpoint as well.
            Self::Embeddings if head.uri.path().contains("/v1beta/openai/") => !key.is_empty(),
            Self::Chat | Self::Responses | Self::Completions | Self::Embeddings => bearer(),
            Self::Converse { .. } => {
                let signed = ["Credential=", "SignedHeaders=", "Signature="];
                let signed = signed.iter().all(|part| authorization.contains(part))
                    && authorization.starts_with("AWS4-HMAC-SHA256 ")
                    && !header(head, "x-amz-date").is_empty();
                signed || bearer()
            }
            Self::Generate { .. } | Self::GeminiCount(_) | Self::Embed(_) | Self::BatchEmbed(_) => {
                let query = head.uri.query().unwrap_or_default();
                let in_query =
                    query.split('&').any(|pair| pair.strip_prefix("key=").is_some_and(|k| !k.is_empty()));
                !header(head, "x-goog-api-key").is_empty() || in_query || bearer()
            }
            _ => !key.is_empty(),
        }
    }
}

/// Percent-decoded; what is no text stays as it came.
pub(super) fn decoded(text: &str) -> String {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, behind @ ..] = rest {
        let code = behind.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                out.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                out.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_endpoints() {
        let check = |method: Method, path: &str, expected| {
            let found = Endpoint::find(&method, &path.parse().unwrap(), &HeaderMap::new());
            assert_eq!(found, expected, "{method} {path}");
        };
        check(Method::POST, "/v1/chat/completions", Endpoint::Chat);
        check(Method::POST, "/openai/v1/chat/completions", Endpoint::Chat);
        check(Method::POST, "/v1/responses", Endpoint::Responses);
        check(Method::POST, "/v2/chat", Endpoint::CohereChat);
        check(Method::POST, "/v2/rerank", Endpoint::Rerank);
        check(Method::POST, "/v1/completions", Endpoint::Completions);
        check(Method::POST, "/v1/messages", Endpoint::Messages);
        check(Method::GET, "/v1/models/a/b", Endpoint::Model("a/b".into()));
        check(Method::GET, "/v1/messages", Endpoint::Unknown(Unknown::OpenAiOrAnthropic));
        let converse = |model: &str, stream| Endpoint::Converse { model: model.into(), stream };
        check(Method::POST, "/model/a%2Fb%3A0/converse", converse("a/b:0", false));
        check(Method::POST, "/model/m+status=500/converse-stream", converse("m+status=500", true));
        check(Method::POST, "/model/m/invoke", Endpoint::Unknown(Unknown::Bedrock));
        let generate = |stream| Endpoint::Generate { model: "gemini-x".into(), stream };
        check(Method::POST, "/v1beta/models/gemini-x:generateContent", generate(None));
        check(Method::POST, "/v1/models/gemini-x:generateContent", generate(None));
        let stream = "/v1beta/models/gemini-x:streamGenerateContent";
        check(Method::POST, stream, generate(Some(Framing::Array)));
        check(Method::POST, &format!("{stream}?key=k&alt=sse"), generate(Some(Framing::Sse)));
        check(Method::GET, "/v1beta/models?pageSize=2", Endpoint::GeminiModels);
        check(Method::GET, "/v1beta/models/gemini-x", Endpoint::GeminiModel("gemini-x".into()));
        check(Method::POST, "/v1beta/models/m:predict", Endpoint::Unknown(Unknown::Gemini));
        check(Method::GET, "/v1beta/openai/models", Endpoint::Models);
        let google = HeaderMap::from_iter([("x-goog-api-key".parse().unwrap(), "k".parse().unwrap())]);
        let found = Endpoint::find(&Method::GET, &"/v1/models".parse().unwrap(), &google);
        assert_eq!(found, Endpoint::GeminiModels);
        check(Method::POST, "/v1beta/openai/embeddings", Endpoint::Embeddings);
    }
}
