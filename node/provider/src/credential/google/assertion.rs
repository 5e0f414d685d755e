//! What a service account proves itself with: a signed JSON Web Token (RFC 7523).

use super::json::ServiceAccount;
use crate::credential::fetch::FetchError;
use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use ring::{
    rand::SystemRandom,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// The longest time that Google takes.
const LIFETIME_SECONDS: u64 = 3600;

#[derive(Serialize)]
struct Header<'a> {
    alg: &'static str,
    typ: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'a str>,
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    scope: &'a str,
    aud: &'a str,
    iat: u64,
    exp: u64,
}

/// Signs what is asked for, for an audience.
pub(super) fn sign(
    account: &ServiceAccount,
    (scope, audience): (&str, &str),
    now: SystemTime,
) -> Result<String, FetchError> {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let header = Header { alg: "RS256", typ: "JWT", kid: account.private_key_id.as_deref() };
    let (iat, exp) = (now, now + LIFETIME_SECONDS);
    let claims = Claims { iss: &account.client_email, scope, aud: audience, iat, exp };
    let text = format!("{}.{}", part(&header)?, part(&claims)?);
    let pair = key(account.private_key.reveal())?;
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
        .map_err(|_| FetchError::failed("the private key of the service account cannot sign"))?;
    Ok(format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
}

/// Whether its key can sign.
pub(super) fn check(account: &ServiceAccount) -> Result<(), FetchError> {
    key(account.private_key.reveal()).map(|_| ())
}

fn part(of: &impl Serialize) -> Result<String, FetchError> {
    let json = serde_json::to_vec(of).map_err(|_| FetchError::failed("the assertion cannot be written"))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(json))
}

/// The key in its PEM.
fn key(pem: &str) -> Result<RsaKeyPair, FetchError> {
    let wrong =
        || FetchError::failed("the private key of the service account is no RSA key in PEM (PKCS #8)");
    let begin = "-----BEGIN PRIVATE KEY-----";
    let inside = pem.split_once(begin).and_then(|(_, rest)| rest.split_once("-----END")).ok_or_else(wrong)?.0;
    let dense: String = inside.chars().filter(|c| !c.is_whitespace()).collect();
    let der = BASE64_STANDARD.decode(dense).map_err(|_| wrong())?;
    RsaKeyPair::from_pkcs8(&der).map_err(|_| wrong())
}
