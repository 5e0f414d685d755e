//! Workloads outside of Google: their token is exchanged for one of Google's (RFC 8693), and that perhaps for one of a service
//! account.

use super::{
    json::{CredentialSource, ExternalAccount},
    source::{Asking, explain, is_of_google},
};
use crate::credential::{
    Fetched, Ready,
    fetch::FetchError,
    files,
    http::{Http, Reach},
};
use http::Method;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const SERVICE: &str = "the token exchange of Google";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

#[derive(Serialize)]
struct Wish<'a> {
    scope: &'a [String],
    lifetime: &'static str,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Granted {
    access_token: String,
    expire_time: String,
}

/// A token.
pub(super) fn fetch(asking: &Asking<'_>, account: &ExternalAccount) -> Result<Ready, FetchError> {
    let url = asking.token_url(Some(&account.token_url))?;
    let subject = subject(asking, &account.credential_source)?;
    let impersonated = account.service_account_impersonation_url.as_deref();
    let scope = if impersonated.is_some() { SCOPE.to_owned() } else { asking.scope() };
    let members = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("audience", &account.audience),
        ("scope", &scope),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ("subject_token", &subject),
        ("subject_token_type", &account.subject_token_type),
    ];
    let exchanged = asking.ready(&asking.http()?.form(url, &members)?)?;
    match impersonated {
        None => Ok(exchanged),
        Some(url) => impersonate(asking, url, &exchanged),
    }
}

/// The token of the workload.
fn subject(asking: &Asking<'_>, source: &CredentialSource) -> Result<String, FetchError> {
    let text = match (&source.file, &source.url) {
        (Some(file), None) => files::read(file)?,
        (None, Some(url)) => {
            let headers: Vec<_> =
                source.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            // What a metadata service tells goes to nobody but Google.
            let reach = if asking.spec.token_url.is_none() { Reach::Metadata } else { Reach::Vendor };
            let answer = Http::new(reach, None)?.get(url, &headers)?;
            answer.succeeded("the source of the workload's token", |_| None)?;
            answer.text.trim().to_owned()
        }
        _ => {
            let wrong = "`credential_source` must have a `file` or a `url`: other sources are not known here";
            return Err(FetchError::failed(wrong));
        }
    };
    if source.format.kind.as_deref() != Some("json") {
        return Ok(text);
    }
    let name = source.format.subject_token_field_name.as_deref().unwrap_or("access_token");
    let members: BTreeMap<String, serde_json::Value> = serde_json::from_str(&text).unwrap_or_default();
    let token = members.get(name).and_then(|token| token.as_str());
    token.map(str::to_owned).ok_or_else(|| {
        FetchError::failed(format!("the source of the workload's token has no member `{name}` with text"))
    })
}

fn impersonate(asking: &Asking<'_>, url: &str, with: &Ready) -> Result<Ready, FetchError> {
    if !is_of_google(url) && asking.spec.token_url.is_none() {
        return Err(FetchError::failed("`service_account_impersonation_url` is not Google's"));
    }
    let bearer = match &with.fetched {
        Fetched::Bearer(value) => value.to_str().unwrap_or_default(),
        Fetched::Aws(_) => "",
    };
    let wish = serde_json::to_string(&Wish { scope: &asking.spec.scopes, lifetime: "3600s" })
        .map_err(|_| FetchError::failed("the request cannot be written"))?;
    let headers = [("authorization", bearer), ("content-type", "application/json")];
    let answer = asking.http()?.send(Method::POST, url, &headers, Some(wish))?;
    let granted: Granted = answer.json(SERVICE, explain)?;
    let end = humantime::parse_rfc3339(&granted.expire_time);
    let end = end.map_err(|_| FetchError::failed(format!("the answer of {SERVICE} has no end")))?;
    Ok(Ready { fetched: Fetched::bearer(&granted.access_token)?, expires_at: Some(end) })
}
