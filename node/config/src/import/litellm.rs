//! LiteLLM's `config.yaml`.

mod deployment;
mod fallback;
mod group;
mod limits;
mod settings;
mod vendor;

use super::{
    account::Names,
    check::{self, Origins},
    limit,
    members::{Members, Remarks},
    report::{Imported, Place, Report},
    secret::Notation,
};
use crate::{
    Document, Problems,
    parse::{self, Booleans},
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const NOTATION: Notation =
    Notation { env: "os.environ/", managers: &["oidc/", "hcp/", "vault/", "aws_secret/"] };

/// Reads a `config.yaml` of LiteLLM. Problems are told where it is no such file; what has no equivalent is noted.
pub fn litellm(text: &str) -> Result<Imported, Problems> {
    // What PyYAML reads as true and false.
    let value = parse::value(text, Booleans::Loose)?;
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
    providers: Names,
    /// Names of our groups.
    groups: Names,
    /// Further names of groups, each with the group.
    aliases: Vec<(String, String)>,
    /// Accounts, each with the name of its provider, or nothing if it could not be made.
    accounts: BTreeMap<deployment::Account, Option<String>>,
    /// What clients ask for there, and here.
    names: BTreeMap<String, String>,
    /// Names of our teams.
    teams: Names,
    /// What holds for all calls.
    bounds: Vec<limit::One>,
}

const PASS: &str = "has no equivalent: other paths are not passed through";
const TOOLS: &str = "has no equivalent: tools are run by clients";

const REMARKS: Remarks<'static> = &[
    ("include", "names files that are not read; import each of them"),
    ("guardrails", "has no equivalent yet"),
    ("mcp_servers", "has no equivalent: MCP is not served here"),
    ("mcp_tools", "has no equivalent: MCP is not served here"),
    ("vector_store_registry", "has no equivalent"),
    ("prompts", "has no equivalent"),
    ("policies", "has no equivalent yet"),
    ("policy_attachments", "has no equivalent yet"),
    ("files_settings", "has no equivalent: files are not served here"),
    ("finetune_settings", "has no equivalent: fine-tuning is not served here"),
    ("assistant_settings", "has no equivalent: assistants are not served here"),
    ("default_vertex_config", "is for a vendor that is not there yet"),
    ("pass_through_endpoints", PASS),
    ("search_tools", TOOLS),
    ("sandbox_tools", TOOLS),
    ("callback_settings", "has no equivalent; `/metrics` serves Prometheus, the request log goes to stdout"),
    ("worker_registry", "has no equivalent"),
    ("plugins", "has no equivalent: there are no plugins"),
    ("agents", "has no equivalent"),
    ("agent_list", "has no equivalent"),
    (
        "environment_variables",
        "is not carried over; set these variables in the environment of the gateway, for `env:NAME` reads them there",
    ),
];

impl Draft {
    fn fill(&mut self, mut members: Members, report: &mut Report) {
        let credentials = credentials(&mut members, report);
        let list = members.list("model_list", report).unwrap_or_default();
        let names: BTreeMap<_, _> = list.iter().rev().filter_map(name_of).collect();
        let deployments = list.into_iter().filter_map(|(place, value)| {
            deployment::read(Members::new(value, place, report)?, &credentials, report)
        });
        let deployments: Vec<_> = deployments.collect();
        self.groups(deployments, report);
        for (name, place) in names {
            if !name.contains('*') && !self.names.contains_key(&name) {
                let name = name.escape_debug();
                report.note(&place, format!("is left out with the name `{name}`, which has no other target"));
            }
        }
        let at = members.at("general_settings");
        let general = members.object("general_settings", report);
        self.general(general, &at, report);
        let mut rules = fallback::Rules::default();
        if let Some(router) = members.object("router_settings", report) {
            self.router(router, &mut rules, report);
        }
        if let Some(settings) = members.object("litellm_settings", report) {
            self.library(settings, &mut rules, report);
        }
        self.bound_master(report);
        self.fall_back(rules, report);
        self.fall_back_aliases();
        members.rest(REMARKS, report);
    }
}

/// What clients ask for, of an entry of `model_list`, and where that is first.
fn name_of((place, entry): &(Place, Value)) -> Option<(String, Place)> {
    Some((entry.get("model_name")?.as_str()?.to_owned(), place.clone()))
}

/// Credentials that deployments name: their values, by their names.
fn credentials(members: &mut Members, report: &mut Report) -> BTreeMap<String, Map<String, Value>> {
    let mut made = BTreeMap::new();
    for (place, value) in members.list("credential_list", report).unwrap_or_default() {
        let Some(mut credential) = Members::new(value, place, report) else { continue };
        let name = credential.text("credential_name", report).unwrap_or_default();
        if let Some(values) = credential.object("credential_values", report) {
            made.insert(name, values.entries().map(|(name, _, value)| (name, value)).collect());
        }
        credential.rest(&[("credential_info", "has no equivalent; write a comment")], report);
    }
    made
}
