//! The settings of the collector that takes spans and metrics.

use super::{Layers, MEMBERS, Traces};
use http::{HeaderName, Uri};
use percent_encoding::percent_decode_str;
use std::{fmt, path::PathBuf, str::FromStr};

/// Where telemetry goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Otlp {
    /// The collector: `http` or `https`.
    pub(crate) endpoint: Uri,
    /// How it is spoken to.
    pub(crate) protocol: Protocol,
    /// Sent with each request.
    pub(crate) headers: Vec<(HeaderName, HeaderSource)>,
    /// Authorities that are trusted beside the public ones, in PEM.
    pub(crate) ca: Option<PathBuf>,
    /// Added to what is said of this process.
    pub(crate) resource: Vec<(String, String)>,
    /// Which requests are traced.
    pub(crate) traces: Traces,
}

/// How a collector is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// gRPC, usually on port 4317.
    Grpc,
    /// Protobuf over HTTP/1.1, usually on port 4318.
    Http,
}

impl FromStr for Protocol {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "grpc" => Ok(Self::Grpc),
            "http" => Ok(Self::Http),
            _ => Err(()),
        }
    }
}

/// A header's value or where it stands. Headers hold tokens: neither is shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum HeaderSource {
    /// As it stands in the settings.
    Value(String),
    /// Of a variable of the environment.
    Variable(String),
    /// The content of a file, which is read at each request.
    File(PathBuf),
}

impl fmt::Debug for HeaderSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(not shown)")
    }
}

impl Layers {
    /// None where nothing is sent.
    pub(super) fn otlp(&mut self) -> Option<Otlp> {
        let is_of_telemetry = |member: &&str| {
            member.starts_with("otlp.")
                || member.starts_with("traces.")
                || *member == "metrics.push_interval_ms"
        };
        if !self.values.contains_key("otlp.endpoint") {
            for member in MEMBERS.into_iter().filter(is_of_telemetry) {
                if self.values.contains_key(member) {
                    self.refuse(member, "is for what is sent to a collector: set `otlp.endpoint` too");
                }
            }
            return None;
        }
        let protocol = self.parse("otlp.protocol", "must be grpc or http").unwrap_or(Protocol::Grpc);
        let (headers, ca) = (self.headers(), self.path("otlp.ca"));
        let resource = self.pairs("otlp.resource").unwrap_or_default();
        let traces = self.traces();
        let endpoint = self.endpoint(protocol)?;
        if ca.is_some() && endpoint.scheme_str() == Some("http") {
            self.refuse("otlp.ca", "is for an `otlp.endpoint` with https");
        }
        Some(Otlp { endpoint, protocol, headers, ca, resource, traces })
    }

    fn endpoint(&mut self, protocol: Protocol) -> Option<Uri> {
        let wanted = "must be a URL such as http://collector:4317";
        // Not shown if it is wrong: there may be a password in it.
        let (value, _) = self.values.get("otlp.endpoint")?;
        let Ok(uri) = value.trim().parse::<Uri>() else {
            self.refuse("otlp.endpoint", wanted);
            return None;
        };
        let has_scheme = matches!(uri.scheme_str(), Some("http" | "https"));
        if !has_scheme || uri.host().is_none_or(str::is_empty) {
            self.refuse("otlp.endpoint", wanted);
        } else if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            self.refuse("otlp.endpoint", "holds a name or a password: give them in `otlp.headers`");
        } else if uri.query().is_some() {
            self.refuse("otlp.endpoint", "has a query, which collectors have no use for");
        } else if protocol == Protocol::Grpc && uri.path() != "/" {
            self.refuse("otlp.endpoint", "has a path, which is for `otlp.protocol` http");
        } else {
            return Some(uri);
        }
        None
    }

    fn headers(&mut self) -> Vec<(HeaderName, HeaderSource)> {
        let mut headers = Vec::new();
        for (name, value) in self.pairs("otlp.headers").unwrap_or_default() {
            let source = match (value.strip_prefix("env:"), value.strip_prefix("file:")) {
                (Some(variable), _) => HeaderSource::Variable(variable.to_owned()),
                (_, Some(path)) => HeaderSource::File(PathBuf::from(path)),
                _ => HeaderSource::Value(value),
            };
            match HeaderName::from_str(&name) {
                Ok(name) => headers.push((name, source)),
                Err(_) => {
                    self.refuse("otlp.headers", &format!("has `{name}`, which no header can be called"))
                }
            }
        }
        headers
    }

    /// `name=value,...` with values in percent-encoding, as the environment of OpenTelemetry has them. Values may be secrets:
    /// what is wrong is told by its place.
    fn pairs(&mut self, member: &'static str) -> Option<Vec<(String, String)>> {
        let (text, _) = self.values.get(member)?;
        let mut pairs = Vec::new();
        let parts: Vec<_> = text.split(',').map(str::trim).collect();
        for (index, part) in parts.iter().enumerate().filter(|(_, part)| !part.is_empty()) {
            let pair = part.split_once('=').filter(|(name, _)| !name.trim().is_empty());
            let decoded = pair.map(|(name, value)| {
                (name.trim().to_owned(), percent_decode_str(value.trim()).decode_utf8())
            });
            let Some((name, Ok(value))) = decoded else {
                let number = index + 1;
                let message = format!(
                    "is wrong at part {number}, must be name=value, separated by commas (a comma in a value is %2C)"
                );
                self.refuse(member, &message);
                return None;
            };
            pairs.push((name, value.into_owned()));
        }
        Some(pairs)
    }
}
