//! What requests read: compiled, immutable, cheap to look things up in.

use crate::{Callers, Limits, MockFaults, Network, OnDisconnect, Passthrough, Settings, Strategy};
use http::{HeaderName, HeaderValue};
use std::{collections::HashMap, fmt, sync::Arc, time::Duration};
use trestle_catalog::{Catalog, Model};
use trestle_dialect::{Dialect, Quirks, ir::Json};
use trestle_provider::{Provider, Proxy, credential::Spec};

/// Compiled configuration.
#[derive(Debug, Default, Clone)]
pub struct Snapshot {
    /// Its number; grows with every change.
    pub revision: u64,
    /// What holds for all requests.
    pub settings: Settings,
    /// Proxies that are believed from where a request comes.
    pub trusted_proxies: Arc<[Network]>,
    /// By name, `mock` among them.
    pub providers: Arc<HashMap<Box<str>, Arc<ProviderConfig>>>,
    /// By the name that clients ask for.
    pub groups: Arc<HashMap<Box<str>, Arc<Group>>>,
    /// Groups whose names hold a `*`, the longest first.
    pub patterns: Arc<Vec<Arc<Group>>>,
    /// What is known of models.
    pub catalog: Catalog,
    /// Who may ask.
    pub callers: Callers,
    /// By `provider/model`: those that the document names, as a client gets them that asks for them directly.
    pub direct: Arc<HashMap<Box<str>, Arc<TargetConfig>>>,
    /// Secrets of the gateway's own; none where there is no key-encryption key.
    pub derived: Option<Derived>,
}

/// Secrets that are derived from the data key, so that all nodes have the same and nothing is to be kept. `Debug` does not
/// show them.
#[derive(Clone, PartialEq, Eq)]
pub struct Derived {
    /// Seals ids of vendors that are given to clients.
    pub ids: [u8; 32],
    /// For keys of callers that sign their requests instead of showing a key.
    pub signatures: [u8; 32],
}

impl fmt::Debug for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Derived").finish_non_exhaustive()
    }
}

/// A vendor account, ready for calls.
#[derive(Debug)]
pub struct ProviderConfig {
    /// Its name in the document.
    pub name: Box<str>,
    /// The listed vendor that it is an account of, else its own name: what the catalog knows its models by.
    pub vendor: Box<str>,
    /// A vendor behind the network, or the built-in mock.
    pub kind: ProviderKind,
    /// What it speaks, best first; never empty.
    pub dialects: Vec<Dialect>,
    /// Its keys that could be resolved. Providers without keys have one that presents nothing.
    pub credentials: Vec<Arc<Credential>>,
    /// Has no usable key: not tried, and said in the refusal.
    pub keys_missing: bool,
    /// How it departs from its dialects.
    pub quirks: Quirks,
    /// Members that every body gets.
    pub params: Vec<(String, Json)>,
    /// Headers of the client that go on to it.
    pub forward_headers: Vec<HeaderName>,
    /// What clients may call at it as it is.
    pub passthrough: Passthrough,
    /// Models that `/v1/models` shows for it.
    pub models: Vec<Box<str>>,
    /// Calls that may run at once.
    pub concurrency: u32,
    /// Calls that may wait.
    pub queue: u32,
    /// Limits in time.
    pub times: TimeLimits,
    /// Retries.
    pub retries: RetryPolicy,
    /// What may be used of it by all together.
    pub limits: Limits,
    /// A certificate authority in PEM, trusted beside the public ones.
    pub tls_ca: Option<Arc<str>>,
    /// The name to expect in the certificate, if it is not the host.
    pub tls_server_name: Option<Box<str>>,
    /// A proxy on the way to it.
    pub proxy: Option<Arc<Proxy>>,
    /// HTTP/2 without TLS.
    pub http2_prior_knowledge: bool,
    /// May be at a private address.
    pub private_addresses: bool,
}

/// Where answers come from.
#[derive(Debug)]
pub enum ProviderKind {
    /// A vendor behind the network.
    Remote(Box<dyn Provider>),
    /// Answers made here.
    Mock(MockSettings),
}

/// How the built-in mock answers.
pub type MockSettings = MockFaults;

/// A key of a vendor, ready to be sent. `Debug` does not show it.
pub struct Credential {
    /// For logs and metrics.
    pub name: Box<str>,
    /// Its share.
    pub weight: u32,
    /// The header that presents it (value marked sensitive).
    pub header: Option<(HeaderName, HeaderValue)>,
    /// How it is fetched, for one that is not known but issued by a cloud.
    pub spec: Option<Arc<Spec>>,
    /// Tells whether it is still the same key after a change of the document, without telling the key: the
    /// SHA-256 of provider, name and value; for one that is fetched, of what is written in the document.
    pub fingerprint: [u8; 32],
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential")
            .field("name", &self.name)
            .field("weight", &self.weight)
            .finish_non_exhaustive()
    }
}

/// A name that clients ask for.
#[derive(Debug)]
pub struct Group {
    /// The name.
    pub name: Box<str>,
    /// How the first target is chosen.
    pub strategy: Strategy,
    /// Never empty.
    pub targets: Vec<Arc<TargetConfig>>,
    /// Other groups are resolved to their targets (in order of weight, or as written where the group is `ordered`) and
    /// what these fall back to; at most 256.
    pub fallbacks: Vec<Arc<TargetConfig>>,
    /// What may be used of it by all together.
    pub limits: Limits,
}

/// A provider and one of its models, with what is set for it.
#[derive(Debug)]
pub struct TargetConfig {
    /// `provider/model`: the name for grants, logs and metrics.
    pub name: Box<str>,
    /// The vendor account.
    pub provider: Arc<ProviderConfig>,
    /// The vendor's name of the model.
    pub model: Box<str>,
    /// Its share.
    pub weight: u32,
    /// Members to set in the body.
    pub params: Vec<(String, Json)>,
    /// Limits in time.
    pub times: TimeLimits,
    /// Retries.
    pub retries: RetryPolicy,
    /// What the catalog knows of the model.
    pub known: Option<Arc<Model>>,
    /// Named in the document, so that a metric may name it; others are counted together.
    pub listed: bool,
}

/// Limits in time, complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimits {
    /// To connect, with TLS.
    pub connect: Duration,
    /// To the first content.
    pub first_token: Duration,
    /// Between content events.
    pub idle: Duration,
    /// For the whole request.
    pub total: Duration,
}

/// Retries, complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts after the first.
    pub max: u32,
    /// First wait.
    pub backoff: Duration,
    /// Longest wait.
    pub backoff_max: Duration,
}

/// What a model name of a client means.
#[derive(Debug, Clone)]
pub enum ResolvedTarget {
    /// A group of the document.
    Group(Arc<Group>),
    /// One target, made for this request or listed.
    Target(Arc<TargetConfig>),
}

impl TimeLimits {
    /// Where the document says nothing.
    pub const DEFAULT: Self = Self {
        connect: Duration::from_secs(5),
        first_token: Duration::from_secs(120),
        idle: Duration::from_secs(60),
        total: Duration::from_secs(900),
    };
}

impl RetryPolicy {
    /// Where the document says nothing.
    pub const DEFAULT: Self =
        Self { max: 2, backoff: Duration::from_millis(200), backoff_max: Duration::from_millis(5_000) };
}

impl TargetConfig {
    /// A target with nothing set for it but what its provider says.
    pub(crate) fn plain(
        provider: &Arc<ProviderConfig>,
        model: &str,
        catalog: &Catalog,
        listed: Listed,
    ) -> Self {
        let known = catalog.find(&provider.vendor, model).map(Arc::new);
        Self {
            known,
            name: format!("{}/{model}", provider.name).into(),
            provider: Arc::clone(provider),
            model: model.into(),
            weight: 1,
            params: provider.params.clone(),
            times: provider.times,
            retries: provider.retries,
            listed: listed == Listed::Yes,
        }
    }
}

/// Whether the document names a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    /// It does.
    Yes,
    /// A client does.
    No,
}

impl Snapshot {
    /// Whether an upstream call is aborted when its client leaves.
    pub fn aborts(&self, stream: bool) -> bool {
        match self.settings.on_disconnect {
            OnDisconnect::Auto => stream,
            OnDisconnect::Abort => true,
            OnDisconnect::Finish => false,
        }
    }
}
