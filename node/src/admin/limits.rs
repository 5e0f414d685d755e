//! `/api/limits`: the limits and budgets of the document, with what they count now.

use super::{
    Problem,
    asker::Asker,
    filter::{only, parameters},
    revisions::time,
};
use crate::{cluster::Gather, ledger::now_ms};
use axum::{
    Json,
    extract::{Query, State},
};
use http::Uri;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use tokio::task::block_in_place;
use trestle_config::{Limit, Measure, Mode, OwnerKind};
use trestle_gateway::{Gateway, LimitNow, LimitsAsked, OWNER_KINDS, kind_word, measure_word, usd};

/// Limits of a page, where nothing is said; a gateway gives at most 1,000.
const PAGE: usize = 100;

/// Which limits to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Owned {
    /// Only of this kind of owners: `customer`, `team`, `user`, `key`, `key_provider`, `model` or `provider`.
    owner_kind: Option<String>,
    /// Only of the owner of this name; `KEY@PROVIDER` for a key at one provider.
    owner: Option<String>,
    /// At most so many (default 100, at most 1,000).
    limit: Option<usize>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// A page of limits.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct LimitsPage {
    /// In order of the kinds and names of their owners. Those of customers, teams and users that no key belongs to are not
    /// among them, since nothing can count there.
    items: Vec<ShownLimit>,
    /// Ask for the next page with `cursor` of this; the last page has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Names of nodes that do not tell what they count now: what they have charged since is not in the figures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    incomplete: Vec<String>,
}

/// How much, in the unit of its limit.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
enum Figure {
    /// Requests or tokens.
    Count(u64),
    /// US dollars, exactly.
    Usd(String),
}

/// A limit, and what it counts now.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct ShownLimit {
    /// `customer`, `team`, `user`, `key`, `key_provider`, `model` or `provider`.
    owner_kind: &'static str,
    /// Whose it is; `KEY@PROVIDER` for a key at one provider.
    owner: Box<str>,
    /// Its name, by which its usage is kept.
    name: Box<str>,
    /// `requests`, `input_tokens`, `output_tokens`, `tokens`, `concurrent` or `usd`.
    measure: &'static str,
    /// How much may be used in the window that runs.
    amount: Figure,
    /// How much of it has been used.
    used: Figure,
    /// How much of it is held beside that, by requests that run.
    held: Figure,
    /// What is neither used nor held.
    remaining: Figure,
    /// Over which time it counts; none for what runs at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<String>,
    /// Since when that is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// When some of it is free again.
    #[serde(skip_serializing_if = "Option::is_none")]
    resets_at: Option<String>,
    /// `strict` or `soft`.
    mode: &'static str,
    /// Percents at which a warning is due.
    #[serde(skip_serializing_if = "<[u8]>::is_empty")]
    warn_at: Box<[u8]>,
    /// The highest of them that is used or held.
    #[serde(skip_serializing_if = "Option::is_none")]
    warned: Option<u8>,
}

impl From<&LimitNow> for ShownLimit {
    fn from(now: &LimitNow) -> Self {
        let limit = &now.limit;
        let figure = |amount: u64| match limit.measure {
            Measure::NanoUsd => Figure::Usd(usd(amount)),
            _ => Figure::Count(amount),
        };
        Self {
            owner_kind: kind_word(limit.owner.kind),
            owner: limit.owner.name.clone(),
            name: limit.name.clone(),
            measure: measure_word(limit.measure),
            amount: figure(now.amount),
            used: figure(now.used),
            held: figure(now.held),
            remaining: figure(now.remaining()),
            window: now.window(),
            since: now.since_ms.map(time),
            resets_at: now.resets_at_ms.map(time),
            mode: match limit.mode {
                Mode::Strict => "strict",
                Mode::Soft => "soft",
            },
            warn_at: limit.warn_at.clone(),
            warned: now.warned(),
        }
    }
}

/// Where a page ended: the kind and the name of the owner, and the name of its limit.
struct Place(OwnerKind, String, String);

impl Place {
    fn text_of(limit: &Limit) -> String {
        let encoded = |text| utf8_percent_encode(text, NON_ALPHANUMERIC);
        format!("{}/{}/{}", kind_word(limit.owner.kind), encoded(&limit.owner.name), encoded(&limit.name))
    }

    fn read(text: &str) -> Option<Self> {
        let (kind, names) = text.split_once('/')?;
        let (owner, name) = names.split_once('/')?;
        let decoded = |text| percent_decode_str(text).decode_utf8().ok().map(String::from);
        Some(Self(named(kind)?, decoded(owner)?, decoded(name)?))
    }
}

fn named(kind: &str) -> Option<OwnerKind> {
    OWNER_KINDS.into_iter().find(|known| kind_word(*known) == kind)
}

/// The limits and budgets of the document, with what they count now.
#[utoipa::path(
    get,
    path = "/api/limits",
    tag = "ledger",
    params(Owned),
    responses((status = 200, body = LimitsPage), (status = 400, body = Problem))
)]
pub(super) async fn list(
    (State(gateway), State(gather)): (State<Gateway>, State<Gather>),
    (Query(owned), uri): (Query<Owned>, Uri),
    _asker: Asker,
) -> Result<Json<LimitsPage>, Problem> {
    only(&uri, &[parameters::<Owned>()])?;
    let kind = owned.owner_kind.as_deref().map(|word| {
        let all = OWNER_KINDS.map(kind_word).join(", ");
        named(word).ok_or_else(|| Problem::bad_request(format!("`owner_kind`: `{word}` is none of {all}")))
    });
    let kind = kind.transpose()?;
    let wrong = || Problem::bad_request("`cursor`: must be the `next` of a page, as it is");
    let after = owned.cursor.as_deref().map(|text| Place::read(text).ok_or_else(wrong)).transpose()?;
    let asked = LimitsAsked {
        kinds: kind.as_slice(),
        owner: owned.owner.as_deref(),
        after: after.as_ref().map(|Place(kind, owner, name)| (*kind, &**owner, &**name)),
        max: owned.limit.unwrap_or(PAGE),
    };
    let page = block_in_place(|| gateway.limits(&asked, now_ms()));
    let next = page.limits.last().filter(|_| page.more).map(|last| Place::text_of(&last.limit));
    let incomplete = gather.unheard().await?;
    Ok(Json(LimitsPage { items: page.limits.iter().map(Into::into).collect(), next, incomplete }))
}
