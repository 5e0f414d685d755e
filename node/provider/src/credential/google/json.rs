//! Credentials of Google as files hold them.

use crate::credential::{Secret, fetch::FetchError};
use serde::{Deserialize, Deserializer};
use std::{collections::BTreeMap, path::PathBuf};

/// Credentials in JSON, by their `type`.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Credentials {
    /// A service account with its key.
    ServiceAccount(ServiceAccount),
    /// A person, as `gcloud auth application-default login` leaves it.
    AuthorizedUser(AuthorizedUser),
    /// A workload elsewhere.
    ExternalAccount(ExternalAccount),
}

#[derive(Deserialize)]
pub(super) struct ServiceAccount {
    pub(super) client_email: String,
    #[serde(deserialize_with = "secret")]
    pub(super) private_key: Secret,
    pub(super) private_key_id: Option<String>,
    pub(super) token_uri: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct AuthorizedUser {
    pub(super) client_id: String,
    #[serde(deserialize_with = "secret")]
    pub(super) client_secret: Secret,
    #[serde(deserialize_with = "secret")]
    pub(super) refresh_token: Secret,
}

#[derive(Deserialize)]
pub(super) struct ExternalAccount {
    pub(super) audience: String,
    pub(super) subject_token_type: String,
    pub(super) token_url: String,
    pub(super) service_account_impersonation_url: Option<String>,
    pub(super) credential_source: CredentialSource,
}

/// Where the token of a workload is.
#[derive(Deserialize)]
pub(super) struct CredentialSource {
    pub(super) file: Option<PathBuf>,
    pub(super) url: Option<String>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) format: Format,
}

/// How the token lies there.
#[derive(Deserialize, Default)]
pub(super) struct Format {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) subject_token_field_name: Option<String>,
}

fn secret<'de, D: Deserializer<'de>>(from: D) -> Result<Secret, D::Error> {
    String::deserialize(from).map(Secret::new)
}

impl Credentials {
    pub(super) fn parse(text: &str) -> Result<Self, FetchError> {
        // What is wrong is not told in the parser's words: they could show what is there.
        let wrong = "the credentials are no JSON of a `service_account`, an `authorized_user` or an `external_account` \
                     with all their members";
        serde_json::from_str(text).map_err(|_| FetchError::failed(wrong))
    }
}
