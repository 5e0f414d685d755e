//! Signatures of Amazon, version 4, on requests of clients: read and checked.

use crate::credential::{AwsKeys, Secret};
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use ring::digest::{SHA256, digest};
use std::time::{Duration, SystemTime};

/// What `authorization` begins with.
pub const AWS_SCHEME: &str = "AWS4-HMAC-SHA256";
/// How far the clock of a client may be from ours, as at Amazon.
const SKEW_MAX: Duration = Duration::from_secs(300);

/// What a client presents: `AWS4-HMAC-SHA256 Credential=ID/DAY/REGION/SERVICE/aws4_request, SignedHeaders=a;b, Signature=HEX`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsSignature<'h> {
    /// Who says to have signed.
    pub access_key_id: &'h str,
    day: &'h str,
    region: &'h str,
    service: &'h str,
    signed_headers: &'h str,
    signature: &'h str,
}

/// A request as it came.
pub struct Received<'r> {
    /// The method.
    pub method: &'r str,
    /// Path and query as they came.
    pub target: &'r str,
    /// All values of a header, by its name in lower case.
    pub headers: &'r dyn Fn(&str) -> Vec<&'r str>,
    /// The body as it came.
    pub body: &'r [u8],
    /// The time now.
    pub now: SystemTime,
}

impl<'h> AwsSignature<'h> {
    /// Reads `authorization`. The error is public text.
    pub fn parse(authorization: &'h str) -> Result<Self, &'static str> {
        const FORM: &str = "`authorization` must be `AWS4-HMAC-SHA256 Credential=ID/DAY/REGION/SERVICE/aws4_request, \
                            SignedHeaders=..., Signature=...`";
        let rest = authorization.strip_prefix(AWS_SCHEME).ok_or(FORM)?;
        let (mut credential, mut signed_headers, mut signature) = (None, None, None);
        for part in rest.split(',') {
            let (name, value) = part.trim().split_once('=').ok_or(FORM)?;
            let slot = match name {
                "Credential" => &mut credential,
                "SignedHeaders" => &mut signed_headers,
                "Signature" => &mut signature,
                _ => return Err(FORM),
            };
            if slot.replace(value).is_some() {
                return Err(FORM);
            }
        }
        let mut scope = credential.ok_or(FORM)?.splitn(5, '/');
        let mut next = || scope.next().filter(|part| !part.is_empty()).ok_or(FORM);
        let (access_key_id, day, region, service) = (next()?, next()?, next()?, next()?);
        if next()? != "aws4_request" {
            return Err(FORM);
        }
        let (signed_headers, signature) = (signed_headers.ok_or(FORM)?, signature.ok_or(FORM)?);
        Ok(Self { access_key_id, day, region, service, signed_headers, signature })
    }

    /// Whether the holder of a secret signed this request, now. The error is public text.
    pub fn check(&self, secret: &Secret, request: &Received<'_>) -> Result<(), &'static str> {
        let Some(&[date]) = (request.headers)("x-amz-date").get(..) else {
            return Err("a signed request has one `x-amz-date`");
        };
        let time = time(date).ok_or("`x-amz-date` must be a time such as `20270131T235959Z`")?;
        if !date.starts_with(self.day) {
            return Err("the signature and `x-amz-date` are of different days");
        }
        let apart = request.now.duration_since(time).unwrap_or_else(|error| error.duration());
        if apart > SKEW_MAX {
            return Err(
                "Signature expired or not yet current: `x-amz-date` is more than 5 minutes from now; \
                        set the clock",
            );
        }
        let made = self.made(secret, time, request)?;
        // Hashes are compared, so that the time it takes says nothing about the signature.
        let hashes = [made.as_bytes(), self.signature.as_bytes()].map(|text| digest(&SHA256, text));
        if hashes[0].as_ref() == hashes[1].as_ref() {
            Ok(())
        } else {
            Err("the signature does not match: check the secret access key, and that nothing on the way \
                 changes path, host or body")
        }
    }

    /// The signature as it would have to be.
    fn made(
        &self,
        secret: &Secret,
        time: SystemTime,
        request: &Received<'_>,
    ) -> Result<String, &'static str> {
        const FAILED: &str = "the signature cannot be checked: something in the request is no plain text";
        let names: Vec<&str> = self.signed_headers.split(';').collect();
        if !["host", "x-amz-date"].iter().all(|needed| names.contains(needed)) {
            return Err("`host` and `x-amz-date` must be among the signed headers");
        }
        let mut headers = Vec::with_capacity(names.len());
        for name in names.iter().filter(|name| **name != "x-amz-date") {
            let values = (request.headers)(name);
            if values.is_empty() {
                return Err("a header is signed that did not arrive");
            }
            headers.extend(values.into_iter().map(|value| (*name, value)));
        }
        let mut settings = SigningSettings::default();
        // What the client signed is told by the client.
        settings.excluded_headers = None;
        let identity = AwsKeys::new(self.access_key_id, secret, None).0.into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(self.region)
            .name(self.service)
            .time(time)
            .settings(settings)
            .build()
            .map_err(|_| FAILED)?
            .into();
        // The host is signed as a header.
        let uri = format!("https://localhost{}", request.target);
        let body = SignableBody::Bytes(request.body);
        let signable =
            SignableRequest::new(request.method, uri, headers.into_iter(), body).map_err(|_| FAILED)?;
        Ok(sign(signable, &params).map_err(|_| FAILED)?.into_parts().1)
    }
}

/// A time such as `20270131T235959Z`.
fn time(text: &str) -> Option<SystemTime> {
    let part = |range: std::ops::Range<usize>| {
        text.get(range).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let form = text.len() == 16 && text.get(8..9) == Some("T") && text.ends_with('Z');
    let (year, month, day) = (part(0..4)?, part(4..6)?, part(6..8)?);
    let (hour, minute, second) = (part(9..11)?, part(11..13)?, part(13..15)?);
    let written = format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z");
    humantime::parse_rfc3339(&written).ok().filter(|_| form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_signature_is_told_so() {
        let good =
            "AWS4-HMAC-SHA256 Credential=A/20270131/r/bedrock/aws4_request, SignedHeaders=a;b,Signature=0f";
        let read = AwsSignature::parse(good).unwrap();
        assert_eq!((read.access_key_id, read.signed_headers, read.signature), ("A", "a;b", "0f"));
        for (from, to) in [
            ("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA512"),
            ("aws4_request", "aws4"),
            ("/bedrock", ""),
            ("A/", "/"),
            ("Signature=0f", "Signature"),
            ("Signature=0f", "Signature=0f, Signature=0f"),
            (",Signature=0f", ""),
            ("SignedHeaders", "signedheaders"),
        ] {
            let bad = good.replacen(from, to, 1);
            assert!(AwsSignature::parse(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_have_one_form() {
        let at = |seconds| Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(time("20231114T221320Z"), at(1_700_000_000));
        for text in [
            "",
            "20231114T221320",
            "2023-11-14T22:13:20Z",
            "20231314T221320Z",
            "20231114 221320Z",
            "é0231114T22132Z",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
