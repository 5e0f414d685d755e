//! A client of the admin API.

use super::{
    failure::{Failure, Refusal},
    remote::{Remote, Target, is_loopback},
    silent::{silent_nodes, tell_silent},
};
use crate::boot;
use anyhow::{Context, anyhow};
use http::{HeaderMap, Method, Request, Response, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{collections::BTreeSet, fs::File, os::unix::fs::OpenOptionsExt, path::Path, time::Duration};
use ureq::{
    Agent, Body,
    tls::{PemItem, RootCerts, TlsConfig, parse_pem},
};

/// For a connection, and for a whole answer: longer than a node takes to say that it does not know.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Largest answer: as large as a node gives.
const ANSWER_BYTES_MAX: u64 = 64 << 20;
/// Pages of one list.
const PAGES_MAX: usize = 10_000;

/// A node and who asks it.
pub(super) struct Client {
    agent: Agent,
    target: Target,
}

/// An answer that is none of a problem.
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) etag: Option<String>,
}

/// A request with what it carries.
pub(super) struct Ask<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    pub(super) if_match: Option<&'a str>,
    pub(super) body: String,
}

impl Answer {
    /// What it says.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let read = serde_json::from_str(&self.text);
        Ok(read.context("the answer is not as expected; is the node of another version?")?)
    }
}

impl Client {
    /// A client of the node that is meant.
    pub(super) fn open(remote: &Remote) -> Result<Self, Failure> {
        Self::to(remote.target()?)
    }

    /// A client of a node.
    pub(super) fn to(target: Target) -> Result<Self, Failure> {
        Ok(Self { agent: agent(&target.url, target.ca.as_deref())?, target })
    }

    /// The same with connections of its own: where a URL stands for several nodes another one may answer.
    pub(super) fn renewed(&self) -> Self {
        Self { agent: Agent::new_with_config(self.agent.config().clone()), target: self.target.clone() }
    }

    /// Sends a request of an application, and gives the answer whatever it is.
    pub(super) fn send(&self, path: &str, body: &Value) -> Result<Response<Body>, Failure> {
        let Target { url, token, .. } = &self.target;
        let request = Request::post(format!("{url}{path}"))
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(body.to_string());
        let request =
            request.map_err(|_| Failure::NoNode("the key is none: it has odd letters".to_owned()))?;
        self.agent.run(request).map_err(|error| unreachable(url, &error, &Method::GET))
    }

    pub(super) fn get(&self, path: &str) -> Result<Answer, Failure> {
        self.ask(Ask { method: Method::GET, path, if_match: None, body: String::new() })
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Result<Answer, Failure> {
        self.ask(Ask { method: Method::POST, path, if_match: None, body: body.to_string() })
    }

    pub(super) fn ask(&self, ask: Ask<'_>) -> Result<Answer, Failure> {
        let Target { url, token, .. } = &self.target;
        let mut request = Request::builder()
            .method(ask.method.clone())
            .uri(format!("{url}{}", ask.path))
            .header(header::AUTHORIZATION, format!("Bearer {token}"));
        if let Some(tag) = ask.if_match {
            request = request.header(header::IF_MATCH, tag);
        }
        let sent = if ask.body.is_empty() {
            request.body(()).map(|request| self.agent.run(request))
        } else {
            request.body(ask.body).map(|request| self.agent.run(request))
        };
        // Only the token may hold what no header can.
        let sent =
            sent.map_err(|_| Failure::NoNode("the admin token is none: it has odd letters".to_owned()))?;
        let answer = sent.map_err(|error| unreachable(url, &error, &ask.method))?;
        let (head, body) = answer.into_parts();
        let read = body.into_with_config().limit(ANSWER_BYTES_MAX).read_to_string();
        let text = read.map_err(|error| unreachable(url, &error, &ask.method))?;
        if head.status.is_success() {
            let etag = head.headers.get(header::ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
            return Ok(Answer { text, etag });
        }
        Err(match is_problem(&head.headers).then(|| serde_json::from_str::<Refusal>(&text).ok()).flatten() {
            Some(refusal) => Failure::Refused(refusal),
            None => Failure::NoNode(format!(
                "{url} answers {} and not as an admin API does: check the URL (with --admin-listen the API is there, not \
                 where clients connect)",
                head.status.as_u16()
            )),
        })
    }

    /// Saves an answer in a file that is not there yet; how many bytes it has.
    pub(super) fn save(&self, path: &str, file: &Path) -> Result<u64, Failure> {
        let shown = file.display();
        let mut options = File::options();
        let out = options.write(true).create_new(true).mode(0o600).open(file);
        let mut out = out.with_context(|| format!("cannot make {shown}"))?;
        let saved = self.save_into(path, &mut out).and_then(|bytes| {
            out.sync_all().with_context(|| format!("cannot write {shown}"))?;
            Ok(bytes)
        });
        if saved.is_err() {
            let _ = std::fs::remove_file(file);
        }
        saved
    }

    fn save_into(&self, path: &str, out: &mut File) -> Result<u64, Failure> {
        let Target { url, token, .. } = &self.target;
        let request =
            Request::get(format!("{url}{path}")).header(header::AUTHORIZATION, format!("Bearer {token}"));
        let request = request.body(()).map_err(anyhow::Error::from)?;
        let answer = self.agent.run(request).map_err(|error| unreachable(url, &error, &Method::GET))?;
        let (head, body) = answer.into_parts();
        if !head.status.is_success() {
            let text = body.into_with_config().limit(ANSWER_BYTES_MAX).read_to_string().unwrap_or_default();
            let refusal = is_problem(&head.headers).then(|| serde_json::from_str::<Refusal>(&text).ok());
            return Err(match refusal.flatten() {
                Some(refusal) => Failure::Refused(refusal),
                None => Failure::NoNode(format!("{url} answers {}", head.status.as_u16())),
            });
        }
        let copied = std::io::copy(&mut body.into_reader(), out);
        Ok(copied.context("the answer was cut off, or cannot be written")?)
    }

    /// All items of a list in pages. `cursor` is the parameter that asks for the next page.
    pub(super) fn pages(&self, path: &str, cursor: &str) -> Result<Vec<Value>, Failure> {
        let (mut items, mut next) = (Vec::new(), String::new());
        let mut silent = BTreeSet::new();
        for _ in 0..PAGES_MAX {
            let mut page: Value = self.get(&format!("{path}{next}"))?.read()?;
            if let Some(Value::Array(more)) = page.get_mut("items").map(Value::take) {
                items.extend(more);
            }
            silent.extend(silent_nodes(&page));
            match page.get("next") {
                None | Some(Value::Null) => {
                    tell_silent(&silent);
                    return Ok(items);
                }
                Some(Value::String(text)) => next = format!("&{cursor}={}", encoded(text)),
                Some(other) => next = format!("&{cursor}={other}"),
            }
        }
        Err(anyhow!("the list has more than {PAGES_MAX} pages: narrow it down").into())
    }
}

/// What asks one node, over TLS with the public authorities or with the only one that is given.
pub(super) fn agent(url: &str, ca: Option<&Path>) -> Result<Agent, Failure> {
    boot::cryptography();
    let mut tls = TlsConfig::builder();
    if let Some(path) = ca {
        let roots = roots(path).with_context(|| format!("the certificate {}", path.display()));
        tls = tls.root_certs(roots.map_err(|error| Failure::NoNode(format!("{error:#}")))?);
    }
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        // A token goes nowhere else.
        .max_redirects(0)
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_global(Some(ANSWER_TIMEOUT))
        .user_agent(concat!("trestle/", env!("CARGO_PKG_VERSION")))
        .tls_config(tls.build());
    if is_loopback(url) {
        config = config.proxy(None);
    }
    Ok(config.build().into())
}

/// Why there is no answer.
pub(super) fn unreachable(url: &str, error: &ureq::Error, method: &Method) -> Failure {
    let mut text = match error {
        ureq::Error::Timeout(_) => format!("{url} does not answer in time: {error}"),
        ureq::Error::HostNotFound => format!("cannot reach {url}: no such host"),
        ureq::Error::Tls(_) | ureq::Error::Rustls(_) => {
            format!("no TLS with {url}: {error}; for an authority of your own give --ca FILE")
        }
        error if url.starts_with("https:") => format!(
            "cannot reach {url}: {error}; check that a node runs there and speaks TLS; for an authority of your own \
             give --ca FILE"
        ),
        error => format!(
            "cannot reach {url}: {error}; check that a node runs there (with --admin-listen the API is there, not where \
             clients connect)"
        ),
    };
    if *method != Method::GET && !is_before_sending(error) {
        text.push_str("; it is not known whether the change took effect: look, then try again");
    }
    Failure::NoNode(text)
}

/// Nothing was sent yet.
fn is_before_sending(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::HostNotFound | ureq::Error::Tls(_) | ureq::Error::Rustls(_) => true,
        ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => true,
        ureq::Error::Io(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        _ => false,
    }
}

fn is_problem(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/problem+json")
}

fn roots(path: &Path) -> anyhow::Result<RootCerts> {
    let pem = std::fs::read(path)?;
    let items = parse_pem(&pem).collect::<Result<Vec<_>, _>>()?;
    let certificates: Vec<_> = items
        .into_iter()
        .filter_map(|item| match item {
            PemItem::Certificate(certificate) => Some(certificate),
            _ => None,
        })
        .collect();
    anyhow::ensure!(!certificates.is_empty(), "holds no certificate in PEM");
    Ok(RootCerts::new_with_certs(&certificates))
}

/// A name as a part of a path or of a query.
pub(super) fn encoded(name: &str) -> String {
    utf8_percent_encode(name, NON_ALPHANUMERIC).to_string()
}
