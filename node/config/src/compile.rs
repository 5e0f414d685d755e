//! Document to snapshot, or all problems at once.

mod caller;
mod catalog;
mod cloud;
mod credential;
mod group;
mod limits;
mod provider;
mod secret;
mod target;

pub use secret::is_masked;

use crate::{
    CallerKey, Derived, Difference, Document, Kind, MockSettings, Problem, Problems, ProviderConfig,
    Settings, Snapshot, entity::collect, load::all_problems, parse::document, path::Path, problem::Findings,
};
use caller::Names;
use group::Named;
use limits::Defaults;
use std::{collections::BTreeMap, sync::Arc};

/// Where secrets come from: the caller does the I/O. Errors are public text that names what was asked for and why it
/// cannot be had, without the secret.
pub trait Secrets {
    /// A variable of the environment.
    fn env(&self, name: &str) -> Result<String, String>;
    /// A file, trailing line ends removed.
    fn file(&self, path: &str) -> Result<String, String>;
    /// A value that was sealed before it was stored: what follows `sealed:`.
    fn sealed(&self, value: &str) -> Result<String, String>;
    /// A secret of the gateway's own, the same on all its nodes and after a restart, another for each purpose. Only where
    /// there is a data key.
    fn derive(&self, _purpose: &str) -> Option<[u8; 32]> {
        None
    }
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
    let base = Document {
        providers: document.providers.clone(),
        models: document.models.clone(),
        keys: BTreeMap::new(),
        catalog: document.catalog.clone(),
        settings: document.settings.clone(),
    };
    let mut made = Compilation { base: Arc::new(base), snapshot: Snapshot::default() };
    let mut findings = Findings::default();
    made.compile_targets(secrets, &mut findings);
    made.compile_callers(&document.keys, secrets, &mut findings);
    made.snapshot.revision = revision;
    findings.warnings.extend(made.nobody());
    let warnings = findings.warnings()?;
    Ok(Compiled { snapshot: made.snapshot, warnings })
}

/// A compiled document whose entities can be changed one by one: a change of a key compiles that key alone. A clone costs
/// little and shares what neither changes.
#[derive(Debug, Clone)]
pub struct Compilation {
    /// The document without its keys.
    base: Arc<Document>,
    snapshot: Snapshot,
}

impl Compilation {
    /// Of the document without anything.
    pub fn new(secrets: &dyn Secrets) -> Self {
        let mut made = Self { base: Arc::default(), snapshot: Snapshot::default() };
        made.compile_targets(secrets, &mut Findings::default());
        made
    }

    /// For requests.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The document without its keys.
    pub fn base(&self) -> &Document {
        &self.base
    }

    /// Changes entities; the warnings are of what changed. After an error it is of no use any more: change a clone.
    pub fn change(
        &mut self,
        revision: u64,
        changes: &[Difference],
        secrets: &dyn Secrets,
    ) -> Result<Vec<Problem>, Problems> {
        let set = changes.iter().filter_map(|change| match change {
            Difference::Set(entity) => Some((entity.kind, entity.id.as_str(), entity.value.clone())),
            Difference::Removed(..) => None,
        });
        let read = collect(set);
        if !read.faults.is_empty() {
            return Err(all_problems(read, |set| self.take(set, changes, secrets).err()));
        }
        self.snapshot.revision = revision;
        self.take(&document(read.value)?, changes, secrets)
    }

    fn take(
        &mut self,
        set: &Document,
        changes: &[Difference],
        secrets: &dyn Secrets,
    ) -> Result<Vec<Problem>, Problems> {
        let mut findings = Findings::default();
        if changes.iter().any(|change| change.kind() != Kind::Key) {
            self.change_base(set, changes);
            self.compile_targets(secrets, &mut findings);
        }
        // All first: two keys may have changed places.
        for change in changes.iter().filter(|change| change.kind() == Kind::Key) {
            self.snapshot.callers.remove(change.id());
        }
        self.compile_callers(&set.keys, secrets, &mut findings);
        findings.warnings()
    }

    /// Adds keys of names that are free: what 100,000 of them are compiled with at a start.
    pub fn add_keys(
        &mut self,
        keys: &BTreeMap<String, CallerKey>,
        secrets: &dyn Secrets,
    ) -> Result<Vec<Problem>, Problems> {
        let mut findings = Findings::default();
        self.compile_callers(keys, secrets, &mut findings);
        findings.warnings()
    }

    /// A warning that nobody can ask, if that is so.
    pub fn nobody(&self) -> Option<Problem> {
        let nobody = self.snapshot.callers.is_empty() && self.snapshot.settings.require_keys;
        nobody.then(|| Problem {
            path: Kind::Key.name().to_owned(),
            message: "is empty, so every request is refused; add a key or set `settings.require_keys: false`"
                .to_owned(),
        })
    }

    fn change_base(&mut self, set: &Document, changes: &[Difference]) {
        let base = Arc::make_mut(&mut self.base);
        for change in changes {
            match (change, change.kind()) {
                (Difference::Removed(_, id), Kind::Provider) => drop(base.providers.remove(id)),
                (Difference::Removed(_, id), Kind::Model) => drop(base.models.remove(id)),
                (Difference::Removed(_, id), Kind::Catalog) => drop(base.catalog.remove(id)),
                (Difference::Removed(..), Kind::Settings) => base.settings = Settings::default(),
                (Difference::Set(_), Kind::Settings) => base.settings = set.settings.clone(),
                (Difference::Set(_), _) | (_, Kind::Key) => {}
            }
        }
        base.providers.extend(set.providers.clone());
        base.models.extend(set.models.clone());
        base.catalog.extend(set.catalog.clone());
    }

    fn compile_targets(&mut self, secrets: &dyn Secrets, findings: &mut Findings) {
        let root = Path::Root;
        let defaults = limits::settings(&self.base.settings, &root.member("settings"), findings);
        let providers = providers(&self.base, &defaults, secrets, findings);
        let catalog = catalog::compile(&self.base, secrets, findings);
        let Named { groups, patterns, direct } =
            group::compile(&self.base.models, &providers, &catalog, findings);
        let providers = providers.into_values().flatten().map(|provider| (provider.name.clone(), provider));
        self.snapshot.derived = derived(secrets);
        self.snapshot.settings = self.base.settings.clone();
        self.snapshot.providers = Arc::new(providers.collect());
        self.snapshot.groups = Arc::new(groups);
        self.snapshot.patterns = Arc::new(patterns);
        self.snapshot.catalog = catalog;
        self.snapshot.direct = Arc::new(direct);
    }

    fn compile_callers(
        &mut self,
        keys: &BTreeMap<String, CallerKey>,
        secrets: &dyn Secrets,
        findings: &mut Findings,
    ) {
        let names = Names::of(&self.base);
        for (name, key) in keys {
            caller::compile((name, key), &names, secrets, &mut self.snapshot.callers, findings);
        }
    }
}

fn derived(secrets: &dyn Secrets) -> Option<Derived> {
    Some(Derived { ids: secrets.derive("ids")?, signatures: secrets.derive("signatures")? })
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
