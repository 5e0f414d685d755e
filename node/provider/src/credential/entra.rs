//! Credentials of Microsoft Entra.

use super::{
    EntraSource, EntraSpec, Fetched, Ready,
    fetch::{FetchError, end_in},
    files,
    http::{Answer, Http, Reach, encode},
};
use crate::Proxy;
use serde::Deserialize;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SERVICE: &str = "the token endpoint of Microsoft Entra";
const IDENTITY: &str = "the service of managed identities";

/// Some write numbers as text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Number(u64),
    Text(String),
}

#[derive(Deserialize)]
struct Token {
    access_token: String,
    expires_in: Option<Number>,
    expires_on: Option<Number>,
}

#[derive(Deserialize)]
struct Problem {
    error: String,
    #[serde(default)]
    error_description: String,
}

/// A token.
pub(super) fn fetch(spec: &EntraSpec, proxy: Option<&Proxy>, now: SystemTime) -> Result<Ready, FetchError> {
    let scope = ("scope", spec.scope.as_str());
    let grant = ("grant_type", "client_credentials");
    match &spec.source {
        EntraSource::ClientSecret { token_url, client_id, secret } => {
            let members = [grant, scope, ("client_id", client_id), ("client_secret", secret.reveal())];
            ready(&Http::new(Reach::Vendor, proxy)?.form(token_url, &members)?, SERVICE, now)
        }
        EntraSource::Workload { token_url, client_id, token_file } => {
            let assertion = files::read(token_file)?;
            let kind = ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
            let members = [grant, scope, ("client_id", client_id), kind, ("client_assertion", &assertion)];
            ready(&Http::new(Reach::Vendor, proxy)?.form(token_url, &members)?, SERVICE, now)
        }
        EntraSource::Machine { url, client_id } => {
            let base = format!("{}/metadata/identity/oauth2/token", url.trim_end_matches('/'));
            let url = identity(&base, "2018-02-01", spec, client_id.as_deref());
            ready(&Http::new(Reach::Metadata, None)?.get(&url, &[("metadata", "true")])?, IDENTITY, now)
        }
        EntraSource::App { url, header, client_id } => {
            let url = identity(url, "2019-08-01", spec, client_id.as_deref());
            let headers = [("x-identity-header", header.reveal()), ("metadata", "true")];
            ready(&Http::new(Reach::Metadata, None)?.get(&url, &headers)?, IDENTITY, now)
        }
    }
}

/// Managed identities are asked for a resource, not for a scope.
fn identity(base: &str, version: &str, spec: &EntraSpec, client_id: Option<&str>) -> String {
    let resource = spec.scope.strip_suffix("/.default").unwrap_or(&spec.scope);
    let mut members = vec![("api-version", version), ("resource", resource)];
    members.extend(client_id.map(|id| ("client_id", id)));
    format!("{base}?{}", encode(&members))
}

fn ready(answer: &Answer, service: &str, now: SystemTime) -> Result<Ready, FetchError> {
    let explain = |text: &str| {
        let problem: Problem = serde_json::from_str(text).ok()?;
        Some(format!("{} {}", problem.error, problem.error_description))
    };
    let token: Token = answer.json(service, explain)?;
    let number = |number: Option<Number>| match number? {
        Number::Number(number) => Some(number),
        Number::Text(text) => text.trim().parse().ok(),
    };
    let left = number(token.expires_in).or_else(|| {
        let end = UNIX_EPOCH.checked_add(Duration::from_secs(number(token.expires_on)?))?;
        Some(end.duration_since(now).unwrap_or_default().as_secs())
    });
    let expires_at = Some(end_in(left.unwrap_or_default(), now));
    Ok(Ready { fetched: Fetched::bearer(&token.access_token)?, expires_at })
}
