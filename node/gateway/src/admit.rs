//! Lets a request in: from where it comes, with which headers, and the limits that count requests.

use crate::{
    flight::Flight,
    headers::Headers,
    limits::{Reached, Refused, Scope},
};
use std::{net::IpAddr, rc::Rc, sync::Arc, time::Duration};
use trestle_config::{Caller, Limit, Limits, ProviderConfig, ResolvedTarget, Snapshot};
use trestle_dialect::{Refusal, RefusalKind};

/// Checks from where a caller asks, and whether its request has the headers that it must have.
pub(crate) fn access(caller: &Caller, peer: Option<IpAddr>, headers: &Headers) -> Result<(), Refusal> {
    if peer.is_some_and(|peer| !caller.allows_address(peer)) {
        let message = "this key may not be used from the address that the request comes from";
        return Err(Refusal::new(RefusalKind::Forbidden, message));
    }
    match caller.lacks_header(&|name| headers.get(name.as_str())) {
        Some(name) => {
            let message = format!("this key may only be used with the header `{name}`, as its entry says");
            Err(Refusal { param: Some(name.to_string()), ..Refusal::new(RefusalKind::Forbidden, message) })
        }
        None => Ok(()),
    }
}

/// The limits of a request that do not depend on where it goes: of its caller, and of the name that it asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct OfRequest {
    caller: Option<Arc<Caller>>,
    model: Option<Limits>,
}

impl OfRequest {
    /// Those of a caller that asks for a model.
    pub(crate) fn new(snapshot: &Snapshot, caller: Option<&Arc<Caller>>, model: &str) -> Self {
        let model = match snapshot.resolve(model) {
            Some(ResolvedTarget::Group(group)) if !group.limits.is_empty() => Some(Arc::clone(&group.limits)),
            _ => None,
        };
        let caller = caller.filter(|caller| !caller.limits.is_empty() || !caller.provider_limits.is_empty());
        Self { caller: caller.cloned(), model }
    }

    /// In the order of charging.
    pub(crate) fn limits(&self) -> [(&[Arc<Limit>], Scope); 2] {
        let caller = self.caller.as_ref().map_or(&[][..], |caller| &caller.limits);
        [(caller, Scope::Request), (self.model.as_deref().unwrap_or_default(), Scope::Request)]
    }

    /// With those of the caller at one provider in between, and those of the provider at the end.
    pub(crate) fn limits_at<'l>(
        &'l self,
        provider: &'l ProviderConfig,
        scope: Scope,
    ) -> [(&'l [Arc<Limit>], Scope); 4] {
        let [caller, model] = self.limits();
        let at = self.caller.as_ref().map_or(&[][..], |caller| caller.limits_at(&provider.name));
        [caller, (at, scope), model, (&provider.limits, scope)]
    }
}

/// Counts the request among those that run and were made, where its limits have room.
pub(crate) fn admit(flight: &mut Flight, of: &OfRequest, lasts: Duration) -> Result<(), Refused> {
    let limits = of.limits();
    if limits.iter().all(|(limits, _)| limits.is_empty()) {
        return Ok(());
    }
    let now_ms = flight.now_ms();
    let worker = Rc::clone(&flight.worker);
    flight.account.hold(worker.counting(now_ms, lasts), &limits, None)
}

/// What cannot be let in, told to the client.
pub(crate) fn refusal(refused: &Refused) -> Refusal {
    match refused.reached() {
        Some(reached) => Reached::refusal(reached),
        None => {
            let message = "too many limits or requests are counted at once: try again shortly";
            Refusal::new(RefusalKind::Overloaded, message)
        }
    }
}
