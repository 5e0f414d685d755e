//! Credentials of Microsoft Entra.

use super::Reader;
use crate::{EntraKey, EntraManagedIdentity, path::Path};
use trestle_provider::credential::{EntraSource, EntraSpec, Origins, Secret, check_metadata, check_service};

/// What tokens are for where nobody says otherwise: all models of Azure.
const SCOPE: &str = "https://cognitiveservices.azure.com/.default";
const AUTHORITY: &str = "https://login.microsoftonline.com";
const IMDS: &str = "http://169.254.169.254";

/// How credentials of Microsoft Entra are fetched.
pub(in crate::compile) fn entra(key: &EntraKey, path: &Path<'_>, reader: &mut Reader<'_>) -> Option<Origins> {
    let written = [key.client_secret.is_some(), key.token_file.is_some(), key.managed_identity.is_some()];
    if written.into_iter().filter(|is| *is).count() > 1 {
        let message = "says where tokens come from more than once; keep one of `client_secret`, `token_file`, \
                       `managed_identity`";
        return reader.problem(path, message);
    }
    let scope = key.scope.clone().unwrap_or_else(|| SCOPE.to_owned());
    if scope.is_empty() || !scope.bytes().all(|b| b.is_ascii_graphic()) {
        return reader
            .problem(&path.member("scope"), "is no scope; it is a URL such as `https://host/.default`");
    }
    let source = if let Some(identity) = &key.managed_identity {
        managed(identity, &path.member("managed_identity"), reader)?
    } else if let Some(secret) = &key.client_secret {
        let secret = reader.secret(secret, &path.member("client_secret"))?;
        let (token_url, client_id) = application(key, path, reader)?;
        EntraSource::ClientSecret { token_url, client_id, secret }
    } else if let Some(file) = &key.token_file {
        workload(key, file.clone(), path, reader)?
    } else {
        usual(key, path, reader)?
    };
    Some(Origins::Entra(EntraSpec { source, scope }))
}

/// What the environment has: a secret, a workload's token, or the identity of a machine.
fn usual(key: &EntraKey, path: &Path<'_>, reader: &mut Reader<'_>) -> Option<EntraSource> {
    if let Some(secret) = reader.env("AZURE_CLIENT_SECRET") {
        let (token_url, client_id) = application(key, path, reader)?;
        return Some(EntraSource::ClientSecret { token_url, client_id, secret: Secret::new(secret) });
    }
    if let Some(file) = reader.env("AZURE_FEDERATED_TOKEN_FILE") {
        return workload(key, file, path, reader);
    }
    let identity = EntraManagedIdentity { client_id: key.client_id.clone(), url: None };
    managed(&identity, path, reader)
}

fn workload(key: &EntraKey, file: String, path: &Path<'_>, reader: &mut Reader<'_>) -> Option<EntraSource> {
    let (token_url, client_id) = application(key, path, reader)?;
    Some(EntraSource::Workload { token_url, client_id, token_file: file.into() })
}

/// Where tokens of its tenant are issued, and the application.
fn application(key: &EntraKey, path: &Path<'_>, reader: &mut Reader<'_>) -> Option<(String, String)> {
    let at = path.member("tenant");
    let tenant = reader.or_env(key.tenant.as_deref(), "AZURE_TENANT_ID", &at)?;
    if !tenant.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.')) {
        return reader.problem(&at, "is no tenant; write its id or its domain");
    }
    let client_id = reader.or_env(key.client_id.as_deref(), "AZURE_CLIENT_ID", &path.member("client_id"))?;
    let authority = key.authority.clone().or_else(|| reader.env("AZURE_AUTHORITY_HOST"));
    let authority = authority.unwrap_or_else(|| AUTHORITY.to_owned());
    let authority = reader.url(authority, &path.member("authority"), check_service)?;
    Some((format!("{}/{tenant}/oauth2/v2.0/token", authority.trim_end_matches('/')), client_id))
}

/// The identity of an App Service where the environment tells of one, else that of a machine.
fn managed(identity: &EntraManagedIdentity, path: &Path<'_>, reader: &mut Reader<'_>) -> Option<EntraSource> {
    let client_id = identity.client_id.clone();
    let at = path.member("url");
    if let (None, Some(url), Some(header)) =
        (&identity.url, reader.env("IDENTITY_ENDPOINT"), reader.env("IDENTITY_HEADER"))
    {
        let url = reader.url(url, &at, check_metadata)?;
        return Some(EntraSource::App { url, header: Secret::new(header), client_id });
    }
    let url = identity.url.clone().unwrap_or_else(|| IMDS.to_owned());
    Some(EntraSource::Machine { url: reader.url(url, &at, check_metadata)?, client_id })
}
