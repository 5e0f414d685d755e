//! What a call to a provider needs beside its wire format: where to, and how to sign.

use crate::Row;
use http::{HeaderMap, HeaderName, HeaderValue, uri::PathAndQuery};
use trestle_dialect::{Dialect, Fault};

/// What is asked of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Generate a message, in this dialect.
    Generate(Dialect),
    /// Legacy text completion, passed on.
    Completions,
    /// Embeddings, passed on.
    Embeddings,
}

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

/// The seam for vendors that need more than a row.
pub trait Provider: Send + Sync + std::fmt::Debug {
    /// Where it is.
    fn origin(&self) -> &Origin;

    /// The value of the `host` header.
    fn host(&self) -> &HeaderValue;

    /// The path for an operation on a model; `None` if the provider does not have it.
    fn endpoint(&self, operation: Operation, model: &str) -> Option<PathAndQuery>;

    /// The header that presents a key, made once per key; `None` for providers without keys. The value is marked
    /// sensitive. The error says why the key cannot be a header value, without the key.
    fn credential(&self, key: &str) -> Result<Option<(HeaderName, HeaderValue)>, &'static str>;

    /// Puts the headers on that every call gets (versions, ...).
    fn sign(&self, headers: &mut HeaderMap);

    /// Corrects what the dialect made of an error, where this vendor differs.
    fn classify(&self, _fault: &mut Fault) {}
}

/// A vendor that is fully described by its row.
#[derive(Debug)]
#[allow(dead_code)]
pub struct Listed {
    row: Row,
    origin: Origin,
    host: HeaderValue,
}

#[allow(unused_variables, clippy::unimplemented)]
impl Listed {
    /// Checks the row: URL, paths, headers. All problems, each `member: what is wrong, and how to mend it`.
    pub fn new(row: Row) -> Result<Self, Vec<String>> {
        unimplemented!()
    }
}

#[allow(unused_variables, clippy::unimplemented)]
impl Provider for Listed {
    fn origin(&self) -> &Origin {
        &self.origin
    }
    fn host(&self) -> &HeaderValue {
        &self.host
    }
    fn endpoint(&self, operation: Operation, model: &str) -> Option<PathAndQuery> {
        unimplemented!()
    }
    fn credential(&self, key: &str) -> Result<Option<(HeaderName, HeaderValue)>, &'static str> {
        unimplemented!()
    }
    fn sign(&self, headers: &mut HeaderMap) {
        unimplemented!()
    }
}
