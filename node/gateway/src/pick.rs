//! Which key of a provider a call is made with.

use crate::{
    cause::{Failed, Next},
    worker::ProviderLocal,
};
use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};
use trestle_config::{Credential, ProviderConfig};
use trestle_provider::credential::{NotReady, Ready};

/// A key, and what was fetched of it if it is one that is fetched.
pub(crate) struct Picked {
    /// The key.
    pub(crate) credential: Arc<Credential>,
    /// What it is now.
    pub(crate) ready: Option<Arc<Ready>>,
}

/// Why a key cannot be used now.
enum Out {
    /// It is left out for a while.
    Benched(Duration),
    /// It is still to be fetched.
    NotReady(NotReady),
}

/// A key that can be used, by weight, or the only one that will do; `chance` is from 0 up to and without 1.
pub(crate) fn pick(
    provider: &ProviderConfig,
    local: &ProviderLocal,
    chance: f64,
    only: Option<&Arc<Credential>>,
) -> Result<Picked, Failed> {
    if let Some(only) = only {
        return match usable(only, local) {
            Ok(ready) => Ok(Picked { credential: Arc::clone(only), ready }),
            Err(why) => Err(none(provider, &[(only, why)])),
        };
    }
    if let [only] = &provider.credentials[..]
        && let Ok(ready) = usable(only, local)
    {
        return Ok(Picked { credential: Arc::clone(only), ready });
    }
    let (mut free, mut out) = (Vec::new(), Vec::new());
    for credential in &provider.credentials {
        match usable(credential, local) {
            Ok(ready) => free.push((credential, ready)),
            Err(why) => out.push((credential, why)),
        }
    }
    let sum: u64 = free.iter().map(|(credential, _)| u64::from(credential.weight)).sum();
    let mut at = (chance * sum as f64) as u64;
    let drawn = free.iter().position(|(credential, _)| {
        let weight = u64::from(credential.weight);
        let hit = at < weight;
        at = at.saturating_sub(weight);
        hit
    });
    if !free.is_empty() {
        let (credential, ready) = free.swap_remove(drawn.unwrap_or_default());
        return Ok(Picked { credential: Arc::clone(credential), ready });
    }
    Err(none(provider, &out))
}

/// Whether it can be used now.
pub(crate) fn is_usable(credential: &Credential, local: &ProviderLocal) -> bool {
    usable(credential, local).is_ok()
}

/// What was fetched of it, or why it cannot be used.
fn usable(credential: &Credential, local: &ProviderLocal) -> Result<Option<Arc<Ready>>, Out> {
    let health = local.key(&credential.fingerprint);
    if let Some(time) = health.benched() {
        return Err(Out::Benched(time));
    }
    if credential.spec.is_none() {
        return Ok(None);
    }
    let live = health.live().ok_or(Out::NotReady(NotReady::Pending))?;
    live.get(SystemTime::now()).map(Some).map_err(Out::NotReady)
}

/// Why there is no key. The texts are public: why a credential cannot be fetched is told in the log.
fn none(provider: &ProviderConfig, out: &[(&Arc<Credential>, Out)]) -> Failed {
    let name = &provider.name;
    if provider.keys_missing || out.is_empty() {
        return Failed::new("no_key", Next::Onward, format!("no key is set for the provider {name}"));
    }
    let waiting = |what| {
        out.iter()
            .find(|(_, out)| matches!(out, Out::NotReady(why) if *why == what))
            .map(|(key, _)| &key.name)
    };
    if let Some(key) = waiting(NotReady::Pending) {
        let message =
            format!("the credentials {key} of the provider {name} are being fetched; try again shortly");
        return Failed::new("credentials_pending", Next::Onward, message);
    }
    if let Some(key) = waiting(NotReady::Failed) {
        let message = format!(
            "the credentials {key} of the provider {name} could not be fetched; the log of the gateway says why, and they \
             are tried again all the time"
        );
        return Failed::new("credentials_failed", Next::Onward, message);
    }
    let mut failed = Failed::new("rate_limited", Next::Onward, "all keys of the provider are rate limited");
    let times = out.iter().filter_map(|(_, out)| match out {
        Out::Benched(time) => Some(*time),
        Out::NotReady(_) => None,
    });
    failed.retry_after = times.min();
    failed
}

impl Picked {
    /// Leaves it out for a while, or, if it was fetched and is no longer taken, has it fetched anew.
    pub(crate) fn leave_out(&self, failed: &Failed, time: Duration, local: &ProviderLocal) {
        let health = local.key(&self.credential.fingerprint);
        let renewed = match (&self.ready, health.live()) {
            (Some(ready), Some(live)) if failed.cause == "bad_credentials" => {
                live.refuse(ready, Instant::now())
            }
            _ => false,
        };
        if !renewed {
            health.bench(time);
        }
    }
}
