//! Bifrost's `config.json`.

mod governance;
mod headers;
mod limits;
mod provider;
mod routing;

use super::{
    account::Names,
    check::{self, Origins},
    members::{Members, Remarks},
    report::{Imported, Place, Report},
    secret::Notation,
};
use crate::{
    Document, Problems,
    parse::{self, Booleans},
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const NOTATION: Notation = Notation { env: "env.", managers: &["vault."] };

/// Reads a `config.json` of Bifrost. Problems are told where it is no such file; what has no equivalent is noted.
pub fn bifrost(text: &str) -> Result<Imported, Problems> {
    let value = parse::value(text, Booleans::Strict)?;
    let mut report = Report::default();
    let mut draft = Draft::default();
    if let Some(members) = Members::new(value, Place::default(), &mut report) {
        draft.fill(members, &mut report);
        check::document(&mut draft.document, &draft.origins, &mut report);
    }
    report.finish(draft.document)
}

/// A document that is being made.
#[derive(Default)]
struct Draft {
    document: Document,
    origins: Origins,
    /// Names of our providers.
    names: Names,
    /// Values of keys of clients: each can be there once.
    values: BTreeSet<String>,
    /// Names of their providers, each with ours, or nothing if it was left out.
    providers: BTreeMap<String, Option<String>>,
    /// Customers and teams by their ids.
    customers: BTreeMap<String, governance::Owner>,
    teams: BTreeMap<String, governance::Owner>,
    /// What the requests of all keys must have.
    required_headers: headers::Required,
    /// What an empty list of models means.
    empty: Empty,
    /// Whether the file says which version it is; older ones do not, nor do newer ones have to.
    versioned: bool,
}

/// What an empty list of models means.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Empty {
    /// Since version 2.
    #[default]
    Nothing,
    /// In version 1.
    Everything,
}

/// What an allow list means.
enum Allowed {
    Everything,
    Only(Vec<String>),
}

impl Empty {
    fn allowed(self, list: Option<Vec<String>>) -> Allowed {
        let list = list.unwrap_or_default();
        if list.iter().any(|item| item == "*") || (list.is_empty() && self == Self::Everything) {
            Allowed::Everything
        } else {
            Allowed::Only(list)
        }
    }
}

const STORE: &str = "has no equivalent: the document is the configuration, the request log goes to stdout";
const TELEMETRY: &str = "has no equivalent yet; `/metrics` serves Prometheus, the request log goes to stdout";
const MCP: &str = "has no equivalent: MCP is not served here";
const ENTERPRISE: &str = "has no equivalent yet";

const REMARKS: Remarks<'static> = &[
    ("$schema", "is of their format; `trestle schema` prints ours"),
    ("encryption_key", "has no use here: nothing is kept in a database"),
    ("source_of_truth", "has no equivalent: the document is the only source"),
    ("env_label", "has no equivalent: there is no console yet"),
    ("auth_config", "has no equivalent: there is no admin API or console yet"),
    ("config_store", STORE),
    ("logs_store", STORE),
    ("vector_store", "has no equivalent yet: answers are not cached"),
    ("framework", "has no equivalent yet: costs are not reckoned"),
    ("mcp", MCP),
    ("skills_registry", MCP),
    ("websocket", "has no equivalent: WebSockets are not served here"),
    ("server", "has no equivalent; what concerns one process is in the node settings"),
    ("feature_flags", "has no equivalent"),
    ("cluster_config", ENTERPRISE),
    ("load_balancer_config", "has no equivalent; keys and targets that fail are left out by themselves"),
    ("circuit_breaker_config", "has no equivalent; keys and targets that fail are left out by themselves"),
    ("guardrails_config", ENTERPRISE),
    ("access_profiles", ENTERPRISE),
    ("scim_config", ENTERPRISE),
    ("audit_logs", ENTERPRISE),
    ("large_payload_optimization", "has no use here: bodies are never copied more than once"),
    ("alerting", ENTERPRISE),
];

const CLIENT: Remarks<'static> = &[
    ("initial_pool_size", "has no equivalent: there is no pool of objects to size"),
    ("drop_excess_requests", "has no equivalent: a full `queue` tries the next target, then answers 503"),
    ("prometheus_labels", TELEMETRY),
    ("allowed_origins", "has no equivalent: browsers from other origins are not served"),
    ("allowed_headers", "has no equivalent: browsers from other origins are not served"),
    ("enable_logging", "has no equivalent: the request log is always written to stdout"),
    ("disable_content_logging", "has no equivalent: content is never logged"),
    ("log_retention_days", "has no equivalent: whoever takes the log from stdout decides"),
    ("logging_headers", "has no equivalent: headers are not logged"),
    ("whitelisted_routes", "has no equivalent: only probes and metrics need no key"),
    (
        "header_filter_config",
        "has no equivalent; name the headers of clients that go on in `forward_headers`",
    ),
    (
        "compat",
        "has no equivalent: requests are always translated, and what is dropped is named in the answer",
    ),
    ("allow_direct_keys", "has no equivalent: keys of vendors are in the document alone"),
    ("routing_chain_max_depth", "has no equivalent: there are no chains of rules"),
    ("async_job_result_ttl", "has no equivalent: there are no asynchronous jobs"),
    ("disable_db_pings_in_health", "has no use here: there is no database to ping"),
    ("mcp_agent_depth", MCP),
    ("mcp_tool_execution_timeout", MCP),
    ("mcp_code_mode_binding_level", MCP),
    ("mcp_tool_sync_interval", MCP),
    ("mcp_disable_auto_tool_inject", MCP),
    ("mcp_enable_temp_token_auth", MCP),
    ("mcp_external_client_url", MCP),
    ("mcp_server_auth_mode", MCP),
    ("oauth2_server_config", MCP),
    ("dual_credential_conflict_behavior", "has no equivalent: `authorization` wins over the other headers"),
];

impl Draft {
    fn fill(&mut self, mut members: Members, report: &mut Report) {
        self.version(&mut members, report);
        if let Some(providers) = members.object("providers", report) {
            for (name, place, value) in providers.entries() {
                self.provider(&name, value, &place, report);
            }
        }
        let mut required = members.object("client", report).and_then(|client| self.client(client, report));
        if let Some(plugins) = members.list("plugins", report) {
            for (place, plugin) in plugins {
                let mandatory = self::plugin(plugin, place, report);
                required = required.or(mandatory);
            }
        }
        let place = members.at("governance");
        if let Some(governance) = members.object("governance", report) {
            self.governance(governance, report);
        }
        self.require_keys(required, &place, report);
        members.rest(REMARKS, report);
    }

    fn version(&mut self, members: &mut Members, report: &mut Report) {
        let version = members.take("version");
        self.versioned = version.is_some();
        match version.as_ref().map(Value::as_u64) {
            None | Some(Some(2)) => {}
            Some(Some(1)) => self.empty = Empty::Everything,
            Some(_) => report.problem(&members.at("version"), "must be 1 or 2"),
        }
    }

    /// Whether the file says that requests need a key.
    fn client(&mut self, mut client: Members, report: &mut Report) -> Option<bool> {
        let settings = &mut self.document.settings;
        let place = client.at("max_request_body_size_mb");
        if let Some(megabytes) = client.count("max_request_body_size_mb", 1_000_000, report) {
            settings.body_bytes_max = u64::from(megabytes.max(1)) << 20;
            if settings.body_bytes_max > settings.buffered_bytes_max {
                settings.buffered_bytes_max = settings.body_bytes_max;
                report
                    .note(&place, "is more than all bodies in flight may have here, so that was raised too");
            }
        }
        let names = ["enforce_auth_on_inference", "enforce_governance_header", "enforce_scim_auth"];
        let required = names.map(|name| client.flag(name, report));
        self.required_headers = headers::read(&mut client, report);
        client.rest(CLIENT, report);
        required.into_iter().flatten().reduce(|a, b| a || b)
    }

    fn require_keys(&mut self, required: Option<bool>, place: &Place, report: &mut Report) {
        let settings = &mut self.document.settings;
        settings.require_keys = required.unwrap_or(!self.document.keys.is_empty());
        match required {
            Some(_) => {}
            None if settings.require_keys => report.note(
                place,
                "does not say that requests need a key; here they do, as there are keys (`settings.require_keys: false` undoes it)",
            ),
            None => report.note(
                place,
                "has no virtual keys, so anyone is served, as before; add `keys` and remove `settings.require_keys`",
            ),
        }
    }
}

/// A plugin. Whether it says that requests need a key.
fn plugin(value: Value, place: Place, report: &mut Report) -> Option<bool> {
    let mut plugin = Members::new(value, place.clone(), report)?;
    let name = plugin.text("name", report).unwrap_or_default();
    let off = plugin.flag("enabled", report) == Some(false);
    if off {
        report.note(&place, "is disabled and not carried over");
        return None;
    }
    if name != "governance" {
        let message = match name.as_str() {
            "telemetry" | "otel" | "datadog" | "maxim" | "logging" | "prometheus" => TELEMETRY,
            "semantic_cache" | "semanticcache" => "has no equivalent yet: answers are not cached",
            _ => "has no equivalent: there are no plugins",
        };
        report.note(&place, message);
        return None;
    }
    let mut config = plugin.object("config", report);
    let mandatory = config.as_mut().and_then(|config| config.flag("is_vk_mandatory", report));
    if let Some(config) = config {
        config.rest(&[], report);
    }
    plugin.rest(
        &[
            ("placement", "has no equivalent: the order of the stages is fixed"),
            ("order", "has no equivalent: the order of the stages is fixed"),
            ("version", "has no equivalent"),
            ("path", "has no equivalent: there are no plugins"),
        ],
        report,
    );
    mandatory
}
