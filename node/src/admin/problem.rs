//! What is wrong with a request of the admin API, as RFC 9457 problem details.

use crate::control::ChangeError;
use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use trestle_config::{Problem as Finding, Problems};

/// Problem details (RFC 9457).
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Problem {
    /// Which kind of problem; the same for all of its kind.
    #[serde(rename = "type")]
    kind: String,
    /// The kind in words.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// What is wrong with this request, and what to do.
    detail: String,
    /// Everything that is wrong, each with its place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Place>,
    /// Names of nodes that did not answer: they may know more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    incomplete: Vec<String>,
}

/// One thing that is wrong.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Place {
    /// Such as `models.chat.targets[1].model`.
    path: String,
    /// What is wrong, and how to mend it.
    message: String,
}

impl From<Finding> for Place {
    fn from(Finding { path, message }: Finding) -> Self {
        Self { path, message }
    }
}

impl Problem {
    pub(super) fn new(
        status: StatusCode,
        kind: &str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        let kind = format!("/api/docs#{kind}");
        Self {
            kind,
            title,
            status: status.as_u16(),
            detail: detail.into(),
            problems: Vec::new(),
            incomplete: Vec::new(),
        }
    }

    /// These nodes did not answer.
    pub(super) fn incomplete(self, nodes: &[String]) -> Self {
        Self { incomplete: nodes.to_vec(), ..self }
    }

    /// The request itself cannot be read.
    pub(super) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", "The request cannot be read", detail)
    }

    /// The request was refused as a whole.
    pub(super) fn refused(status: StatusCode, detail: impl Into<String>) -> Self {
        Self::new(status, "refused", "The request was refused", detail)
    }

    pub(super) fn unauthenticated(detail: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthenticated", "No valid admin token", detail)
    }

    pub(super) fn forbidden(detail: String) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "The admin token does not allow this", detail)
    }

    pub(super) fn missing(what: &str) -> Self {
        let detail = format!("there is no {what}");
        Self::new(StatusCode::NOT_FOUND, "not-found", "There is no such thing", detail)
    }

    /// The caller must say what it has seen.
    pub(super) fn no_condition() -> Self {
        let detail = "send `if-match` with the ETag of the document that you changed, or `if-match: *` to replace \
                      whatever is there";
        Self::new(StatusCode::PRECONDITION_REQUIRED, "no-condition", "A condition is needed", detail)
    }

    /// Nobody can take a change.
    pub(super) fn no_leader(detail: String) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "no-leader", "No node leads the cluster", detail)
    }

    /// The value is wrong.
    pub(super) fn invalid(Problems(problems): Problems) -> Self {
        let detail = match &problems[..] {
            [] => "it is not valid".to_owned(),
            [only] => only.to_string(),
            [first, rest @ ..] => format!("{first} (and {} more, see `problems`)", rest.len()),
        };
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        let problem = Self::new(status, "invalid", "The document would not be valid", detail);
        Self { problems: problems.into_iter().map(Into::into).collect(), ..problem }
    }
}

impl From<ChangeError> for Problem {
    fn from(error: ChangeError) -> Self {
        let detail = error.to_string();
        let (status, kind, title) = match error {
            ChangeError::Invalid(problems) => return Self::invalid(problems),
            ChangeError::Missing(_) => (StatusCode::NOT_FOUND, "not-found", "There is no such thing"),
            ChangeError::Exists(_) => (StatusCode::CONFLICT, "exists", "There is such a thing already"),
            ChangeError::ReadOnly(_) => {
                (StatusCode::CONFLICT, "read-only", "The document comes from a file alone")
            }
            ChangeError::Version(_) => {
                (StatusCode::CONFLICT, "cluster-version", "The cluster is of an earlier version")
            }
            ChangeError::Changed(_) => {
                (StatusCode::PRECONDITION_FAILED, "changed", "Others have changed it meanwhile")
            }
            ChangeError::NotKept(_) => {
                (StatusCode::PRECONDITION_FAILED, "not-kept", "The revision is not kept")
            }
            ChangeError::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy", "Too many changes at once"),
            ChangeError::NoLeader(_) => return Self::no_leader(detail),
            ChangeError::Unknown => {
                (StatusCode::GATEWAY_TIMEOUT, "unknown", "Whether it took effect is not known")
            }
            ChangeError::Store(_) => (StatusCode::SERVICE_UNAVAILABLE, "store", "The store does not work"),
        };
        Self::new(status, kind, title, detail)
    }
}

impl From<trestle_cluster::ReadError> for Problem {
    fn from(error: trestle_cluster::ReadError) -> Self {
        ChangeError::from(error).into()
    }
}

impl From<anyhow::Error> for Problem {
    fn from(error: anyhow::Error) -> Self {
        ChangeError::from(error).into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut answer = (status, Json(&self)).into_response();
        let headers = answer.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        answer
    }
}
