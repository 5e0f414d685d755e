//! Walks the plan, and where limits ask for it makes the request smaller, or another model's, and walks on.

use crate::{
    admit::{OfRequest, admit, refusal},
    attempt::{Walk, Walked},
    cause::Failed,
    flight::Flight,
    limits::{Refused, named},
    receive::Ask,
    reserve::Change,
    route::{self, Plan},
    take::Won,
    timer::Timer,
};
use std::{sync::Arc, time::Duration};
use trestle_config::{Limit, Snapshot, TargetConfig};
use trestle_dialect::{Dialect, Refusal, RefusalKind};

/// Changes of one request; a document has no cycles of them, and few limits have one.
const CHANGES_MAX: u32 = 16;

/// The longest time that a target of the plan gives.
pub(crate) fn longest(plan: &[Arc<TargetConfig>]) -> Duration {
    plan.iter().map(|target| target.times.total).max().unwrap_or_default()
}

/// A request with its plan.
pub(crate) struct Conceding<'a> {
    /// Who counts it.
    pub(crate) flight: &'a mut Flight,
    /// What it is.
    pub(crate) ask: &'a mut Ask,
    /// Its limits in time.
    pub(crate) timer: &'a mut Timer,
    /// What it runs under.
    pub(crate) snapshot: &'a Snapshot,
    /// Where it may go.
    pub(crate) plan: Plan,
}

/// Where a request came to.
pub(crate) enum Reached {
    /// A target answers. What was dropped on the way there.
    Won(Won, Vec<String>),
    /// It is not let in, or the client's own body cannot be sent on.
    Refused(Box<Refusal>),
    /// No target answers; the failure that says most to the client, and the dialect of the target it came from.
    Lost(Box<Failed>, Option<Dialect>),
}

impl Conceding<'_> {
    /// Lets it in, and walks to its answer.
    pub(crate) async fn walk(mut self) -> Reached {
        self.flight.record.left_out = std::mem::take(&mut self.ask.left_out);
        let reached = self.run().await;
        self.flight.record.plan = self.plan;
        reached
    }

    async fn run(&mut self) -> Reached {
        let caller = self.flight.record.caller.as_ref();
        let mut limits = OfRequest::new(self.snapshot, caller, &self.ask.model);
        let (mut admitted, mut from) = (false, 0);
        for round in 0..CHANGES_MAX {
            if !admitted {
                match admit(self.flight, &limits, self.timer) {
                    Ok(()) => admitted = true,
                    Err(Refused::Downgrade(model, limit, _)) => {
                        match self.downgrade(&model, &limit) {
                            Ok(other) => limits = other,
                            Err(refusal) => return Reached::Refused(Box::new(refusal)),
                        }
                        continue;
                    }
                    Err(refused) => {
                        self.flight.limited(&refused);
                        return Reached::Refused(Box::new(refusal(&refused)));
                    }
                }
            }
            let mut walk = Walk {
                ask: self.ask,
                flight: self.flight,
                timer: self.timer,
                settings: &self.snapshot.settings,
                limits: &limits,
                round,
                fetched: None,
            };
            let changed = match walk.walk(&self.plan, from).await {
                Walked::Change(Change::Lower(tokens, limit), at) => {
                    from = at;
                    self.flight.record.clamped = Some(Box::new((named(&limit), tokens)));
                    self.ask.lower(tokens)
                }
                Walked::Change(Change::Model(model, limit), _) => {
                    (admitted, from) = (false, 0);
                    self.downgrade(&model, &limit).map(|other| limits = other)
                }
                Walked::Won(won, dropped) => return Reached::Won(won, dropped),
                Walked::Refused(refusal) => return Reached::Refused(refusal),
                Walked::Lost(failed, dialect) => return Reached::Lost(failed, dialect),
            };
            if let Err(refusal) = changed {
                return Reached::Refused(Box::new(refusal));
            }
        }
        let message =
            "limits changed the request more often than they may: look for limits that send it around";
        Reached::Refused(Box::new(Refusal::new(RefusalKind::RateLimited, message)))
    }

    /// Sends it to another model from now on; a limit that did so no longer counts it.
    fn downgrade(&mut self, model: &str, limit: &Limit) -> Result<OfRequest, Refusal> {
        let caller = self.flight.record.caller.clone();
        let worker = &self.flight.worker;
        self.plan = route::of_model(self.snapshot, caller.as_deref(), model, &mut || worker.chance())?;
        self.flight.account.exempt(limit.id);
        self.flight.record.downgraded = Some(model.into());
        Ok(OfRequest::new(self.snapshot, caller.as_ref(), model))
    }
}
