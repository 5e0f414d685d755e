//! Signatures of Amazon, version 4.

use crate::credential::AwsKeys;
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign as signature},
    sign::v4,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header, uri::PathAndQuery};
use ring::digest::{Context, SHA256};
use std::{fmt::Write, time::SystemTime};

/// What is signed beside the headers of a request, as it will be sent.
#[derive(Debug, Clone, Copy)]
pub struct Signable<'a> {
    /// The method.
    pub method: &'a Method,
    /// The path and query, encoded.
    pub path: &'a PathAndQuery,
    /// The body in its pieces; `None` where it goes out as it comes in.
    pub body: Option<&'a [Bytes]>,
    /// The time of the signature.
    pub now: SystemTime,
}

const FAILED: &str = "the request cannot be signed";

/// Signs a request for a region and service: puts `authorization`, `x-amz-date` and `x-amz-security-token` on. Of the headers
/// that are there `host`, `content-type` and all that begin with `x-amz` are signed: what is between may change the others.
pub(crate) fn sign(
    keys: &AwsKeys,
    (region, service): (&str, &str),
    request: &Signable<'_>,
    headers: &mut HeaderMap,
) -> Result<(), &'static str> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).ok_or(FAILED)?;
    // The scheme is not signed.
    let uri = format!("https://{host}{}", request.path);
    let signed = headers.iter().filter(|(name, _)| is_signed(name));
    let signed: Option<Vec<_>> =
        signed.map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect();
    let identity = keys.0.clone().into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(service)
        .time(request.now)
        .settings(SigningSettings::default())
        .build()
        .map_err(|_| FAILED)?
        .into();
    let body = request.body.ok_or("a body that is not held whole cannot be signed")?;
    let body = SignableBody::Precomputed(hash(body));
    let signable =
        SignableRequest::new(request.method.as_str(), uri, signed.ok_or(FAILED)?.into_iter(), body)
            .map_err(|_| FAILED)?;
    let (instructions, _) = signature(signable, &params).map_err(|_| FAILED)?.into_parts();
    for made in instructions.into_parts().0 {
        let mut value = HeaderValue::from_str(made.value()).map_err(|_| FAILED)?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(made.name()), value);
    }
    Ok(())
}

fn is_signed(name: &HeaderName) -> bool {
    *name == header::HOST || *name == header::CONTENT_TYPE || name.as_str().starts_with("x-amz")
}

/// The SHA-256 of all pieces, in hexadecimal; they are not joined.
fn hash(pieces: &[Bytes]) -> String {
    let mut context = Context::new(&SHA256);
    pieces.iter().for_each(|piece| context.update(piece));
    let digest = context.finish();
    digest.as_ref().iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
