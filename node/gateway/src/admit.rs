//! Lets a request in: from where it comes, with which headers, and the limits that count requests.

use crate::{
    flight::Flight,
    headers::Headers,
    limits::{Reached, Refused, Scope},
    timer::Timer,
};
use std::{net::IpAddr, rc::Rc, sync::Arc};
use trestle_config::{Caller, Limit, Limits, Network, ProviderConfig, Snapshot};
use trestle_dialect::{Refusal, RefusalKind};

/// Checks from where a caller asks, and whether its request has the headers that it must have.
pub(crate) fn access(
    snapshot: &Snapshot,
    caller: &Caller,
    (peer, headers): (Option<IpAddr>, &Headers),
) -> Result<(), Refusal> {
    let from = peer.map(|peer| origin(&snapshot.trusted_proxies, peer, headers));
    if from.is_some_and(|from| !caller.allows_address(from)) {
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

/// From where a request comes: behind proxies that are trusted, the last address that none of them has, as they add what
/// they see at the end of `x-forwarded-for`.
fn origin(trusted: &[Network], peer: IpAddr, headers: &Headers) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
    if !is_trusted(peer) {
        return peer;
    }
    let hops = headers.text("x-forwarded-for").unwrap_or_default();
    let mut from = peer;
    for hop in hops.rsplit(',') {
        let Ok(address) = hop.trim().parse() else { break };
        from = address;
        if !is_trusted(from) {
            break;
        }
    }
    from
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
        let model = snapshot.limits_of(model).filter(|limits| !limits.is_empty()).cloned();
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
pub(crate) fn admit(flight: &mut Flight, of: &OfRequest, timer: &Timer) -> Result<(), Refused> {
    let limits = of.limits();
    if limits.iter().all(|(limits, _)| limits.is_empty()) {
        return Ok(());
    }
    let now_ms = flight.now_ms();
    let worker = Rc::clone(&flight.worker);
    flight.account.hold(worker.counting(now_ms, timer.left()), &limits, None)?;
    worker.seat().shard.admitted();
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderMap;

    #[test]
    fn only_trusted_proxies_are_believed() {
        let trusted = [Network::parse("10.0.0.0/8").unwrap()];
        for (peer, hops, from) in [
            ("192.0.2.1", Some("198.51.100.7"), "192.0.2.1"),
            ("10.0.0.1", None, "10.0.0.1"),
            ("10.0.0.1", Some("198.51.100.7"), "198.51.100.7"),
            // What a client writes itself stands in front of what the proxy saw.
            ("10.0.0.1", Some("203.0.113.9, 198.51.100.7"), "198.51.100.7"),
            ("10.0.0.1", Some("198.51.100.7, 10.0.0.2"), "198.51.100.7"),
            ("10.0.0.1", Some("2001:db8::1"), "2001:db8::1"),
            ("10.0.0.1", Some("unknown"), "10.0.0.1"),
        ] {
            let mut headers = HeaderMap::new();
            headers.extend(
                hops.map(|hops| (http::HeaderName::from_static("x-forwarded-for"), hops.parse().unwrap())),
            );
            let found = origin(&trusted, peer.parse().unwrap(), &Headers::Map(headers));
            assert_eq!(found, from.parse::<IpAddr>().unwrap(), "{peer} {hops:?}");
        }
    }
}
