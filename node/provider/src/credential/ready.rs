//! A credential that requests can be sent with.

use super::{Secret, fetch::FetchError};
use aws_credential_types::Credentials;
use http::HeaderValue;
use std::{fmt, time::SystemTime};

/// A credential that requests can be sent with.
#[derive(Debug)]
pub struct Ready {
    /// The credential.
    pub fetched: Fetched,
    /// When it ends; `None` for one without an end.
    pub expires_at: Option<SystemTime>,
}

/// A credential. `Debug` does not show it.
pub enum Fetched {
    /// `authorization: Bearer TOKEN`, marked sensitive.
    Bearer(HeaderValue),
    /// What requests are signed with.
    Aws(AwsKeys),
}

/// Keys of Amazon. `Debug` does not show them.
#[derive(Clone)]
pub struct AwsKeys(pub(crate) Credentials);

impl AwsKeys {
    /// Keys that are known.
    pub fn new(access_key_id: &str, secret_access_key: &Secret, session_token: Option<&Secret>) -> Self {
        let token = session_token.map(|token| token.reveal().to_owned());
        Self(Credentials::new(access_key_id, secret_access_key.reveal(), token, None, "trestle"))
    }
}

impl Fetched {
    /// A token as it is presented.
    pub(super) fn bearer(token: &str) -> Result<Self, FetchError> {
        let fine = !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic());
        let value = HeaderValue::from_str(&format!("Bearer {token}")).ok().filter(|_| fine);
        let mut value = value.ok_or_else(|| FetchError::failed("the token in the answer is none"))?;
        value.set_sensitive(true);
        Ok(Self::Bearer(value))
    }
}

impl fmt::Debug for Fetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bearer(_) => "Bearer(...)",
            Self::Aws(_) => "Aws(...)",
        })
    }
}
