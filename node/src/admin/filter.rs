//! Which calls are asked for: the parameters that `/api/ledger` and `/api/usage` have in common.

use super::{Problem, revisions::time};
use crate::{cluster::Ungathered, control::ChangeError, ledger::Unanswered};
use http::{StatusCode, Uri};
use serde::{Deserialize, Serialize};
use std::time::UNIX_EPOCH;
use trestle_store::{OutcomeKind, Owner, Query, Tokens};
use utoipa::{IntoParams, openapi::path::Parameter};

/// Which calls are asked for: those that fit everything that is set. A name that is set to nothing fits calls without one.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Filter {
    /// Only calls that ended then or later: RFC 3339 in UTC, or a day such as `2027-01-31`.
    from: Option<String>,
    /// Only calls that ended before.
    until: Option<String>,
    /// Of this customer.
    customer: Option<String>,
    /// Of this team.
    team: Option<String>,
    /// Of this user.
    user: Option<String>,
    /// Of this key, by its name.
    key: Option<String>,
    /// For this model, as clients asked for it.
    model: Option<String>,
    /// Of this provider.
    provider: Option<String>,
    /// With this tag.
    tag: Option<String>,
    /// Of this request, by its `x-request-id`.
    request_id: Option<String>,
    /// This call, by its id.
    call: Option<String>,
    /// Ended so: `ok`, `client_error`, `provider_error`, `timeout`, `cancelled`, `panicked`, `killed`, `broken` or `stopped`.
    outcome: Option<String>,
}

impl Filter {
    /// As a question for the ledger, of all that it has where no beginning is said.
    pub(super) fn query(self) -> Result<Query, Problem> {
        self.query_from(|| 0)
    }

    /// The same, from this time on (unix milliseconds) where no beginning is said.
    pub(super) fn query_from(self, beginning: impl FnOnce() -> u64) -> Result<Query, Problem> {
        let Self { from, until, customer, team, user, key, model, provider, .. } = self;
        let boxed = |text: Option<String>| text.map(String::into_boxed_str);
        let query = Query {
            from_ms: from.map_or_else(|| Ok(beginning()), |text| instant("from", &text))?,
            until_ms: until.map_or(Ok(u64::MAX), |text| instant("until", &text))?,
            owner: Owner { customer: boxed(customer), team: boxed(team), user: boxed(user), key: boxed(key) },
            model: boxed(model),
            provider: boxed(provider),
            tag: boxed(self.tag),
            request_id: boxed(self.request_id),
            call: self.call.as_deref().map(call).transpose()?,
            outcome: self.outcome.as_deref().map(outcome).transpose()?,
        };
        if query.from_ms >= query.until_ms {
            let from = time(query.from_ms);
            return Err(Problem::bad_request(format!("`until`: must be after `from`, which is {from}")));
        }
        Ok(query)
    }
}

fn instant(name: &str, text: &str) -> Result<u64, Problem> {
    let at =
        humantime::parse_rfc3339(text).or_else(|_| humantime::parse_rfc3339(&format!("{text}T00:00:00Z")));
    let since = at.ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    since.map(|since| since.as_millis() as u64).ok_or_else(|| {
        let wanted = "must be a time in UTC such as `2027-01-31T10:00:00Z`, or a day such as `2027-01-31`";
        Problem::bad_request(format!("`{name}`: {wanted}"))
    })
}

fn call(text: &str) -> Result<u128, Problem> {
    let is_id = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = u128::from_str_radix(text, 16).ok().filter(|_| is_id);
    id.ok_or_else(|| Problem::bad_request("`call`: must be an id of 32 hexadecimal digits, as a line has it"))
}

fn outcome(text: &str) -> Result<OutcomeKind, Problem> {
    OutcomeKind::named(text).ok_or_else(|| {
        let all = OutcomeKind::ALL.map(OutcomeKind::name).join(", ");
        Problem::bad_request(format!("`outcome`: `{text}` is none of {all}"))
    })
}

/// The parameters that a type reads.
pub(super) fn parameters<T: IntoParams>() -> Vec<Parameter> {
    T::into_params(|| None)
}

/// Refuses parameters that nobody reads: a filter that is misspelled would let all through.
pub(super) fn only(uri: &Uri, known: &[Vec<Parameter>]) -> Result<(), Problem> {
    let known: Vec<&str> = known.iter().flatten().map(|parameter| &*parameter.name).collect();
    let asked = uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split('=').next());
    match asked.into_iter().find(|name| !name.is_empty() && !known.contains(name)) {
        None => Ok(()),
        Some(name) => Err(Problem::bad_request(format!(
            "`{name}`: there is no such parameter; there are {}",
            known.join(", ")
        ))),
    }
}

impl From<Unanswered> for Problem {
    fn from(unanswered: Unanswered) -> Self {
        let (status, kind, title) = match unanswered {
            Unanswered::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy", "Too many questions at once"),
            Unanswered::Failed => (StatusCode::INTERNAL_SERVER_ERROR, "internal", "An error of ours"),
        };
        Self::new(status, kind, title, unanswered.to_string())
    }
}

impl From<Ungathered> for Problem {
    fn from(ungathered: Ungathered) -> Self {
        match ungathered {
            Ungathered::Cursor | Ungathered::TooManyGroups => Self::bad_request(ungathered.to_string()),
            Ungathered::Unanswered(unanswered) => unanswered.into(),
            Ungathered::Disk(error) => unread(&error),
            Ungathered::Cluster(error) => ChangeError::Store(error.to_string()).into(),
        }
    }
}

/// The ledger cannot be read now. Why is in the log.
fn unread(error: &std::io::Error) -> Problem {
    tracing::error!(%error, "the ledger cannot be read");
    let detail = "the ledger cannot be read: the log of the node says why";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "ledger", "The ledger cannot be read", detail)
}

/// Tokens and other units by kind, without those that are nothing. Kinds do not overlap: `input` is without what was read from
/// or written to a cache, `output` without `reasoning`.
#[derive(Debug, Default, Serialize, utoipa::ToSchema)]
pub(super) struct Counts {
    #[serde(skip_serializing_if = "is_zero")]
    input: u64,
    #[serde(skip_serializing_if = "is_zero")]
    cached_read: u64,
    #[serde(skip_serializing_if = "is_zero")]
    cache_write_5m: u64,
    #[serde(skip_serializing_if = "is_zero")]
    cache_write_1h: u64,
    #[serde(skip_serializing_if = "is_zero")]
    output: u64,
    #[serde(skip_serializing_if = "is_zero")]
    reasoning: u64,
    #[serde(skip_serializing_if = "is_zero")]
    audio_in: u64,
    #[serde(skip_serializing_if = "is_zero")]
    audio_out: u64,
    #[serde(skip_serializing_if = "is_zero")]
    image_in: u64,
    #[serde(skip_serializing_if = "is_zero")]
    image_out: u64,
    /// Images, counted.
    #[serde(skip_serializing_if = "is_zero")]
    images: u64,
    /// Sound, in milliseconds.
    #[serde(skip_serializing_if = "is_zero")]
    audio_ms: u64,
    /// Characters of text.
    #[serde(skip_serializing_if = "is_zero")]
    characters: u64,
}

pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl From<Tokens> for Counts {
    fn from(tokens: Tokens) -> Self {
        let Tokens { input, cached_read, cache_write_5m, cache_write_1h, output, reasoning, .. } = tokens;
        let Tokens { audio_in, audio_out, image_in, image_out, images, audio_ms, characters, .. } = tokens;
        Self {
            input,
            cached_read,
            cache_write_5m,
            cache_write_1h,
            output,
            reasoning,
            audio_in,
            audio_out,
            image_in,
            image_out,
            images,
            audio_ms,
            characters,
        }
    }
}
