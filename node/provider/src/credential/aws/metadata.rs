//! Keys that containers and instances get from services beside them.

use super::keys::Document;
use crate::credential::{
    Authorization, Ready,
    fetch::FetchError,
    files,
    http::{Answer, Http, Reach},
};
use http::Method;
use std::time::SystemTime;

/// Keys of a container (ECS, EKS Pod Identity).
pub(super) fn container(
    url: &str,
    authorization: Option<&Authorization>,
    now: SystemTime,
) -> Result<Ready, FetchError> {
    const SERVICE: &str = "the credentials endpoint of the container";
    let token = match authorization {
        None => None,
        Some(Authorization::Text(token)) => Some(token.reveal().to_owned()),
        Some(Authorization::File(file)) => Some(files::read(file)?),
    };
    let mut headers = vec![("accept", "application/json")];
    headers.extend(token.as_deref().map(|token| ("authorization", token)));
    let answer = Http::new(Reach::Metadata, None)?.get(url, &headers)?;
    answer.json::<Document>(SERVICE, |_| None)?.ready(SERVICE, now)
}

/// Keys of the role of an instance, by the second version of the metadata service.
pub(super) fn instance(url: &str, now: SystemTime) -> Result<Ready, FetchError> {
    const SERVICE: &str = "the metadata service of the instance";
    const ROLES: &str = "/latest/meta-data/iam/security-credentials/";
    let url = url.trim_end_matches('/');
    let http = Http::new(Reach::Metadata, None)?;
    let lifetime = [("x-aws-ec2-metadata-token-ttl-seconds", "300")];
    let token = http.send(Method::PUT, &format!("{url}/latest/api/token"), &lifetime, Some(String::new()))?;
    token.succeeded(SERVICE, |_| None)?;
    let headers = [("x-aws-ec2-metadata-token", token.text.trim())];
    let roles = http.get(&format!("{url}{ROLES}"), &headers)?;
    let role = role(&roles, SERVICE)?;
    let answer = http.get(&format!("{url}{ROLES}{role}"), &headers)?;
    answer.json::<Document>(SERVICE, |_| None)?.ready(SERVICE, now)
}

fn role<'a>(roles: &'a Answer, service: &str) -> Result<&'a str, FetchError> {
    if roles.status == 404 {
        return Err(FetchError::Absent("the instance has no role".to_owned()));
    }
    roles.succeeded(service, |_| None)?;
    let role = roles.text.lines().next().unwrap_or_default().trim();
    let fine = |b: u8| b.is_ascii_alphanumeric() || b"+=,.@_-".contains(&b);
    if role.is_empty() || !role.bytes().all(fine) {
        return Err(FetchError::failed(format!("{service} names no role")));
    }
    Ok(role)
}
