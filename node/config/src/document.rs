//! The document's types: what an operator writes. The JSON Schema is generated from them.

use crate::{
    AwsKey, BudgetEntry, CustomerEntry, EntraKey, GoogleKey, LimitEntry, ProviderLimits, TeamEntry, UserEntry,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};
use trestle_catalog::Entry;
use trestle_dialect::{Dialect, Quirks};
use trestle_provider::{Auth, Endpoints};

/// Everything that an operator sets.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "Trestle gateway document")]
pub struct Document {
    /// Vendor accounts by name. A name that is listed takes over what the list says of it.
    pub providers: BTreeMap<String, ProviderEntry>,
    /// Names that clients ask for, each with its targets.
    pub models: BTreeMap<String, ModelGroup>,
    /// Customers by name.
    pub customers: BTreeMap<String, CustomerEntry>,
    /// Teams by name.
    pub teams: BTreeMap<String, TeamEntry>,
    /// Users by name.
    pub users: BTreeMap<String, UserEntry>,
    /// Keys of clients, by a name for logs.
    pub keys: BTreeMap<String, CallerKey>,
    /// What is said of models over what the catalog says of them, by `provider/model`.
    pub catalog: BTreeMap<String, Entry>,
    /// What holds for all requests.
    pub settings: Settings,
}

/// A vendor account. Members that are missing come from the listed row of that name (or of `like`).
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderEntry {
    /// The listed vendor to start from, if not the one of this name.
    pub like: Option<String>,
    /// Where the API begins, such as `http://vllm:8000/v1`.
    pub base_url: Option<String>,
    /// What it speaks, best first.
    pub dialects: Option<Vec<Dialect>>,
    /// How a key is presented.
    pub auth: Option<Auth>,
    /// Keys of the vendor; requests rotate over them.
    pub keys: Vec<ProviderKey>,
    /// Paths, where they differ; the others stay the row's.
    pub endpoints: Option<Endpoints>,
    /// What stands for `{name}` in `base_url` and `endpoints`, such as `region`.
    pub variables: BTreeMap<String, String>,
    /// Headers that are always sent (beside the row's).
    pub headers: BTreeMap<String, String>,
    /// Headers of the client that go on to it (beside the row's).
    pub forward_headers: Vec<String>,
    /// What clients may call at it as it is, under `/passthrough/NAME/`: a method (or `*`) and a path, such as `GET /files/*`.
    /// The path is below `base_url`, or with `//` from the root of its host; `*` stands for a run of characters within a
    /// segment, `**` at the end for all that follows. Empty: nothing.
    pub passthrough: Vec<String>,
    /// How it departs from its dialect; as a whole instead of the row's.
    pub quirks: Option<Quirks>,
    /// Models that `/v1/models` shows for it.
    pub models: Vec<String>,
    /// Calls that may run at once; the rest wait in the queue.
    pub concurrency: Option<u32>,
    /// Calls that may wait; beyond, requests are answered 503 or go to the next target.
    pub queue: Option<u32>,
    /// Limits in time for its calls.
    pub timeouts: Timeouts,
    /// How often to try again on the same target.
    pub retries: Retries,
    /// TLS towards it.
    pub tls: TlsEntry,
    /// The URL of a proxy on the way to it, with user and password if it wants them: `env:NAME`, `file:PATH`, or the URL
    /// itself.
    pub proxy: Option<ProxyUrl>,
    /// HTTP/2 without TLS (prior knowledge); with TLS the version is negotiated.
    pub http2: Option<bool>,
    /// Private addresses are refused for URLs with a host name that resolves to them, unless this is set. Addresses
    /// and names written in `base_url` by the operator are allowed by default; link-local and metadata ones never are.
    pub private_addresses: Option<bool>,
    /// What all callers together may use of it.
    pub limits: Vec<LimitEntry>,
    /// What all callers together may spend at it.
    pub budgets: Vec<BudgetEntry>,
    /// Only for the built-in `mock`: how it answers.
    pub mock: Option<MockFaults>,
}

/// A key of a vendor: a value, or the credentials of a cloud.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderKey {
    /// For logs and metrics.
    pub name: String,
    /// `env:NAME`, `file:PATH`, or the key itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Credentials of AWS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aws: Option<AwsKey>,
    /// Credentials of Google.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub google: Option<GoogleKey>,
    /// Credentials of Microsoft Entra.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entra: Option<EntraKey>,
    /// Its share among the keys.
    #[serde(default = "one")]
    pub weight: u32,
}

impl ProviderKey {
    /// A key with a value.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        let value = Some(value.into());
        Self { name: name.into(), value, aws: None, google: None, entra: None, weight: 1 }
    }
}

impl fmt::Debug for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderKey")
            .field("name", &self.name)
            .field("value", &self.value.as_deref().map(shown))
            .field("aws", &self.aws)
            .field("google", &self.google)
            .field("entra", &self.entra)
            .field("weight", &self.weight)
            .finish()
    }
}

/// References may be shown, the secret itself never.
pub(crate) fn shown(value: &str) -> &str {
    if value.starts_with("env:") || value.starts_with("file:") { value } else { "..." }
}

const fn one() -> u32 {
    1
}

/// The URL of a proxy, or a reference to it; it may hold a password.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct ProxyUrl(pub String);

impl ProxyUrl {
    /// Whether a value of `proxy` is, or stands for, a secret: a URL with a user and password, or one that is elsewhere.
    pub(crate) fn is_secret(value: &str) -> bool {
        value.contains('@') || !value.contains("://")
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if Self::is_secret(&self.0) { shown(&self.0) } else { &self.0 })
    }
}

/// TLS towards a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TlsEntry {
    /// A certificate authority in PEM: `file:PATH`, `env:NAME` or the PEM itself; trusted beside the public ones.
    pub ca: Option<String>,
    /// The name to expect in the certificate, if it is not the host.
    pub server_name: Option<String>,
}

/// A name that clients ask for.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelGroup {
    /// How the first target is chosen.
    #[serde(default)]
    pub strategy: Strategy,
    /// The targets; when one fails the next is tried.
    pub targets: Vec<TargetEntry>,
    /// Tried after all targets, in order.
    #[serde(default)]
    pub fallbacks: Vec<Fallback>,
    /// What all callers together may use under this name.
    #[serde(default)]
    pub limits: Vec<LimitEntry>,
    /// What all callers together may spend under this name.
    #[serde(default)]
    pub budgets: Vec<BudgetEntry>,
}

/// How the first target is chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// By chance in proportion to the weights; the others follow in order of their own draws.
    #[default]
    Weighted,
    /// As written.
    Ordered,
}

/// A target of a group.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetEntry {
    /// `provider/model`.
    pub model: String,
    /// Its share.
    #[serde(default = "one")]
    pub weight: u32,
    /// Members to set in the body that is sent to it; they win over the client's.
    #[serde(default)]
    pub params: BTreeMap<String, serde_json::Value>,
    /// Instead of the provider's.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// Instead of the provider's.
    #[serde(default)]
    pub retries: Retries,
}

/// A fallback: a target with settings, or the name of one or of another group.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Fallback {
    /// `provider/model`, or a name in `models`.
    Name(String),
    /// With settings of its own.
    Target(TargetEntry),
}

/// Limits in time, in milliseconds. What is missing comes from the next wider place, at last from the defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// To connect, with TLS. Default 5,000.
    pub connect_ms: Option<u64>,
    /// From sending the request to the first content (or the whole head of a buffered answer). Default 120,000.
    pub first_token_ms: Option<u64>,
    /// Between content events of a stream, or pieces of a buffered answer. Default 60,000.
    pub idle_ms: Option<u64>,
    /// For the whole request. Default 900,000.
    pub total_ms: Option<u64>,
}

/// How often to try again on one target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Retries {
    /// Attempts after the first. Default 2, at most 10.
    pub max: Option<u32>,
    /// First wait; it doubles, with jitter. Default 200.
    pub backoff_ms: Option<u64>,
    /// Longest wait, also for Retry-After; a longer one moves on to the next target. Default 5,000.
    pub backoff_max_ms: Option<u64>,
}

/// A key of a client.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallerKey {
    /// `sha256:HEX` of the key (preferred), or `env:NAME`, `file:PATH` of the key itself.
    pub value: String,
    /// What it may use: names in `models`, or patterns with `*` matched on the resolved `provider/model`. Empty: everything.
    #[serde(default)]
    pub models: Vec<String>,
    /// Refused while true.
    #[serde(default)]
    pub disabled: bool,
    /// Refused from then on: a time in UTC such as `2027-01-31T00:00:00Z`.
    #[serde(default)]
    pub expires_at: Option<String>,
    /// The key before a rotation, which is still taken for a while.
    #[serde(default)]
    pub previous: Option<PreviousKey>,
    /// What a target cannot be told is refused, and not left out and named.
    #[serde(default)]
    pub strict: bool,
    /// It may ask with `x-trestle-trace: true` why its requests went as they did.
    #[serde(default)]
    pub trace: bool,
    /// Words to find it by, and by which what it uses is told apart.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The team that it belongs to: a name in `teams`.
    #[serde(default)]
    pub team: Option<String>,
    /// The customer that it belongs to, where it has no team: a name in `customers`.
    #[serde(default)]
    pub customer: Option<String>,
    /// Whose key it is: a name in `users`.
    #[serde(default)]
    pub user: Option<String>,
    /// What it may use.
    #[serde(default)]
    pub limits: Vec<LimitEntry>,
    /// What it may spend.
    #[serde(default)]
    pub budgets: Vec<BudgetEntry>,
    /// What it may use and spend at single providers, by their names.
    #[serde(default)]
    pub provider_limits: BTreeMap<String, ProviderLimits>,
    /// The providers that it may use. Empty: all.
    #[serde(default)]
    pub providers: Vec<String>,
    /// From where it may ask: addresses such as `10.1.2.3`, and networks such as `10.0.0.0/8`. Empty: from anywhere.
    #[serde(default)]
    pub ip_allow: Vec<String>,
    /// Headers that its requests must have, each with its value, or `*` for any.
    #[serde(default)]
    pub required_headers: BTreeMap<String, String>,
}

/// A key that another has taken the place of.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviousKey {
    /// `sha256:HEX` of the key (preferred), or `env:NAME`, `file:PATH` of the key itself.
    pub value: String,
    /// Refused from then on: a time in UTC such as `2027-01-31T00:00:00Z`.
    pub expires_at: String,
}

impl fmt::Debug for CallerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallerKey")
            .field("value", &shown(&self.value))
            .field("models", &self.models)
            .field("disabled", &self.disabled)
            .field("expires_at", &self.expires_at)
            .field("previous", &self.previous)
            .field("strict", &self.strict)
            .field("trace", &self.trace)
            .field("tags", &self.tags)
            .field("team", &self.team)
            .field("customer", &self.customer)
            .field("user", &self.user)
            .field("limits", &self.limits)
            .field("budgets", &self.budgets)
            .field("provider_limits", &self.provider_limits)
            .field("providers", &self.providers)
            .field("ip_allow", &self.ip_allow)
            .field("required_headers", &self.required_headers)
            .finish()
    }
}

impl fmt::Debug for PreviousKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreviousKey")
            .field("value", &shown(&self.value))
            .field("expires_at", &self.expires_at)
            .finish()
    }
}

/// What holds for all requests.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Requests without a known key are refused.
    pub require_keys: bool,
    /// Largest body of a request, in bytes, after decompression.
    pub body_bytes_max: u64,
    /// All bodies in flight together, in bytes; beyond, requests are answered 503.
    pub buffered_bytes_max: u64,
    /// Gets pictures and documents that clients name by URL, for targets that cannot be told one. Never from private addresses.
    pub fetch_media: bool,
    /// Largest of them, in bytes.
    pub media_bytes_max: u64,
    /// A file of models in the format of the catalog that ships with the binary, to be used instead of that: `file:PATH`.
    pub catalog: Option<String>,
    /// Most targets that one request may try.
    pub attempts_max: u32,
    /// Proxies in front of the gateway whose `x-forwarded-for` says from where a request comes: addresses and networks.
    /// Only for `ip_allow` of keys.
    pub trusted_proxies: Vec<String>,
    /// What happens to a stream when its client leaves.
    pub on_disconnect: OnDisconnect,
    /// Limits in time where a provider or target says nothing.
    pub timeouts: Timeouts,
    /// Retries where a provider or target says nothing.
    pub retries: Retries,
    /// Calls to one provider that may run at once, where it says nothing.
    pub provider_concurrency: u32,
    /// Calls to one provider that may wait, where it says nothing.
    pub provider_queue: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            require_keys: true,
            body_bytes_max: 100_000_000,
            buffered_bytes_max: 1_000_000_000,
            fetch_media: true,
            media_bytes_max: 20_000_000,
            catalog: None,
            attempts_max: 8,
            trusted_proxies: Vec::new(),
            on_disconnect: OnDisconnect::default(),
            timeouts: Timeouts::default(),
            retries: Retries::default(),
            provider_concurrency: 10_000,
            provider_queue: 1_000,
        }
    }
}

/// What happens to an upstream call when its client leaves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnDisconnect {
    /// Streams are aborted at once, buffered calls finish.
    #[default]
    Auto,
    /// Both are aborted.
    Abort,
    /// Both finish.
    Finish,
}

/// How the built-in mock answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MockFaults {
    /// Before the head.
    pub delay_ms: u64,
    /// Between events of a stream.
    pub gap_ms: u64,
    /// Answer with this error status.
    pub status: Option<u16>,
    /// With this `retry-after`, in seconds.
    pub retry_after: Option<u64>,
    /// Every n-th call fails with `status` (default all).
    pub every: Option<u32>,
    /// Break a stream off after so many events.
    pub break_after: Option<u32>,
    /// Panic after so many events: for tests of isolation.
    pub panic_after: Option<u32>,
    /// Call the first tool on offer, with `{}`.
    pub call_tool: bool,
}
