//! `/api/dry-run`: what would be done with a request, without doing it.

use super::{Problem, asker::Asker, body::json};
use axum::{Json, extract::State};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use trestle_gateway::{Because, Candidate, Explanation, Gateway, Question, RequestLine};

/// A request that is not made.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    /// Where it would go: default `/v1/chat/completions`.
    path: Option<String>,
    /// The name of the key that it would come with, instead of the key itself in a header.
    key: Option<String>,
    /// Its headers.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Its body; `{"model": "chat"}` is enough to see the route.
    #[schema(value_type = Object)]
    body: Value,
}

/// What would be done with it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Answer {
    /// The revision that says so.
    revision: u64,
    /// The name of the caller's key; none for a caller without one.
    caller: Option<String>,
    /// The model that is asked for.
    model: Option<String>,
    /// The name in `models` that it is, if it is one.
    group: Option<String>,
    /// All targets that were thought of: first those that are tried, in the order of one draw.
    targets: Vec<Considered>,
    /// Why there would be no answer.
    refusal: Option<Refused>,
    /// What it would cost at the first target that is tried, in USD; none where that is not known.
    cost_usd: Option<f64>,
}

/// A target that was thought of.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Considered {
    /// `provider/model`.
    target: String,
    /// How it came in: `asked`, `target`, `fallback` (of the group) or `named` (by the client).
    because: &'static str,
    /// The part of requests for which it is the first.
    first_share: f64,
    /// Whether it would be tried, once it is its turn.
    tried: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<String>,
    /// The dialect that it would be asked in.
    #[serde(skip_serializing_if = "Option::is_none")]
    dialect: Option<&'static str>,
    /// What of the request it would not be told.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dropped: Vec<String>,
    /// What it would cost there.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Cost>,
}

/// What a request would cost at the standard prices of the catalog.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Cost {
    /// Both together.
    usd: f64,
    /// Estimated: a token for four bytes of what would be sent, without pictures and other media.
    input_tokens: u64,
    /// As many as the request allows, else as many as the model can give.
    output_tokens: u64,
}

/// A refusal that the client would get.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Refused {
    status: u16,
    kind: &'static str,
    message: String,
}

impl From<Candidate> for Considered {
    fn from(candidate: Candidate) -> Self {
        Self {
            target: candidate.target,
            because: match candidate.because {
                Because::Asked => "asked",
                Because::Target => "target",
                Because::Fallback => "fallback",
                Because::Named => "named",
            },
            first_share: candidate.first_share,
            tried: candidate.skipped.is_none(),
            why_not: candidate.skipped,
            dialect: candidate.dialect,
            dropped: candidate.dropped,
            cost: candidate.cost.map(|cost| Cost {
                usd: cost.nano_usd as f64 / 1e9,
                input_tokens: cost.input_tokens,
                output_tokens: cost.output_tokens,
            }),
        }
    }
}

impl From<Explanation> for Answer {
    fn from(explanation: Explanation) -> Self {
        let Explanation { revision, caller, model, group, candidates, refusal } = explanation;
        let refusal = refusal.map(|(status, kind, message)| Refused { status, kind, message });
        let targets: Vec<Considered> = candidates.into_iter().map(Into::into).collect();
        let first = targets.iter().find(|target| target.tried);
        let cost_usd = first.and_then(|target| Some(target.cost.as_ref()?.usd));
        Self { revision, caller, model, group, targets, refusal, cost_usd }
    }
}

/// What would be done with a request: which caller, which targets and why, what each would not be told. Nothing is sent.
#[utoipa::path(
    post,
    path = "/api/dry-run",
    tag = "dry run",
    request_body = Request,
    responses((status = 200, body = Answer), (status = 400, body = Problem))
)]
pub(super) async fn ask(
    State(gateway): State<Gateway>,
    _asker: Asker,
    body: Bytes,
) -> Result<Json<Answer>, Problem> {
    let Request { path, key, headers, body } = json(&body)?;
    let path = path.as_deref().unwrap_or("/v1/chat/completions");
    let Some(Ok(line)) = RequestLine::find(&Method::POST, path) else {
        let detail = format!("`path`: there is no POST {path}; there are: {}", RequestLine::PATHS.join(", "));
        return Err(Problem::bad_request(detail));
    };
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let pair = HeaderName::try_from(&name).ok().zip(HeaderValue::try_from(value).ok());
        let (name, value) = pair.ok_or_else(|| {
            Problem::bad_request(format!("`headers`: `{name}` or its value is none of HTTP"))
        })?;
        map.append(name, value);
    }
    let question = Question { line, headers: map, body: body.to_string().into(), key };
    let stopped = || anyhow::anyhow!("the gateway has been stopped");
    Ok(Json(gateway.explain(question).await.ok_or_else(stopped)?.into()))
}
