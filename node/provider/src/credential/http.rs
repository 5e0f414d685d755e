//! Requests to those who issue credentials: bounded in time and size, without redirects.

use super::fetch::FetchError;
use crate::{Proxy, is_forbidden_address};
use http::{HeaderMap, HeaderName, Method, Request, Uri};
use serde::de::DeserializeOwned;
use std::time::Duration;
use ureq::{
    Agent, Error, ProxyProtocol,
    config::Config,
    unversioned::{
        resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver},
        transport::{DefaultConnector, NextTimeout},
    },
};

/// To connect, and for a whole answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest answer.
const ANSWER_BYTES_MAX: u64 = 256 * 1024;
/// Longest excerpt of what others say, in bytes.
const EXCERPT_BYTES_MAX: usize = 300;

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// A service of a vendor: never at a link-local or metadata address, whatever its name resolves to.
    Vendor,
    /// A metadata service beside this process: never through a proxy.
    Metadata,
}

/// A client.
pub(super) struct Http {
    agent: Agent,
}

/// An answer.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

impl Http {
    /// A client for those who may be reached.
    pub(super) fn new(reach: Reach, proxy: Option<&Proxy>) -> Result<Self, FetchError> {
        let proxy = match (reach, proxy) {
            (Reach::Vendor, Some(proxy)) => Some(through(proxy)?),
            (Reach::Vendor, None) | (Reach::Metadata, _) => None,
        };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(ANSWER_TIMEOUT))
            .user_agent(concat!("trestle/", env!("CARGO_PKG_VERSION")))
            .proxy(proxy)
            .build();
        let resolver = Checked { reach, inner: DefaultResolver::default() };
        Ok(Self { agent: Agent::with_parts(config, DefaultConnector::default(), resolver) })
    }

    pub(super) fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<Answer, FetchError> {
        self.send(Method::GET, url, headers, None)
    }

    /// Posts a form.
    pub(super) fn form(&self, url: &str, members: &[(&str, &str)]) -> Result<Answer, FetchError> {
        let headers = [("content-type", "application/x-www-form-urlencoded"), ("accept", "application/json")];
        self.send(Method::POST, url, &headers, Some(encode(members)))
    }

    pub(super) fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: Option<String>,
    ) -> Result<Answer, FetchError> {
        let host = url.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_owned));
        let host = host.ok_or_else(|| FetchError::failed("the URL of the service is none"))?;
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(HeaderName::try_from(*name).map_err(bad_header)?, *value);
        }
        let sent = match body {
            Some(body) => self.agent.run(request.body(body).map_err(bad_header)?),
            None => self.agent.run(request.body(()).map_err(bad_header)?),
        };
        let unreachable =
            |error: Error| FetchError::Unreachable(format!("{host} cannot be reached: {error}"));
        let (head, body) = sent.map_err(unreachable)?.into_parts();
        let text = body.into_with_config().limit(ANSWER_BYTES_MAX).lossy_utf8(true).read_to_string();
        let text = text.map_err(unreachable)?;
        Ok(Answer { status: head.status.as_u16(), headers: head.headers, text })
    }
}

fn through(proxy: &Proxy) -> Result<ureq::Proxy, FetchError> {
    let protocol = if proxy.origin.tls { ProxyProtocol::Https } else { ProxyProtocol::Http };
    let mut made = ureq::Proxy::builder(protocol).host(&proxy.origin.host).port(proxy.origin.port);
    if let Some((user, password)) = &proxy.identity {
        made = made.username(user).password(password.reveal());
    }
    made.build().map_err(|_| FetchError::failed("`proxy` cannot be used"))
}

// What could not be sent may be a secret: it is not shown.
fn bad_header<E>(_: E) -> FetchError {
    FetchError::failed("what is to be sent has characters that a request cannot carry")
}

impl Answer {
    /// The JSON of a good answer. `service` is told where it is none; what it says of its error is read by `explain`.
    pub(super) fn json<T: DeserializeOwned>(
        &self,
        service: &str,
        explain: fn(&str) -> Option<String>,
    ) -> Result<T, FetchError> {
        self.succeeded(service, explain)?;
        let read = serde_json::from_str(&self.text);
        read.map_err(|_| FetchError::failed(format!("the answer of {service} is not as expected")))
    }

    /// That the status is good.
    pub(super) fn succeeded(
        &self,
        service: &str,
        explain: fn(&str) -> Option<String>,
    ) -> Result<(), FetchError> {
        if (200..300).contains(&self.status) {
            return Ok(());
        }
        let said = explain(&self.text).map(|said| format!(": {}", excerpt(&said))).unwrap_or_default();
        Err(FetchError::failed(format!("{service} answered {}{said}", self.status)))
    }
}

/// A short piece of what somebody else says, fit for a line of a log.
pub(super) fn excerpt(text: &str) -> String {
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.truncate(line.floor_char_boundary(EXCERPT_BYTES_MAX));
    line
}

/// Members of a form, encoded.
pub(super) fn encode(members: &[(&str, &str)]) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    let encode = |text| utf8_percent_encode(text, PLAIN);
    let pairs: Vec<_> =
        members.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    pairs.join("&")
}

/// Refuses addresses after they were resolved, as a name says nothing.
#[derive(Debug)]
struct Checked {
    reach: Reach,
    inner: DefaultResolver,
}

impl Resolver for Checked {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let found = self.inner.resolve(uri, config, timeout)?;
        if self.reach == Reach::Metadata {
            return Ok(found);
        }
        let mut allowed = self.inner.empty();
        for address in found.iter().filter(|address| !is_forbidden_address(address.ip())) {
            allowed.push(*address);
        }
        if allowed.is_empty() { Err(Error::HostNotFound) } else { Ok(allowed) }
    }
}
