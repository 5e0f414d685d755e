//! What limits count now, for those who ask: operators, callers about themselves, metrics.

use super::{Counted, owner_word};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use trestle_config::{Limit, Mode, OwnerKind, Snapshot};
use trestle_counters::{Share, View, Window};

/// Most limits of a page.
const PAGE_MAX: usize = 1_000;

/// What can have limits, in the order in which they are listed.
pub const OWNER_KINDS: [OwnerKind; 7] = [
    OwnerKind::Customer,
    OwnerKind::Team,
    OwnerKind::User,
    OwnerKind::Key,
    OwnerKind::KeyProvider,
    OwnerKind::Model,
    OwnerKind::Provider,
];

/// The word for a kind of owner; a key at one provider has one of its own.
pub const fn kind_word(kind: OwnerKind) -> &'static str {
    match kind {
        OwnerKind::KeyProvider => "key_provider",
        kind => owner_word(kind),
    }
}

/// A limit and its figures, in its own unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitNow {
    /// The limit.
    pub limit: Arc<Limit>,
    /// How much may be used in the window that runs.
    pub amount: u64,
    /// What has been used of it.
    pub used: u64,
    /// What requests hold of it beside that, which still run.
    pub held: u64,
    /// Since when that is counted (unix milliseconds); nothing without a window.
    pub since_ms: Option<u64>,
    /// When some of it is free again (unix milliseconds); nothing without a window.
    pub resets_at_ms: Option<u64>,
    /// Of a strict limit in a cluster, the share that this node has to itself.
    pub share: Option<Share>,
}

/// Which limits are asked for.
#[derive(Debug, Clone, Default)]
pub struct LimitsAsked<'a> {
    /// Of these kinds of owners; of all, where none is named.
    pub kinds: &'a [OwnerKind],
    /// Of the owner with this name.
    pub owner: Option<&'a str>,
    /// Those behind this one alone: the kind and the name of its owner, and its own name.
    pub after: Option<(OwnerKind, &'a str, &'a str)>,
    /// At most so many, from 1 to 1,000.
    pub max: usize,
}

/// Some limits, in order of the kinds and names of their owners, and of their own names.
#[derive(Debug, Clone, Default)]
pub struct LimitPage {
    /// They themselves.
    pub limits: Vec<LimitNow>,
    /// There are more behind the last.
    pub more: bool,
}

impl LimitNow {
    /// What a limit counts at a time.
    pub(crate) fn new(limit: &Arc<Limit>, counted: &Counted, now_ms: u64) -> Self {
        let View { spent, held, window_id, start_ms, resets_at_ms } = counted.view(limit, now_ms);
        let amount = limit.amount_at(window_id);
        let since_ms = (limit.window != Window::Standing).then_some(start_ms);
        let share = counted.share(limit, window_id);
        Self { limit: Arc::clone(limit), amount, used: spent, held, since_ms, resets_at_ms, share }
    }

    /// What is neither used nor held.
    pub fn remaining(&self) -> u64 {
        self.amount.saturating_sub(self.used).saturating_sub(self.held)
    }

    /// The highest of the percents to warn at that is used or held.
    pub fn warned(&self) -> Option<u8> {
        let reached = |percent: &u8| {
            u128::from(self.used.saturating_add(self.held)) * 100
                >= u128::from(self.amount) * u128::from(*percent)
        };
        self.limit.warn_at.iter().copied().rev().find(reached)
    }

    /// Over which time it counts: `1m`, `month`; nothing without a window.
    pub fn window(&self) -> Option<String> {
        match self.limit.window {
            Window::Standing => None,
            Window::Calendar(unit) => Some(unit.to_string()),
            Window::Rolling(rolling) => {
                let length = Duration::from_millis(rolling.length_ms());
                Some(humantime::format_duration(length).to_string())
            }
        }
    }
}

/// The limits of a document: those of keys and of all that a key belongs to, of models and of providers.
pub(crate) fn page(
    snapshot: &Snapshot,
    counted: &Counted,
    asked: &LimitsAsked<'_>,
    now_ms: u64,
) -> LimitPage {
    let max = asked.max.clamp(1, PAGE_MAX);
    // One more tells that there are more. A limit of a team comes with each of its keys, and is one.
    let mut first: BTreeMap<(OwnerKind, &str, &str), &Arc<Limit>> = BTreeMap::new();
    for limit in all(snapshot) {
        let place = (limit.owner.kind, &*limit.owner.name, &*limit.name);
        let is_full = first.len() > max;
        let fits = asked.takes(place)
            && !(is_full && first.last_key_value().is_some_and(|(last, _)| place >= *last));
        if fits && first.insert(place, limit).is_none() && is_full {
            first.pop_last();
        }
    }
    let limits = first.values().take(max).map(|limit| LimitNow::new(limit, counted, now_ms));
    LimitPage { limits: limits.collect(), more: first.len() > max }
}

/// The windows of strict limits, each once.
pub(crate) fn strict_windows(snapshot: &Snapshot) -> Vec<Window> {
    let strict = all(snapshot).filter(|limit| limit.mode == Mode::Strict);
    strict.map(|limit| limit.window).collect::<BTreeSet<_>>().into_iter().collect()
}

fn all(snapshot: &Snapshot) -> impl Iterator<Item = &Arc<Limit>> {
    let callers = snapshot.callers.iter().flat_map(|caller| {
        let at_providers = caller.provider_limits.iter().flat_map(|(_, limits)| limits.iter());
        caller.limits.iter().chain(at_providers)
    });
    let groups = snapshot.groups.values().chain(snapshot.patterns.iter());
    let models = groups.flat_map(|group| group.limits.iter());
    let providers = snapshot.providers.values().flat_map(|provider| provider.limits.iter());
    callers.chain(models).chain(providers)
}

impl LimitsAsked<'_> {
    fn takes(&self, place: (OwnerKind, &str, &str)) -> bool {
        let (kind, owner, _) = place;
        (self.kinds.is_empty() || self.kinds.contains(&kind))
            && self.owner.is_none_or(|asked| asked == owner)
            && self.after.is_none_or(|after| place > after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostSecrets;
    use std::sync::Arc;
    use trestle_config::hash_text;
    use trestle_counters::{Actor, Cells, NodeId, Settled};

    const NOW: u64 = 1_796_000_000_000;

    fn made() -> (Snapshot, Counted) {
        let key = |name: &str, more: &str| format!("  {name}: {{ value: \"{}\"{more} }}\n", hash_text(name));
        let text = format!(
            "teams: {{ t: {{ limits: [{{ requests: 10, per: 1m, warn_at: [50, 80] }}, {{ concurrent: 3 }}] }} }}\n\
             models: {{ 'm-*': {{ targets: [{{ model: mock/echo }}], limits: [{{ tokens: 5, per: day }}] }} }}\n\
             providers: {{ mock: {{ budgets: [{{ usd: 1.5, per: month }}] }} }}\nkeys:\n{}{}",
            key("a", ", team: t, limits: [{ requests: 1, per: 1s }]"),
            key("b", ", team: t, provider_limits: { mock: { limits: [{ requests: 2, per: 1s }] } }"),
        );
        let compiled = trestle_config::load(&text, 1, &HostSecrets).unwrap();
        let own = Actor { node: NodeId(1), incarnation: 1 };
        (compiled.snapshot, Counted::new(1, Arc::new(Cells::new(own, &Settled::new(0), 100, 0))))
    }

    fn listed(asked: &LimitsAsked<'_>) -> (Vec<String>, bool) {
        let (snapshot, counted) = made();
        let page = page(&snapshot, &counted, asked, NOW);
        assert_eq!(counted.len(), 0, "a look makes no counter");
        let name = |now: &LimitNow| {
            let Limit { owner, name, .. } = &*now.limit;
            format!("{} {} {name}", kind_word(owner.kind), owner.name)
        };
        (page.limits.iter().map(name).collect(), page.more)
    }

    #[test]
    fn windows_of_strict_limits_are_each_there_once() {
        let month = Window::Calendar(trestle_counters::Calendar::Month);
        assert_eq!(strict_windows(&made().0), [month], "budgets are strict");
    }

    #[test]
    fn all_are_listed_once_and_in_order_page_by_page() {
        let all = [
            "team t concurrent",
            "team t requests/1m",
            "key a requests/1s",
            "key_provider b@mock requests/1s",
            "model m-* tokens/day",
            "provider mock usd/month",
        ];
        assert_eq!(
            listed(&LimitsAsked { max: 6, ..Default::default() }),
            (all.map(str::to_owned).to_vec(), false)
        );
        assert_eq!(
            listed(&LimitsAsked { max: 5, ..Default::default() }),
            (all[..5].iter().map(ToString::to_string).collect(), true)
        );
        let after = Some((OwnerKind::Team, "t", "requests/1m"));
        assert_eq!(
            listed(&LimitsAsked { after, max: 2, ..Default::default() }),
            (all[2..4].iter().map(ToString::to_string).collect(), true)
        );
        let kinds = &[OwnerKind::Key, OwnerKind::Team][..];
        assert_eq!(
            listed(&LimitsAsked { kinds, owner: Some("a"), max: 9, after: None }),
            (vec![all[2].to_owned()], false)
        );
        assert_eq!(listed(&LimitsAsked { kinds, owner: Some("b"), max: 9, after: None }), (vec![], false));
    }

    #[test]
    fn warnings_are_due_once_so_much_is_used() {
        let (snapshot, counted) = made();
        let asked = LimitsAsked { kinds: &[OwnerKind::Team], max: 2, ..Default::default() };
        let page = page(&snapshot, &counted, &asked, NOW);
        let [concurrent, requests] = &page.limits[..] else { panic!("{page:?}") };
        assert_eq!((concurrent.window(), concurrent.since_ms, concurrent.resets_at_ms), (None, None, None));
        assert_eq!((requests.window().as_deref(), requests.amount), (Some("1m"), 10));
        assert!(requests.since_ms.is_some_and(|since| since <= NOW - 60_000), "{requests:?}");
        for (used, held, warned, remaining) in [
            (0, 0, None, 10),
            (4, 0, None, 6),
            (4, 1, Some(50), 5),
            (8, 0, Some(80), 2),
            (12, 0, Some(80), 0),
        ] {
            let now = LimitNow { used, held, ..requests.clone() };
            assert_eq!((now.warned(), now.remaining()), (warned, remaining), "{used}");
        }
    }
}
