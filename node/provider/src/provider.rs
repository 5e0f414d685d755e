//! What a call to a provider needs beside its wire format: where to, and how to sign.

use crate::{Operation, Signable, credential::Fetched};
use http::{HeaderMap, HeaderName, HeaderValue, Uri, header::AUTHORIZATION, uri::PathAndQuery};
use trestle_dialect::Fault;

/// Where a provider is: what a connection pool is keyed by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// TLS or plain.
    pub tls: bool,
    /// Host name or address, without brackets.
    pub host: Box<str>,
    /// Port.
    pub port: u16,
}

impl Origin {
    /// Where a URL points, by `http` or `https`.
    pub fn of(url: &Uri) -> Option<Self> {
        let tls = match url.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let host = url.host()?.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        let port = url.port_u16().unwrap_or(if tls { 443 } else { 80 });
        Some(Self { tls, host: host.into(), port })
    }
}

/// The seam for vendors that need more than a row.
pub trait Provider: Send + Sync + std::fmt::Debug {
    /// Where it is.
    fn origin(&self) -> &Origin;

    /// The value of the `host` header.
    fn host(&self) -> &HeaderValue;

    /// The path for an operation on a model; `None` if the provider does not have it (or the model's name cannot be
    /// part of a path).
    fn endpoint(&self, operation: Operation, model: &str) -> Option<PathAndQuery>;

    /// The path of its base URL, without a slash at the end: empty where that is the root of the host.
    fn base_path(&self) -> &str;

    /// The header that presents a key, made once per key; `None` for providers without keys. The value is marked
    /// sensitive. The error says why the key cannot be a header value, without the key.
    fn credential(&self, key: &str) -> Result<Option<(HeaderName, HeaderValue)>, &'static str>;

    /// Puts the headers on that every call gets (versions, ...). What is there already is kept: a header of the client
    /// that was let through wins.
    fn sign(&self, headers: &mut HeaderMap);

    /// Presents a credential that was fetched, for a request whose headers are all there. The error says why it cannot be.
    fn present(
        &self,
        fetched: &Fetched,
        _request: &Signable<'_>,
        headers: &mut HeaderMap,
    ) -> Result<(), &'static str> {
        match fetched {
            Fetched::Bearer(value) => {
                headers.insert(AUTHORIZATION, value.clone());
                Ok(())
            }
            Fetched::Aws(_) => Err("the vendor takes no signatures of AWS"),
        }
    }

    /// Corrects what the dialect made of an error, where this vendor differs.
    fn classify(&self, _fault: &mut Fault) {}
}
