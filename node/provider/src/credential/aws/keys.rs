//! Keys of Amazon as services give them.

use crate::credential::{AwsKeys, Fetched, Ready, Secret, fetch::FetchError, http::excerpt};
use serde::Deserialize;
use std::time::{Duration, SystemTime};

/// Temporary keys without an end are taken to last this long.
const UNKNOWN_END: Duration = Duration::from_secs(900);

/// Keys as containers and instances get them.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Document {
    access_key_id: Option<String>,
    secret_access_key: Option<String>,
    token: Option<String>,
    expiration: Option<String>,
    code: Option<String>,
    message: Option<String>,
}

impl Document {
    pub(super) fn ready(self, service: &str, now: SystemTime) -> Result<Ready, FetchError> {
        if let Some(code) = self.code.filter(|code| code != "Success") {
            let message = self.message.unwrap_or_default();
            return Err(FetchError::failed(format!(
                "{service} says {}",
                excerpt(&format!("{code} {message}"))
            )));
        }
        let (Some(id), Some(secret)) = (self.access_key_id, self.secret_access_key) else {
            return Err(FetchError::failed(format!("the answer of {service} holds no keys")));
        };
        ready((&id, &secret), self.token.as_deref(), self.expiration.as_deref(), now)
    }
}

/// Temporary keys.
pub(super) fn ready(
    (id, secret): (&str, &str),
    token: Option<&str>,
    expiration: Option<&str>,
    now: SystemTime,
) -> Result<Ready, FetchError> {
    let fine = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
    if !fine(id) || !fine(secret) || !token.is_none_or(fine) {
        return Err(FetchError::failed("the keys have characters that no keys have"));
    }
    let keys = AwsKeys::new(id, &Secret::new(secret), token.map(Secret::new).as_ref());
    let end = expiration.and_then(|text| humantime::parse_rfc3339(text).ok());
    Ok(Ready { fetched: Fetched::Aws(keys), expires_at: Some(end.unwrap_or(now + UNKNOWN_END)) })
}
