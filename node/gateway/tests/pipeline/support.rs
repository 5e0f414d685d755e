//! A gateway inside of the test, with mock upstreams behind it.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic here is a failed test")]

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use trestle_bench::mock::{Mock, Options, Recorded};
use trestle_dialect::Dialect;
use trestle_gateway::{Answered, Client, Endpoint, Gateway};

pub(crate) const CHAT: Endpoint = Endpoint::Generate(Dialect::OpenAiChat);
pub(crate) const MESSAGES: Endpoint = Endpoint::Generate(Dialect::AnthropicMessages);

/// A gateway, and the upstreams `a` (OpenAI) and `b` (Anthropic) behind it.
pub(crate) struct Bed {
    pub(crate) gateway: Gateway,
    pub(crate) client: Client,
    pub(crate) a: Mock,
    pub(crate) b: Mock,
    kept: Option<(tempfile::TempDir, trestle_store::Ledger)>,
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Whole {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The data lines of a stream.
    pub(crate) fn data(&self) -> Vec<String> {
        self.text().lines().filter_map(|line| line.strip_prefix("data: ").map(str::to_owned)).collect()
    }
}

impl Bed {
    /// `document` may name `$A` and `$B`, the addresses of the upstreams; without providers it gets both, as `a` and `b`.
    pub(crate) fn new(document: &str) -> Self {
        let a = Mock::start(Options::default()).unwrap();
        let b = Mock::start(Options::default()).unwrap();
        let providers = "
providers:
  a: { base_url: '$A/v1', dialects: [openai-chat], keys: [{ name: main, value: sk-upstream-a }] }
  b: { base_url: '$B/v1', like: anthropic, keys: [{ name: main, value: sk-upstream-b }] }
";
        let providers = if document.contains("providers:") { "" } else { providers };
        let settings =
            if document.contains("settings:") { "" } else { "\nsettings: { require_keys: false }\n" };
        let text = format!("{providers}{document}{settings}").replace("$A", &a.url()).replace("$B", &b.url());
        let gateway = Gateway::open(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let client = gateway.client(None);
        Self { gateway, client, a, b, kept: None }
    }

    /// The same with a ledger.
    pub(crate) fn with_ledger(document: &str) -> Self {
        let mut bed = Self::new(document);
        bed.gateway.stop();
        let folder = tempfile::tempdir().unwrap();
        let options = trestle_store::Options { segment_bytes: 8 << 20, ..trestle_store::Options::default() };
        let (ledger, _) = trestle_store::Ledger::open(&folder.path().join("ledger"), options).unwrap();
        let options =
            trestle_gateway::Options { threads: 2, ledger: Some(ledger.clone()), ..Default::default() };
        let snapshot = trestle_config::Snapshot::clone(&bed.gateway.snapshot());
        bed.gateway = Gateway::start(snapshot, options).unwrap();
        bed.client = bed.gateway.client(None);
        bed.kept = Some((folder, ledger));
        bed
    }

    /// All lines of the ledger, the oldest first, once nothing runs.
    pub(crate) async fn lines(&self) -> Vec<trestle_store::Line> {
        until("all requests to end", || self.gateway.in_flight() == 0).await;
        let (_, ledger) = self.kept.as_ref().unwrap();
        let (mut lines, mut next) = (Vec::new(), None);
        loop {
            let page = ledger.query(&trestle_store::Query::default(), next, 1000).unwrap();
            lines.extend(page.lines);
            next = page.next;
            if next.is_none() {
                lines.reverse();
                return lines;
            }
        }
    }

    pub(crate) async fn send(
        &self,
        endpoint: Endpoint,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answered {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::try_from(*name).unwrap(), HeaderValue::try_from(*value).unwrap());
        }
        self.client.send(endpoint, map, body.into()).await.unwrap()
    }

    pub(crate) async fn ask(
        &self,
        endpoint: Endpoint,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Whole {
        whole(self.send(endpoint, headers, body).await).await
    }

    pub(crate) async fn chat(&self, model: &str) -> Whole {
        self.ask(CHAT, &[], chat(model).to_string()).await
    }

    pub(crate) async fn stream(&self, model: &str) -> Whole {
        let mut body = chat(model);
        body["stream"] = json!(true);
        self.ask(CHAT, &[], body.to_string()).await
    }

    /// The value of a metric without labels, or the sum over them.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let text = self.gateway.metrics();
        let lines = text.lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    /// All tokens that were counted.
    pub(crate) fn tokens(&self) -> f64 {
        self.metric("trestle_input_tokens_total") + self.metric("trestle_output_tokens_total")
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.gateway.stop();
    }
}

pub(crate) async fn whole(answered: Answered) -> Whole {
    let (status, headers) = (answered.status, answered.headers.clone());
    Whole { status, headers, body: answered.bytes().await.unwrap() }
}

pub(crate) fn chat(model: &str) -> Value {
    json!({ "model": model, "messages": [{ "role": "user", "content": "Hello there, gateway." }] })
}

pub(crate) fn messages(model: &str) -> Value {
    json!({ "model": model, "max_tokens": 100, "messages": [{ "role": "user", "content": "Hello there, gateway." }] })
}

/// The one request that a mock has seen.
pub(crate) fn only(mock: &Mock) -> Recorded {
    let mut all = mock.requests();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// Waits for a state, within a bound.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
