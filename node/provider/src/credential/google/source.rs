//! Tokens from each kind of credentials.

use super::{
    assertion, external,
    json::{AuthorizedUser, Credentials, ServiceAccount},
};
use crate::Proxy;
use crate::credential::{
    Fetched, GoogleSource, GoogleSpec, Ready,
    fetch::{FetchError, end_in},
    files,
    http::{Answer, Http, Reach},
};
use serde::Deserialize;
use std::time::SystemTime;

const SERVICE: &str = "the token endpoint of Google";
const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";

/// A fetch for a spec.
pub(super) struct Asking<'a> {
    pub(super) spec: &'a GoogleSpec,
    pub(super) proxy: Option<&'a Proxy>,
    pub(super) now: SystemTime,
}

#[derive(Deserialize)]
struct Token {
    access_token: String,
    #[serde(default)]
    expires_in: u64,
}

#[derive(Deserialize)]
struct Problem {
    error: String,
    #[serde(default)]
    error_description: String,
}

/// A token.
pub(in crate::credential) fn fetch(
    spec: &GoogleSpec,
    proxy: Option<&Proxy>,
    now: SystemTime,
) -> Result<Ready, FetchError> {
    let asking = Asking { spec, proxy, now };
    match &spec.source {
        GoogleSource::Metadata(url) => asking.metadata(url),
        GoogleSource::Json(json) => asking.with(&Credentials::parse(json.reveal())?),
        GoogleSource::JsonFile(file) => asking.with(&Credentials::parse(&files::read(file)?)?),
    }
}

/// What is wrong with credentials in JSON.
pub(in crate::credential) fn check(json: &str) -> Result<(), FetchError> {
    match Credentials::parse(json)? {
        Credentials::ServiceAccount(account) => assertion::check(&account),
        Credentials::AuthorizedUser(_) | Credentials::ExternalAccount(_) => Ok(()),
    }
}

/// What a token endpoint says of an error.
pub(super) fn explain(text: &str) -> Option<String> {
    let problem: Problem = serde_json::from_str(text).ok()?;
    Some(format!("{} {}", problem.error, problem.error_description))
}

impl Asking<'_> {
    fn with(&self, credentials: &Credentials) -> Result<Ready, FetchError> {
        match credentials {
            Credentials::ServiceAccount(account) => self.service_account(account),
            Credentials::AuthorizedUser(user) => self.user(user),
            Credentials::ExternalAccount(account) => external::fetch(self, account),
        }
    }

    /// Where a token is asked for: what the document says, or what a file says if that is Google's own.
    pub(super) fn token_url<'a>(&'a self, written: Option<&'a str>) -> Result<&'a str, FetchError> {
        if let Some(url) = &self.spec.token_url {
            return Ok(url);
        }
        match written {
            None => Ok(TOKEN_URL),
            Some(url) if is_of_google(url) => Ok(url),
            Some(_) => Err(FetchError::failed(
                "the credentials name a token endpoint that is not Google's; if that is meant, write `token_url` into the \
                 document",
            )),
        }
    }

    pub(super) fn scope(&self) -> String {
        self.spec.scopes.join(" ")
    }

    /// A client of Google's services.
    pub(super) fn http(&self) -> Result<Http, FetchError> {
        Http::new(Reach::Vendor, self.proxy)
    }

    fn service_account(&self, account: &ServiceAccount) -> Result<Ready, FetchError> {
        let url = self.token_url(account.token_uri.as_deref())?;
        // The audience stays Google's where the way there is another one.
        let audience = account.token_uri.as_deref().unwrap_or(TOKEN_URL);
        let assertion = assertion::sign(account, (&self.scope(), audience), self.now)?;
        let grant = ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
        self.ready(&self.http()?.form(url, &[grant, ("assertion", &assertion)])?)
    }

    fn user(&self, user: &AuthorizedUser) -> Result<Ready, FetchError> {
        let members = [
            ("grant_type", "refresh_token"),
            ("client_id", &user.client_id),
            ("client_secret", user.client_secret.reveal()),
            ("refresh_token", user.refresh_token.reveal()),
        ];
        self.ready(&self.http()?.form(self.token_url(None)?, &members)?)
    }

    fn metadata(&self, url: &str) -> Result<Ready, FetchError> {
        const FLAVOR: &str = "metadata-flavor";
        let service = "the metadata service of Google";
        let path = "computeMetadata/v1/instance/service-accounts/default/token";
        let url = format!("{}/{path}", url.trim_end_matches('/'));
        let answer = Http::new(Reach::Metadata, None)?.get(&url, &[(FLAVOR, "Google")])?;
        // Whoever else answers under that name must not have a say.
        if answer.headers.get(FLAVOR).is_none_or(|flavor| flavor != "Google") {
            return Err(FetchError::failed(format!("what answers is not {service}")));
        }
        self.token(&answer, service)
    }

    /// A token of an answer.
    pub(super) fn ready(&self, answer: &Answer) -> Result<Ready, FetchError> {
        self.token(answer, SERVICE)
    }

    fn token(&self, answer: &Answer, service: &str) -> Result<Ready, FetchError> {
        let token: Token = answer.json(service, explain)?;
        let expires_at = Some(end_in(token.expires_in, self.now));
        Ok(Ready { fetched: Fetched::bearer(&token.access_token)?, expires_at })
    }
}

/// Whether a URL is one of Google's services.
pub(super) fn is_of_google(url: &str) -> bool {
    let Ok(url) = url.parse::<http::Uri>() else { return false };
    let host = url.host().unwrap_or_default().to_ascii_lowercase();
    let fine = host.ends_with(".googleapis.com") || host == "accounts.google.com";
    url.scheme_str() == Some("https") && fine && url.port().is_none()
}

#[cfg(test)]
mod tests {
    use super::is_of_google;

    #[test]
    fn only_hosts_of_google_are_its_own() {
        for (url, expected) in [
            ("https://oauth2.googleapis.com/token", true),
            ("https://STS.googleapis.com/v1/token", true),
            ("https://accounts.google.com/o/oauth2/token", true),
            ("http://oauth2.googleapis.com/token", false),
            ("https://oauth2.googleapis.com:8443/token", false),
            ("https://oauth2.googleapis.com.evil.example/token", false),
            ("https://googleapis.com@evil.example/", false),
            ("https://evilgoogleapis.com/", false),
            ("nonsense", false),
        ] {
            assert_eq!(is_of_google(url), expected, "{url}");
        }
    }
}
