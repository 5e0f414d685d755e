//! `/api/usage`: what calls come to, summed up by what they have in common.

use super::{
    Problem,
    asker::Asker,
    filter::{Counts, Filter, only, parameters},
    revisions::time,
};
use crate::{
    cluster::{Gather, Gathered},
    ledger::now_ms,
};
use axum::{
    Json,
    extract::{Query, State},
};
use http::Uri;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use trestle_counters::{Calendar, Window};
use trestle_gateway::usd;
use trestle_store::{Dimension, Sum, Totals};

/// By what to sum.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct By {
    /// Any of `customer`, `team`, `user`, `key`, `model`, `provider`, `vendor_model`, `tag`, `hour`, `day` and `month`, with
    /// commas; one sum of all where nothing is said. A call with several tags counts in each of them.
    by: Option<String>,
}

/// What calls come to.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Usage {
    /// Of calls that ended then or later: the first of this month in UTC where nothing is said.
    from: String,
    /// And before, if that is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    /// In order of what is summed by. There is none for what nobody used.
    items: Vec<UsageSum>,
    /// Names of nodes that did not answer: what they did is not in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    incomplete: Vec<String>,
}

/// What calls that have something in common come to.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct UsageSum {
    /// What they have in common, by its name in `by`; empty for calls without one.
    group: BTreeMap<&'static str, Box<str>>,
    #[serde(flatten)]
    all: Amounts,
    /// What of it we estimated, since the provider reported nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated: Option<Amounts>,
}

/// What some calls come to.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Amounts {
    /// Calls of providers: a request makes one for each attempt.
    calls: u64,
    tokens: Counts,
    /// US dollars, exactly.
    cost_usd: String,
}

impl From<Totals> for Amounts {
    fn from(Totals { calls, tokens, nano_usd }: Totals) -> Self {
        Self { calls, tokens: tokens.into(), cost_usd: usd(nano_usd) }
    }
}

impl UsageSum {
    fn new(by: &[Dimension], sum: Sum) -> Self {
        let mut all = sum.reported;
        all.add(&sum.estimated);
        let estimated = (sum.estimated.calls > 0).then(|| sum.estimated.into());
        let names = by.iter().map(|dimension| dimension.name());
        Self { group: names.zip(sum.group).collect(), all: all.into(), estimated }
    }
}

impl By {
    fn dimensions(&self) -> Result<Vec<Dimension>, Problem> {
        let mut found = Vec::new();
        for word in self.by.as_deref().unwrap_or_default().split(',').filter(|word| !word.is_empty()) {
            let Some(dimension) = Dimension::named(word) else {
                let all = Dimension::ALL.map(Dimension::name).join(", ");
                return Err(Problem::bad_request(format!("`by`: `{word}` is none of {all}")));
            };
            if found.contains(&dimension) {
                return Err(Problem::bad_request(format!("`by`: `{word}` is there twice")));
            }
            found.push(dimension);
        }
        Ok(found)
    }
}

/// What calls of all nodes come to, summed up by what they have in common.
#[utoipa::path(
    get,
    path = "/api/usage",
    tag = "ledger",
    params(By, Filter),
    responses((status = 200, body = Usage), (status = 400, body = Problem), (status = 503, body = Problem))
)]
pub(super) async fn sums(
    State(gather): State<Gather>,
    (Query(filter), Query(by), uri): (Query<Filter>, Query<By>, Uri),
    _asker: Asker,
) -> Result<Json<Usage>, Problem> {
    only(&uri, &[parameters::<By>(), parameters::<Filter>()])?;
    let by = by.dimensions()?;
    let this_month = || {
        let month = Window::Calendar(Calendar::Month);
        month.start_ms(month.id_at(now_ms()))
    };
    let query = filter.query_from(this_month)?;
    let (from, until) = (time(query.from_ms), (query.until_ms < u64::MAX).then(|| time(query.until_ms)));
    let Gathered { all, incomplete } = gather.sums(query, by.clone()).await?;
    let items = all.into_iter().map(|sum| UsageSum::new(&by, sum)).collect();
    Ok(Json(Usage { from, until, items, incomplete }))
}
