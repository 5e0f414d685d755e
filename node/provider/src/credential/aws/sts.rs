//! Amazon's security token service.

use super::keys;
use crate::{
    Proxy,
    credential::{
        AssumeRole, AwsKeys, AwsSpec, Ready,
        fetch::FetchError,
        files,
        http::{Answer, Http, Reach, encode},
    },
    sigv4::{self, Signable},
};
use http::{HeaderMap, HeaderValue, Method, Uri, header};
use std::{path::Path, time::SystemTime};

const SERVICE: &str = "the security token service of AWS";
const VERSION: (&str, &str) = ("Version", "2011-06-15");
/// What roles allow where nobody says otherwise.
const DURATION: (&str, &str) = ("DurationSeconds", "3600");

/// Who is asked, and through what.
pub(super) struct Sts<'a> {
    pub(super) spec: &'a AwsSpec,
    pub(super) proxy: Option<&'a Proxy>,
}

impl Sts<'_> {
    /// Keys of a role for the token of a workload. The token is what authenticates: nothing is signed.
    pub(super) fn web_identity(
        &self,
        (role_arn, session_name): (&str, &str),
        token_file: &Path,
        now: SystemTime,
    ) -> Result<Ready, FetchError> {
        let token = files::read(token_file)?;
        let members = [
            ("Action", "AssumeRoleWithWebIdentity"),
            VERSION,
            DURATION,
            ("RoleArn", role_arn),
            ("RoleSessionName", session_name),
            ("WebIdentityToken", &token),
        ];
        let http = Http::new(Reach::Vendor, self.proxy)?;
        let headers = [("content-type", FORM), ("accept", "text/xml")];
        let answer = http.send(Method::POST, &self.url(), &headers, Some(encode(&members)))?;
        read(&answer, now)
    }

    /// Keys of a role for other keys.
    pub(super) fn assume(
        &self,
        role: &AssumeRole,
        with: &AwsKeys,
        now: SystemTime,
    ) -> Result<Ready, FetchError> {
        let mut members = vec![
            ("Action", "AssumeRole"),
            VERSION,
            DURATION,
            ("RoleArn", &role.role_arn),
            ("RoleSessionName", &role.session_name),
        ];
        members.extend(role.external_id.as_deref().map(|id| ("ExternalId", id)));
        let (body, url) = (encode(&members), self.url());
        let headers = self.signed(&url, &body, with, now)?;
        let plain: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default())).collect();
        let answer = Http::new(Reach::Vendor, self.proxy)?.send(Method::POST, &url, &plain, Some(body))?;
        read(&answer, now)
    }

    fn url(&self) -> String {
        format!("{}/", self.spec.sts_url.trim_end_matches('/'))
    }

    fn signed(
        &self,
        url: &str,
        body: &str,
        with: &AwsKeys,
        now: SystemTime,
    ) -> Result<HeaderMap, FetchError> {
        let bad = || FetchError::failed("the URL of the security token service is none");
        let uri: Uri = url.parse().map_err(|_| bad())?;
        let mut headers = HeaderMap::new();
        let host =
            uri.authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok()).ok_or_else(bad)?;
        headers.insert(header::HOST, host);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(FORM));
        let body = bytes::Bytes::copy_from_slice(body.as_bytes());
        let path = uri.path_and_query().ok_or_else(bad)?;
        let body = Some(std::slice::from_ref(&body));
        let request = Signable { method: &Method::POST, path, body, now };
        sigv4::sign(with, (&self.spec.region, "sts"), &request, &mut headers).map_err(FetchError::failed)?;
        Ok(headers)
    }
}

const FORM: &str = "application/x-www-form-urlencoded";

/// The answer is XML of a fixed form, so that its elements are found by their names.
fn read(answer: &Answer, now: SystemTime) -> Result<Ready, FetchError> {
    let explain = |text: &str| {
        let part = |name| element(text, name);
        Some(format!("{} {}", part("Code")?, part("Message").unwrap_or_default()))
    };
    answer.succeeded(SERVICE, explain)?;
    let inside = element(&answer.text, "Credentials").unwrap_or_default();
    let part = |name| {
        element(&inside, name)
            .ok_or_else(|| FetchError::failed(format!("the answer of {SERVICE} has no {name}")))
    };
    let (id, secret, token) = (part("AccessKeyId")?, part("SecretAccessKey")?, part("SessionToken")?);
    let expiration = part("Expiration")?;
    keys::ready((&id, &secret), Some(&token), Some(&expiration), now)
}

/// The text of the first element of this name.
fn element(xml: &str, name: &str) -> Option<String> {
    let start = xml.find(&format!("<{name}>"))? + name.len() + 2;
    let rest = xml.get(start..)?;
    let text = rest.get(..rest.find(&format!("</{name}>"))?)?.trim();
    Some(text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&"))
}
