//! The first source that is there, and a role on top.

use super::{keys, metadata, profile, sts};
use crate::{
    Proxy,
    credential::{AwsKeys, AwsSource, AwsSpec, Fetched, Ready, fetch::FetchError},
};
use std::time::SystemTime;

/// Keys of the first source that is there; those of the role, if one is to be taken on.
pub(in crate::credential) fn fetch(
    spec: &AwsSpec,
    proxy: Option<&Proxy>,
    now: SystemTime,
) -> Result<Ready, FetchError> {
    let ready = first(spec, proxy, now)?;
    match (&spec.assume_role, &ready.fetched) {
        (Some(role), Fetched::Aws(keys)) => sts::Sts { spec, proxy }.assume(role, keys, now),
        _ => Ok(ready),
    }
}

fn first(spec: &AwsSpec, proxy: Option<&Proxy>, now: SystemTime) -> Result<Ready, FetchError> {
    let mut absent = Vec::new();
    let several = spec.sources.len() > 1;
    for source in &spec.sources {
        match of(source, spec, proxy, now) {
            Err(FetchError::Absent(why)) if several => absent.push(why),
            Err(FetchError::Unreachable(why)) if several && matches!(source, AwsSource::Instance { .. }) => {
                absent.push(why);
            }
            other => return other,
        }
    }
    Err(FetchError::failed(format!("there are no credentials here: {}", absent.join("; "))))
}

fn of(
    source: &AwsSource,
    spec: &AwsSpec,
    proxy: Option<&Proxy>,
    now: SystemTime,
) -> Result<Ready, FetchError> {
    match source {
        AwsSource::Keys { access_key_id, secret_access_key, session_token } => {
            let keys = AwsKeys::new(access_key_id, secret_access_key, session_token.as_ref());
            Ok(Ready { fetched: Fetched::Aws(keys), expires_at: None })
        }
        AwsSource::Profile { file, name } => {
            let found = profile::read(file, name)?;
            let end = None;
            let ready = keys::ready((&found.id, &found.secret), found.token.as_deref(), end, now)?;
            // A file says nothing of an end: it is read again when it changes.
            Ok(Ready { expires_at: None, ..ready })
        }
        AwsSource::WebIdentity { role_arn, token_file, session_name } => {
            let role = (role_arn.as_str(), session_name.as_str());
            sts::Sts { spec, proxy }.web_identity(role, token_file, now)
        }
        AwsSource::Container { url, authorization } => metadata::container(url, authorization.as_ref(), now),
        AwsSource::Instance { url } => metadata::instance(url, now),
    }
}
