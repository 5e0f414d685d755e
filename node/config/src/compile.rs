//! Document to snapshot, or all problems at once.

mod caller;
mod group;
mod limits;
mod provider;
mod secret;
mod target;

use crate::{
    Document, MockSettings, Problem, Problems, ProviderConfig, Snapshot, path::Path, problem::Findings,
};
use limits::Defaults;
use std::{collections::BTreeMap, sync::Arc};

/// Where secrets come from: the caller does the I/O. Errors are public text that names what was asked for and why it
/// cannot be had, without the secret.
pub trait Secrets {
    /// A variable of the environment.
    fn env(&self, name: &str) -> Result<String, String>;
    /// A file, trailing line ends removed.
    fn file(&self, path: &str) -> Result<String, String>;
}

/// A snapshot, and what is not right but does not hinder it (a missing reference disables that credential).
#[derive(Debug)]
pub struct Compiled {
    /// For requests.
    pub snapshot: Snapshot,
    /// For the operator.
    pub warnings: Vec<Problem>,
}

/// The name of the provider that is always there.
const MOCK: &str = "mock";

/// Providers by name; `None` for those that did not compile, so that their targets are not reported as well.
type Providers<'a> = BTreeMap<&'a str, Option<Arc<ProviderConfig>>>;

/// Compiles a document, or says everything that is wrong with it.
pub fn compile(document: &Document, revision: u64, secrets: &dyn Secrets) -> Result<Compiled, Problems> {
    let mut findings = Findings::default();
    let root = Path::Root;
    let defaults = limits::settings(&document.settings, &root.member("settings"), &mut findings);
    let providers = providers(document, &defaults, secrets, &mut findings);
    let (groups, direct) = group::compile(&document.models, &providers, &mut findings);
    let callers = caller::compile(document, &providers, secrets, &mut findings);
    if !findings.problems.is_empty() {
        return Err(Problems(findings.problems));
    }
    let providers =
        providers.into_values().flatten().map(|provider| (provider.name.clone(), provider)).collect();
    let settings = document.settings.clone();
    let snapshot = Snapshot { revision, settings, providers, groups, callers, direct };
    Ok(Compiled { snapshot, warnings: findings.warnings })
}

fn providers<'a>(
    document: &'a Document,
    defaults: &Defaults,
    secrets: &dyn Secrets,
    findings: &mut Findings,
) -> Providers<'a> {
    let (root, mut made) = (Path::Root, Providers::new());
    let root = root.member("providers");
    for (name, entry) in &document.providers {
        let path = root.member(name);
        let provider = if name == MOCK {
            provider::mock(entry, defaults, &path, findings)
        } else {
            provider::Draft { name, entry, defaults, secrets }.compile(&path, findings)
        };
        made.insert(name, provider.map(Arc::new));
    }
    made.entry(MOCK)
        .or_insert_with(|| Some(Arc::new(provider::mock_with(MockSettings::default(), defaults.limits()))));
    made
}

/// What is wrong with a name that stands in logs, metrics and headers.
fn check_name(name: &str, path: &Path<'_>, findings: &mut Findings) {
    if name.is_empty() || name.len() > 128 || name.chars().any(char::is_control) || name.trim() != name {
        findings.problem(
            path,
            "must have a name of 1 to 128 bytes, without control characters, or white space around it",
        );
    }
}

#[cfg(test)]
mod tests;
