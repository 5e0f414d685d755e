//! Clients that sign their requests, as they do for Amazon, instead of showing their key. Who it is can be told from the
//! head; whether it is so, only once the body is there.

use crate::{
    RequestLine,
    authenticate::{OWN_HEADER, authenticate, known, unauthenticated},
    headers::Headers,
};
use std::{sync::Arc, time::SystemTime};
use trestle_config::{Caller, SigningPair, Snapshot};
use trestle_dialect::Refusal;
use trestle_provider::{AWS_SCHEME, AwsSignature, Received, credential::Secret};

/// Who asks.
pub(crate) enum Asker {
    /// By a key; `None` is nobody in particular, where the document allows that.
    Known(Option<Arc<Caller>>),
    /// By a signature that is to be checked.
    Signed(Signed),
}

/// Says to be a caller, and has to prove it.
pub(crate) struct Signed {
    caller: Arc<Caller>,
    secret: Secret,
    target: Box<str>,
}

impl Signed {
    /// Whom it says to be.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }
}

/// Who asks, or says so.
pub(crate) fn identify(
    snapshot: &Snapshot,
    headers: &Headers,
    line: &mut RequestLine,
) -> Result<Asker, Refusal> {
    let by_key = |headers| authenticate(snapshot, headers, line.key.as_deref()).map(Asker::Known);
    let Some(target) = line.target.take().filter(|_| headers.get(OWN_HEADER).is_none()) else {
        return by_key(headers);
    };
    let Some(authorization) = headers.text("authorization").filter(|text| text.starts_with(AWS_SCHEME))
    else {
        return by_key(headers);
    };
    let signature = AwsSignature::parse(authorization).map_err(unauthenticated)?;
    let Some(hash) = SigningPair::hash_in(signature.access_key_id) else {
        let required = snapshot.settings.require_keys;
        return if required { Err(unauthenticated(FOREIGN)) } else { Ok(Asker::Known(None)) };
    };
    let Some(caller) = known(snapshot, &hash)? else { return Ok(Asker::Known(None)) };
    let pair = snapshot.derived.as_ref().and_then(|derived| derived.signing_pair(&hash));
    let pair = pair.ok_or_else(|| unauthenticated(NO_DATA_KEY))?;
    Ok(Asker::Signed(Signed { caller, secret: Secret::new(pair.secret_access_key), target }))
}

const FOREIGN: &str = "the access key id is none of this gateway: `trestle keys aws NAME` shows the one of a key, or send \
                       the key itself as AWS_BEARER_TOKEN_BEDROCK";
const NO_DATA_KEY: &str = "signatures cannot be checked here, for this gateway has no key_encryption_key: send the key \
                           itself as AWS_BEARER_TOKEN_BEDROCK";

impl Signed {
    /// The caller, if it signed this very request.
    pub(crate) fn check(self, headers: &Headers, body: &[u8]) -> Result<Arc<Caller>, Refusal> {
        if headers.get("content-encoding").is_some() {
            return Err(unauthenticated("a signed body must not be compressed"));
        }
        let authorization = headers.text("authorization").unwrap_or_default();
        let signature = AwsSignature::parse(authorization).map_err(unauthenticated)?;
        let values = |name: &str| {
            let all = headers.get_all(name).into_iter();
            all.filter_map(|value| std::str::from_utf8(value).ok()).collect()
        };
        let request =
            Received { method: "POST", target: &self.target, headers: &values, body, now: SystemTime::now() };
        signature.check(&self.secret, &request).map_err(unauthenticated)?;
        Ok(self.caller)
    }
}
