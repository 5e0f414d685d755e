//! Encrypted reasoning goes back to the route that wrote it. To any other it is left out and named, as another account cannot
//! read it.

use crate::{pick::is_usable, receive::Ask, worker::ProviderLocal};
use sha2::{Digest, Sha256};
use std::{fmt::Write, sync::Arc};
use trestle_config::{Credential, ProviderConfig};
use trestle_dialect::{Envelope, Word, carried_routes, ir, sealed_routes, unmark_carried, unmark_sealed};

/// The name of a route in what clients carry: 64 bits of a hash tell it from others and say nothing of it.
pub(crate) fn route_mark(provider: &ProviderConfig, credential: &Credential) -> String {
    let mut digest = Sha256::new_with_prefix(b"trestle route 1\0");
    digest.update((provider.name.len() as u64).to_be_bytes());
    digest.update(provider.name.as_bytes());
    digest.update(credential.name.as_bytes());
    digest.finalize().iter().take(8).fold(String::new(), |mut mark, byte| {
        let _ = write!(mark, "{byte:02x}");
        mark
    })
}

/// The request of the same dialect with what the latest route of this provider wrote, and the key of that route; `None` where
/// the provider wrote nothing of it, or the key cannot be used now.
pub(crate) fn own(
    ask: &Ask,
    provider: &ProviderConfig,
    local: &ProviderLocal,
) -> Option<(Envelope, Arc<Credential>)> {
    if !ask.envelope.may_have(Word::EncryptedContent) {
        return None;
    }
    let body = ask.envelope.body();
    let (mark, key) = key_of(&sealed_routes(body), ask, (provider, local))?;
    // It was checked before, and only text in it is shorter now.
    let envelope = Envelope::parse(unmark_sealed(body, &mark)?).ok()?;
    Some((envelope, key))
}

/// The same of a request that is translated.
pub(crate) fn own_decoded(
    (ask, request): (&Ask, &ir::Request),
    provider: &ProviderConfig,
    local: &ProviderLocal,
) -> Option<(ir::Request, Arc<Credential>)> {
    let (mark, key) = key_of(&carried_routes(request), ask, (provider, local))?;
    let mut request = request.clone();
    unmark_carried(&mut request, &mark);
    Some((request, key))
}

fn key_of(
    marks: &[&str],
    ask: &Ask,
    (provider, local): (&ProviderConfig, &ProviderLocal),
) -> Option<(String, Arc<Credential>)> {
    if marks.is_empty() {
        return None;
    }
    let only = ask.pin.as_ref().and_then(|pin| pin.credential.as_ref());
    let keys = provider.credentials.iter().filter(|key| only.is_none_or(|only| only.name == key.name));
    let keys: Vec<_> = keys.map(|key| (route_mark(provider, key), key)).collect();
    let (mark, key) = marks.iter().find_map(|mark| keys.iter().find(|(own, _)| own == mark))?;
    is_usable(key, local).then(|| (mark.clone(), Arc::clone(key)))
}
