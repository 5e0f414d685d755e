//! What one request holds of its limits, and what its calls have come to.

use super::{Counted, LEASE_MARGIN, Left, Reached, Spent, amount_of, counted::AtHand};
use crate::estimate::Estimate;
use smallvec::SmallVec;
use std::{sync::Arc, time::Duration};
use trestle_config::{AtLimit, Limit, Measure, Mode, OnPartition, OnShort};
use trestle_counters::{
    Bound, Charge, Counter, Leases, LimitId, NotAdmitted, Permit, Rule, Share, Window, WindowId,
};
use trestle_store as store;

/// Limits of one request that need no allocation.
const INLINE: usize = 6;

/// For which calls of a request a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// For all: limits of its caller, and of the model that it asked for.
    Request,
    /// For those of one target alone, told by how often the request had changed and its place in the plan.
    Provider(u32, u32),
}

/// A limit that a request counts for.
#[derive(Debug)]
struct Term {
    limit: Arc<Limit>,
    counter: Arc<Counter>,
    scope: Scope,
    /// What is held of it; nothing, be it of nothing, until it was charged.
    held: Option<u64>,
    /// What the calls so far came to.
    spent: u64,
    /// A call that stands in the ledger has counted the request.
    told: bool,
}

/// What one request holds of its limits. Dropped or settled, all is given back but what was spent.
#[derive(Debug, Default)]
pub(crate) struct Account {
    permit: Option<Permit>,
    // No allocation where there are none.
    terms: Vec<Term>,
    exempt: Vec<LimitId>,
    once: Option<Once>,
}

/// What is counted a single time, however often it is asked for.
#[derive(Debug)]
struct Once {
    permit: Permit,
    counter: Arc<Counter>,
    /// It was counted by this request.
    counted: bool,
}

/// What a limit says of a request, in its unit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    /// What it allows.
    pub(crate) amount: u64,
    /// What the request held.
    pub(crate) held: u64,
    /// What it took.
    pub(crate) spent: u64,
    /// What all have used, and hold, in the newest window that counted.
    pub(crate) used_now: u64,
    /// Of a strict limit in a cluster, the share that this node has to itself.
    pub(crate) share: Option<Share>,
}

/// Where a request is counted: the counters of the process and of its thread.
#[derive(Clone, Copy)]
pub(crate) struct Counting<'a> {
    /// All counters.
    pub(crate) counted: &'a Counted,
    /// Those at hand.
    pub(crate) at_hand: &'a AtHand,
    /// The thread's leases.
    pub(crate) leases: &'a Arc<Leases>,
    /// Now (unix milliseconds).
    pub(crate) now_ms: u64,
    /// How long the request may take.
    pub(crate) lasts: Duration,
}

/// Why a request is not let in.
#[derive(Debug)]
pub(crate) enum Refused {
    /// A limit has no room for it.
    Reached(Reached),
    /// The limit that has none would send it to a cheaper model.
    Downgrade(Box<str>, Arc<Limit>, Reached),
    /// The limit would have it answered in fewer tokens: so much is left of its own unit.
    Clamp(Arc<Limit>, u64, Reached),
    /// Too much is counted at once.
    Overloaded,
}

impl Refused {
    /// Which limit it was, if it was one.
    pub(crate) fn reached(&self) -> Option<&Reached> {
        match self {
            Self::Reached(reached) | Self::Downgrade(_, _, reached) | Self::Clamp(_, _, reached) => {
                Some(reached)
            }
            Self::Overloaded => None,
        }
    }
}

impl Account {
    /// Whether no limit counts the request.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Counts no more for a limit, which has sent the request to a cheaper model.
    pub(crate) fn exempt(&mut self, limit: LimitId) {
        self.exempt.push(limit);
    }

    /// Holds what the limits want for a call that may come to `estimate`, on top of what was spent: all of them or none.
    /// Without an estimate requests and concurrency alone are counted.
    pub(crate) fn hold(
        &mut self,
        counting: Counting<'_>,
        limits: &[(&[Arc<Limit>], Scope)],
        estimate: Option<&Estimate>,
    ) -> Result<(), Refused> {
        self.add_terms(counting, limits)?;
        let mut wanted: SmallVec<[(usize, u64); INLINE]> = SmallVec::new();
        for (at, term) in self.terms.iter().enumerate() {
            if self.exempt.contains(&term.limit.id) {
                continue;
            }
            let in_scope =
                limits.iter().any(|(_, scope)| *scope == term.scope) || term.scope == Scope::Request;
            if !in_scope {
                continue;
            }
            let counts_requests = matches!(term.limit.measure, Measure::Requests | Measure::Concurrent);
            let amount = match estimate {
                _ if counts_requests => Ok(1),
                Some(estimate) => {
                    amount_of(&term.limit, estimate).map(|more| more.saturating_add(term.spent))
                }
                None => continue,
            };
            match amount {
                Ok(amount) if term.held.is_none_or(|held| amount > held) => wanted.push((at, amount)),
                Ok(_) => {}
                Err(unbounded) => {
                    return Err(Refused::Reached(Reached::unbounded(&term.limit, unbounded.why())));
                }
            }
        }
        let taken = self.take(counting, &wanted);
        match taken {
            Ok(()) => {
                for (at, amount) in wanted {
                    if let Some(term) = self.terms.get_mut(at) {
                        term.held = Some(amount);
                    }
                }
                Ok(())
            }
            Err(refused) => Err(self.refused(refused, &wanted, counting.now_ms)),
        }
    }

    /// Adds the limits that are not among the terms yet.
    fn add_terms(
        &mut self,
        counting: Counting<'_>,
        limits: &[(&[Arc<Limit>], Scope)],
    ) -> Result<(), Refused> {
        for (limits, scope) in limits {
            for limit in limits.iter().filter(|limit| !self.exempt.contains(&limit.id)) {
                let known = self.terms.iter_mut().find(|term| term.limit.id == limit.id);
                if let Some(known) = known {
                    // The same provider by another place in the plan.
                    known.scope = *scope;
                    continue;
                }
                let opened = counting.at_hand.counter(counting.counted, limit, counting.now_ms);
                let Ok(counter) = opened else { return Err(Refused::Overloaded) };
                let limit = Arc::clone(limit);
                self.terms.push(Term { limit, counter, scope: *scope, held: None, spent: 0, told: false });
            }
        }
        Ok(())
    }

    fn take(&mut self, counting: Counting<'_>, wanted: &[(usize, u64)]) -> Result<(), NotAdmitted> {
        let now_ms = counting.now_ms;
        let charges: SmallVec<[Charge<'_>; INLINE]> = wanted
            .iter()
            .filter_map(|&(at, amount)| {
                let term = self.terms.get(at)?;
                let allowed = term.limit.amount_at(term.limit.window.id_at(now_ms));
                Some(Charge {
                    counter: &term.counter,
                    amount: amount.saturating_sub(term.held.unwrap_or(0)),
                    limit: Bound { amount: allowed, rule: rule_of(&term.limit) },
                })
            })
            .collect();
        if charges.is_empty() {
            return Ok(());
        }
        if let Some(permit) = &mut self.permit {
            return permit.extend(&charges, now_ms);
        }
        let until = counting.counted.lease_until(counting.lasts + LEASE_MARGIN);
        self.permit = Some(counting.leases.admit(&charges, now_ms, until)?);
        Ok(())
    }

    fn refused(&self, refused: NotAdmitted, wanted: &[(usize, u64)], now_ms: u64) -> Refused {
        let NotAdmitted::Refused(refused) = refused else { return Refused::Overloaded };
        let Some((term, amount)) =
            wanted.get(refused.at).and_then(|&(at, amount)| Some((self.terms.get(at)?, amount)))
        else {
            return Refused::Overloaded;
        };
        let held = term.held.unwrap_or(0);
        let asked = amount.saturating_sub(held);
        let reached = Reached::new(&term.limit, &refused, (asked, now_ms));
        if let AtLimit::Downgrade(model) = &term.limit.at_limit {
            return Refused::Downgrade(model.clone(), Arc::clone(&term.limit), reached);
        }
        let by_tokens =
            matches!(term.limit.measure, Measure::OutputTokens | Measure::Tokens | Measure::NanoUsd);
        if term.limit.on_short == OnShort::Clamp && by_tokens {
            // What is held of it already serves, too.
            let room = refused.left.saturating_add(held).saturating_sub(term.spent);
            return Refused::Clamp(Arc::clone(&term.limit), room, reached);
        }
        Refused::Reached(reached)
    }

    /// Sees to it that what `subject` names is counted by one request alone, for as long as vendors keep things.
    pub(crate) fn count_once(&mut self, counting: Counting<'_>, subject: u128) {
        let Ok(counter) = counting.counted.open_once(subject, counting.now_ms) else { return };
        let charge = [Charge { counter: &counter, amount: 1, limit: Bound::from(1) }];
        let until = counting.counted.lease_until(counting.lasts + LEASE_MARGIN);
        if let Ok(permit) = counting.leases.admit(&charge, counting.now_ms, until) {
            self.once = Some(Once { permit, counter, counted: false });
        }
    }

    /// Counts what is counted once; false if another request has.
    pub(crate) fn count(&mut self) -> bool {
        self.once.as_mut().map(|once| once.counted = true).is_some()
    }

    /// A target was left: what is held for it alone goes back, but for what was spent there.
    pub(crate) fn leave(&mut self, scope: Scope) {
        let Some(permit) = &mut self.permit else { return };
        for term in self.terms.iter_mut().filter(|term| term.scope == scope && scope != Scope::Request) {
            let keep = match term.limit.measure {
                Measure::Concurrent => 0,
                Measure::Requests => u64::from(term.told),
                _ => term.spent,
            };
            permit.shrink_to(term.limit.id, keep);
            term.held = term.held.map(|held| held.min(keep));
        }
    }

    /// What a call in this scope is charged for, for the ledger: concurrency leaves nothing behind.
    pub(crate) fn charges(&self, scope: Scope, likely: &Spent) -> SmallVec<[store::Charge; INLINE]> {
        let held = |permit: &Permit| permit.held().collect::<SmallVec<[_; 8]>>();
        let windows = self.permit.as_ref().map(held).unwrap_or_default();
        let once = self.once.iter().flat_map(|once| {
            let id = *once.counter.id();
            once.permit.held().map(move |held| store::Charge {
                limit: id.limit.0,
                subject: id.subject.0,
                window_kind: id.window.to_word(),
                window: held.window_id.0,
                amount: 1,
            })
        });
        self.counted_in(scope)
            .filter_map(|term| {
                let held = windows.iter().find(|held| held.counter == *term.counter.id())?;
                Some(store::Charge {
                    limit: term.limit.id.0,
                    subject: 0,
                    window_kind: term.limit.window.to_word(),
                    window: held.window_id.0,
                    amount: term.of_call(likely),
                })
            })
            .chain(once)
            .collect()
    }

    /// Adds what a call has come to, and tells it in the order of [`Self::charges`].
    pub(crate) fn spend(&mut self, scope: Scope, spent: &Spent) -> SmallVec<[u64; INLINE]> {
        let once = self.once.iter().map(|once| u64::from(once.counted));
        let amounts = self.counted_in(scope).map(|term| term.of_call(spent)).chain(once).collect();
        for term in self.terms.iter_mut().filter(|term| term.counts_in(scope)) {
            term.spent = term.spent.saturating_add(term.of_call(spent));
            term.told = true;
        }
        amounts
    }

    fn counted_in(&self, scope: Scope) -> impl Iterator<Item = &Term> {
        self.terms.iter().filter(move |term| term.counts_in(scope))
    }

    /// What is left of each limit of the request as a whole.
    pub(crate) fn left(&self, now_ms: u64) -> Vec<Left> {
        let of_request = self.terms.iter().filter(|term| term.scope == Scope::Request);
        of_request.map(|term| Left::of(&term.limit, &term.counter.view(now_ms))).collect()
    }

    /// Each limit with its figures.
    pub(crate) fn terms(&self) -> impl Iterator<Item = (&Limit, Figures)> {
        self.terms.iter().map(|term| {
            let now = term.counter.view(0);
            let figures = Figures {
                amount: term.limit.amount_at(now.window_id),
                held: term.held.unwrap_or(0),
                spent: term.spent,
                used_now: now.used(),
                share: term.counter.own_share().filter(|_| term.limit.mode == Mode::Strict),
            };
            (&*term.limit, figures)
        })
    }

    /// The limits that want to warn, each with the highest percent of its warnings that is reached now.
    pub(crate) fn warnings(&self, now_ms: u64) -> impl Iterator<Item = (&Arc<Limit>, WindowId, u8)> {
        let wanting = self.terms.iter().filter(|term| !term.limit.warn_at.is_empty());
        wanting.filter_map(move |term| {
            let now = term.counter.view(now_ms);
            let amount = u128::from(term.limit.amount_at(now.window_id));
            let reached = |percent: &&u8| u128::from(now.used()) * 100 >= amount * u128::from(**percent);
            let percent = term.limit.warn_at.iter().rev().find(reached)?;
            Some((&term.limit, now.window_id, *percent))
        })
    }

    /// Settles what was spent. A request that made no call counts for nothing: its limits are the sums of the ledger.
    pub(crate) fn settle(&mut self) {
        if let Some(Once { permit, counted, .. }) = self.once.take() {
            permit.settle(|_| u64::from(counted));
        }
        let Some(permit) = self.permit.take() else { return };
        permit.settle(|held| {
            let term = self.terms.iter().find(|term| *term.counter.id() == held.counter);
            term.map_or(0, |term| term.spent)
        });
    }
}

/// How nodes spend of a limit together.
fn rule_of(limit: &Limit) -> Rule {
    match (limit.mode, limit.on_partition) {
        (Mode::Strict, _) => Rule::Strict,
        (Mode::Soft, OnPartition::Share) => Rule::Share,
        (Mode::Soft, OnPartition::Optimistic) => Rule::Optimistic,
    }
}

impl Term {
    fn counts_in(&self, scope: Scope) -> bool {
        self.held.is_some()
            && self.limit.window != Window::Standing
            && (self.scope == Scope::Request || self.scope == scope)
    }

    /// What a call comes to; a request is counted by the first of its calls.
    fn of_call(&self, spent: &Spent) -> u64 {
        match self.limit.measure {
            Measure::Requests => u64::from(!self.told),
            measure => spent.measured(measure),
        }
    }
}
