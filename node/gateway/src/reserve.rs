//! Holds what a call to a target may come to, before it is made: all limits or none.

use crate::{
    Endpoint,
    attempt::{Target, Walk},
    call::Calling,
    cause::{Failed, Next},
    estimate::{Most, estimate, tokens_within},
    limits::{Reached, Refused},
    pick::Picked,
    upstream::Outgoing,
};
use sha2::{Digest, Sha256};
use std::{rc::Rc, sync::Arc, time::Duration};
use trestle_config::{Limit, Measure, Mode};

/// What has to change in a request so that its limits let it through.
#[derive(Debug)]
pub(crate) enum Change {
    /// The bound on its answer, for a limit.
    Lower(u64, Arc<Limit>),
    /// The model, for a limit.
    Model(Box<str>, Arc<Limit>),
}

/// Why a target is not called.
pub(crate) enum NotReserved {
    /// Its limits have no room.
    Failed(Failed),
    /// They would have, for another request.
    Change(Change),
}

impl From<Failed> for NotReserved {
    fn from(failed: Failed) -> Self {
        Self::Failed(failed)
    }
}

/// What a provider keeps, as the subject of a counter.
fn subject(provider: &str, id: &str) -> u128 {
    let mut digest = Sha256::new_with_prefix(b"trestle results 1\0");
    digest.update((provider.len() as u64).to_be_bytes());
    digest.update(provider);
    digest.update(id);
    digest.finalize().iter().take(16).fold(0, |subject, byte| subject << 8 | u128::from(*byte))
}

impl From<Reached> for Failed {
    fn from(reached: Reached) -> Self {
        let mut failed = Self::new(reached.cause, Next::Onward, reached.message);
        failed.retry_after = reached.retry_after;
        failed
    }
}

impl Walk<'_> {
    /// Holds what a call to the target may come to.
    pub(crate) fn reserve(&mut self, target: &mut Target<'_>) -> Result<(), NotReserved> {
        let config = target.config;
        let limits = self.limits.limits_at(&config.provider, target.scope);
        let counts_requests =
            |limit: &Limit| matches!(limit.measure, Measure::Requests | Measure::Concurrent);
        let strict = |limit: &Arc<Limit>| limit.mode == Mode::Strict && !counts_requests(limit);
        let most = limits.iter().any(|(limits, _)| limits.iter().any(strict));
        let most = if most { Most::Wanted } else { Most::Unasked };
        let bytes = target.prepared.calls().map(Outgoing::held).sum();
        let estimate = estimate(self.ask, config, (bytes, most), &target.local.learned);
        target.estimate = estimate;
        if limits.iter().all(|(limits, _)| limits.is_empty()) {
            return Ok(());
        }
        let now_ms = self.flight.now_ms();
        let worker = Rc::clone(&self.flight.worker);
        let counting = worker.counting(now_ms, self.timer.left());
        let refused = match self.flight.account.hold(counting, &limits, Some(&estimate)) {
            Ok(()) => return Ok(()),
            Err(refused) => refused,
        };
        self.flight.limited(&refused);
        let failed = match refused {
            Refused::Reached(reached) => reached.into(),
            Refused::Downgrade(model, limit, _) => {
                return Err(NotReserved::Change(Change::Model(model, limit)));
            }
            Refused::Clamp(limit, room, reached) => {
                let tokens = tokens_within(self.ask, config, &estimate, (&limit, room));
                match tokens {
                    Some(tokens) => return Err(NotReserved::Change(Change::Lower(tokens, limit))),
                    None => reached.into(),
                }
            }
            Refused::Overloaded => {
                Failed::new("overloaded", Next::Stop, "too many limits or requests are counted at once")
            }
        };
        Err(NotReserved::Failed(failed))
    }

    /// Holds what another call to it may come to, on top of what those before have come to. Where there is no room the
    /// failure of the one before stands.
    pub(crate) fn reserve_again(
        &mut self,
        target: &mut Target<'_>,
        before: Failed,
    ) -> Result<(), NotReserved> {
        match self.reserve(target) {
            Err(NotReserved::Failed(failed)) => {
                self.note(target.config, &failed, Duration::ZERO);
                Err(before.into())
            }
            held => held,
        }
    }

    /// Announces a call of the target, with a part of what its target may come to.
    pub(crate) fn begin_call(
        &mut self,
        target: &Target<'_>,
        picked: &Picked,
        bytes: u64,
    ) -> Result<(), Failed> {
        if let Endpoint::Stored(_, act) = self.ask.endpoint
            && act.is_content()
            && let Some(pin) = &self.ask.pin
        {
            let (now_ms, worker) = (self.flight.now_ms(), Rc::clone(&self.flight.worker));
            let subject = subject(&pin.provider.name, &pin.theirs);
            self.flight.account.count_once(worker.counting(now_ms, self.timer.left()), subject);
        }
        let estimate = target.estimate.part(target.prepared.calls().count() as u64);
        self.flight.begin_call(Calling {
            target: target.config,
            scope: target.scope,
            picked,
            estimate,
            bytes,
            service_tier: self.ask.service_tier(),
        })
    }
}
