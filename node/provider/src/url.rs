//! Reads base URLs and the paths below them.

use crate::{Origin, is_forbidden_address};
use http::{HeaderValue, Uri, uri::PathAndQuery};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::net::{IpAddr, Ipv6Addr};

/// All but the unreserved characters of RFC 3986, so that a model's name stays one segment.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Stands for the model's name in a path.
const MODEL: &str = "{model}";

/// A base URL in its parts.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) origin: Origin,
    /// The value of the `host` header.
    pub(crate) host: HeaderValue,
    /// Without a slash at its end.
    pub(crate) path: String,
}

impl Base {
    /// Errors never show the URL: someone may have put a secret into it.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.contains(['?', '#']) {
            return Err("must not have a query or fragment; put a query into `endpoints`");
        }
        let uri: Uri = text.parse().map_err(|_| "is not a URL; write one such as `https://host/v1`")?;
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err("must begin with `https://` or `http://`"),
        };
        let authority = uri.authority().ok_or("has no host; write `https://host/v1`")?.as_str();
        if authority.contains('@') {
            return Err("must not carry a user or password; put the key into `keys`");
        }
        let (host, port) = split_port(authority, if tls { 443 } else { 80 })?;
        check_host(&host)?;
        let path = uri.path().trim_end_matches('/').to_owned();
        if has_dots(&path) {
            return Err("must not have `.` or `..` in its path");
        }
        let shown = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let shown = if port == if tls { 443 } else { 80 } { shown } else { format!("{shown}:{port}") };
        let header = HeaderValue::from_str(&shown).map_err(|_| "has a host that cannot be sent")?;
        Ok(Self { origin: Origin { tls, host: host.into(), port }, host: header, path })
    }

    /// The path of an operation below this base, from `/below` or, from the root of the host, `//absolute`; `None`
    /// from an empty one.
    pub(crate) fn endpoint(&self, path: &str) -> Result<Option<Path>, &'static str> {
        if path.is_empty() {
            return Ok(None);
        }
        let whole = match path.strip_prefix("//") {
            Some(absolute) => format!("/{absolute}"),
            None if path.starts_with('/') => format!("{}{path}", self.path),
            None => return Err("must begin with `/` (below `base_url`) or `//` (from the root of the host)"),
        };
        if whole.contains('#') || has_dots(whole.split('?').next().unwrap_or_default()) {
            return Err("must not have a fragment, nor `.` or `..` in its path");
        }
        let sample: PathAndQuery =
            whole.replace(MODEL, "m").parse().map_err(|_| "has characters that a path cannot have")?;
        Ok(Some(if whole.contains(MODEL) { Path::PerModel(whole) } else { Path::Fixed(sample) }))
    }
}

/// The path of an operation, as far as it can be known ahead of a request.
#[derive(Debug)]
pub(crate) enum Path {
    /// The same for all models; a clone is a count.
    Fixed(PathAndQuery),
    /// With `{model}` in it.
    PerModel(String),
}

impl Path {
    pub(crate) fn of(&self, model: &str) -> Option<PathAndQuery> {
        match self {
            Self::Fixed(path) => Some(path.clone()),
            // Dots alone mean another path even when they are encoded.
            Self::PerModel(_) if matches!(model, "" | "." | "..") => None,
            Self::PerModel(path) => {
                path.replace(MODEL, &utf8_percent_encode(model, SEGMENT).to_string()).parse().ok()
            }
        }
    }
}

fn split_port(authority: &str, default: u16) -> Result<(String, u16), &'static str> {
    let bad_port = "has a bad port; it must be 1 to 65535";
    let (host, rest) = match authority.strip_prefix('[') {
        Some(inside) => inside.split_once(']').ok_or("has a bracket that is not closed")?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    if authority.starts_with('[') && host.parse::<Ipv6Addr>().is_err() {
        return Err("has a bad IPv6 address in its brackets");
    }
    let port = match rest {
        "" => default,
        _ => rest.strip_prefix(':').and_then(|p| p.parse().ok()).filter(|p| *p > 0).ok_or(bad_port)?,
    };
    Ok((host.to_ascii_lowercase(), port))
}

fn check_host(host: &str) -> Result<(), &'static str> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return if is_forbidden_address(address) {
            Err("is a link-local or metadata address, which is never allowed")
        } else {
            Ok(())
        };
    }
    if matches!(host.trim_end_matches('.'), "metadata.google.internal" | "metadata.goog") {
        return Err("is a metadata service, which is never allowed");
    }
    let fine = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if host.is_empty() || host.len() > 253 || host.starts_with('.') || !host.bytes().all(fine) {
        return Err("has a bad host name; use letters, digits, `-`, `_` and `.` (punycode for others)");
    }
    Ok(())
}

fn has_dots(path: &str) -> bool {
    path.split('/').any(|segment| matches!(segment, "." | ".."))
}
