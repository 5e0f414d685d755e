//! `/api/ledger`: the calls that were made, a line each.

use super::{
    Problem,
    asker::Asker,
    filter::{Counts, Filter, is_zero, only, parameters},
    revisions::time,
};
use crate::cluster::{Gather, Gathered};
use axum::{
    Json,
    extract::{Query, State},
};
use http::Uri;
use serde::{Deserialize, Serialize};
use trestle_gateway::usd;
use trestle_store::{Line, Owner};

/// Lines of a page, where nothing is said; a ledger gives at most 1,000.
const PAGE: usize = 100;

/// Which page.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Paged {
    /// At most so many (default 100, at most 1,000).
    limit: Option<usize>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// A page of lines, the newest first. What ends meanwhile does not move the pages behind it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct LedgerPage {
    /// In order of when the calls ended. There may be fewer than asked for, and even none, where much had to be read.
    items: Vec<LedgerLine>,
    /// Ask for the next page with `cursor` of this; the last page has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Records that could not be read on the way.
    #[serde(skip_serializing_if = "is_zero")]
    skipped: u64,
    /// Names of nodes that did not answer: calls that they made are not in this page. They come in a later one if the node
    /// answers again by then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    incomplete: Vec<String>,
}

/// A call of a provider that has ended. A request makes one for each attempt.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct LedgerLine {
    /// Its own id, in hexadecimal.
    call: String,
    /// The name of the node that made it, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    /// The request, by the `x-request-id` of its answer.
    request_id: String,
    /// Which attempt of the request it was, from 1.
    attempt: u32,
    started_at: String,
    /// A line is of this time in all that is read.
    ended_at: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    customer: Box<str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    team: Box<str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    user: Box<str>,
    /// The name of the key.
    #[serde(skip_serializing_if = "str::is_empty")]
    key: Box<str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<Box<str>>,
    /// The model that was asked for.
    model: Box<str>,
    provider: Box<str>,
    /// The name of the provider's key.
    #[serde(skip_serializing_if = "str::is_empty")]
    credential: Box<str>,
    /// What the vendor calls the model.
    #[serde(skip_serializing_if = "str::is_empty")]
    vendor_model: Box<str>,
    /// What was asked of the provider.
    operation: Box<str>,
    /// It was a part of a batch.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    batch: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    service_tier: Box<str>,
    /// `ok`, `client_error`, `provider_error`, `timeout`, `cancelled`, `panicked`, `killed` (the process ended before the call
    /// did), `broken` (after the first content) or `stopped` (by us).
    outcome: &'static str,
    /// The status of the provider's answer, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// `reported` by the provider, or `estimated`.
    basis: &'static str,
    tokens: Counts,
    /// US dollars, exactly.
    cost_usd: String,
    /// The prices that it is reckoned by, in hexadecimal.
    price_version: String,
}

impl From<(Option<String>, Line)> for LedgerLine {
    fn from((node, line): (Option<String>, Line)) -> Self {
        let Owner { customer, team, user, key } = line.owner;
        Self {
            call: format!("{:032x}", line.call),
            node,
            request_id: line.request_id.into(),
            attempt: line.attempt,
            started_at: time(line.start_ms),
            ended_at: time(line.end_ms),
            customer,
            team,
            user,
            key,
            tags: line.tags,
            model: line.model,
            provider: line.provider,
            credential: line.credential,
            vendor_model: line.vendor_model,
            operation: line.operation,
            batch: line.batch,
            service_tier: line.service_tier,
            outcome: line.outcome.name(),
            status: (line.status > 0).then_some(line.status),
            basis: line.basis.name(),
            tokens: line.tokens.into(),
            cost_usd: usd(line.nano_usd),
            price_version: format!("{:016x}", line.price_version),
        }
    }
}

/// The calls that were made, by all nodes: those that ended last come first.
#[utoipa::path(
    get,
    path = "/api/ledger",
    tag = "ledger",
    params(Filter, Paged),
    responses((status = 200, body = LedgerPage), (status = 400, body = Problem), (status = 503, body = Problem))
)]
pub(super) async fn list(
    State(gather): State<Gather>,
    (Query(filter), Query(paged), uri): (Query<Filter>, Query<Paged>, Uri),
    _asker: Asker,
) -> Result<Json<LedgerPage>, Problem> {
    only(&uri, &[parameters::<Filter>(), parameters::<Paged>()])?;
    let query = filter.query()?;
    let limit = paged.limit.unwrap_or(PAGE);
    let Gathered { all, incomplete } = gather.lines(query, paged.cursor.as_deref(), limit).await?;
    let items = all.lines.into_iter().map(Into::into).collect();
    Ok(Json(LedgerPage { items, next: all.next, skipped: all.skipped, incomplete }))
}
