//! Document to snapshot, or all problems at once.

mod access;
mod caller;
mod catalog;
mod cloud;
mod credential;
mod group;
mod limit;
mod names;
mod owner;
mod provider;
mod secret;
mod target;
mod times;

pub use owner::Membership;
pub use secret::is_masked;

use crate::{
    AtLimit, Caller, CallerKey, Derived, Difference, Document, Kind, Limit, MockSettings, OwnerKind, Problem,
    Problems, ProviderConfig, Settings, Snapshot, entity::collect, load::all_problems, parse::document,
    path::Path, problem::Findings,
};
use caller::Known;
use group::Named;
use names::Names;
use owner::Owners;
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};
use times::Defaults;

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
        catalog: document.catalog.clone(),
        settings: document.settings.clone(),
        ..Document::default()
    };
    let mut made = Compilation { base: Arc::new(base), ..Compilation::default() };
    let mut findings = Findings::default();
    made.compile_targets(secrets, &mut findings);
    made.set_owners(document, &mut findings);
    made.compile_callers(&document.keys, secrets, &mut findings);
    made.snapshot.revision = revision;
    findings.warnings.extend(made.nobody());
    let warnings = findings.warnings()?;
    Ok(Compiled { snapshot: made.snapshot, warnings })
}

/// A compiled document whose entities can be changed one by one: a change of a key compiles that key alone. A clone costs
/// little and shares what neither changes.
#[derive(Debug, Clone, Default)]
pub struct Compilation {
    /// The document without its keys and whom they belong to.
    base: Arc<Document>,
    owners: Owners,
    snapshot: Snapshot,
    /// Callers whose key could not be had, by name: nobody can be one of them, but what they refer to must be there.
    left_out: Arc<BTreeMap<Box<str>, Arc<Caller>>>,
}

impl Compilation {
    /// Of the document without anything.
    pub fn new(secrets: &dyn Secrets) -> Self {
        let mut made = Self::default();
        made.compile_targets(secrets, &mut Findings::default());
        made
    }

    /// For requests.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The document without its keys and whom they belong to.
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
        let (mut targets, mut owners) = (false, false);
        for change in changes {
            match change.kind() {
                Kind::Provider | Kind::Model | Kind::Catalog | Kind::Settings => targets = true,
                Kind::Customer | Kind::Team | Kind::User => owners = true,
                Kind::Key => {}
            }
        }
        if targets {
            self.change_base(set, changes);
            self.compile_targets(secrets, &mut findings);
        }
        // All first: two keys may have changed places.
        for change in changes {
            match change.kind() {
                Kind::Key => self.remove(change.id()),
                kind => self.owners.remove(kind, change.id()),
            }
        }
        if targets {
            self.check_references(&mut findings);
        }
        if owners {
            self.set_owners(set, &mut findings);
            self.join_again(changes, &mut findings);
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
                (Difference::Set(_), _) | (_, Kind::Customer | Kind::Team | Kind::User | Kind::Key) => {}
            }
        }
        base.providers.extend(set.providers.clone());
        base.models.extend(set.models.clone());
        base.catalog.extend(set.catalog.clone());
    }

    fn compile_targets(&mut self, secrets: &dyn Secrets, findings: &mut Findings) {
        let root = Path::Root;
        let defaults = times::settings(&self.base.settings, &root.member("settings"), findings);
        let names = Names::of(&self.base);
        let providers = providers(&self.base, (&defaults, &names), secrets, findings);
        let catalog = catalog::compile(&self.base, secrets, findings);
        let known = group::Known { models: &self.base.models, providers: &providers, catalog: &catalog };
        let Named { groups, patterns, direct } = group::compile(&known, &names, findings);
        let providers = providers.into_values().flatten().map(|provider| (provider.name.clone(), provider));
        self.snapshot.derived = derived(secrets);
        let proxies = root.member("settings");
        let proxies = proxies.member("trusted_proxies");
        self.snapshot.trusted_proxies =
            access::networks(&self.base.settings.trusted_proxies, &proxies, findings).into();
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
        let known = Known { names, owners: &self.owners, secrets };
        for (name, key) in keys {
            let made = caller::compile((name, key), &known, findings);
            if made.found {
                made.add_to(&mut self.snapshot.callers, findings);
            } else {
                let left_out = Arc::make_mut(&mut self.left_out);
                left_out.insert(name.as_str().into(), Arc::new(made.caller));
            }
        }
    }

    fn set_owners(&mut self, set: &Document, findings: &mut Findings) {
        self.owners.set(set, &Names::of(&self.base), findings);
        self.owners.check(findings);
    }

    fn remove(&mut self, key: &str) {
        self.snapshot.callers.remove(key);
        if self.left_out.contains_key(key) {
            Arc::make_mut(&mut self.left_out).remove(key);
        }
    }

    fn all_callers(&self) -> impl Iterator<Item = &Arc<Caller>> {
        self.snapshot.callers.iter().chain(self.left_out.values())
    }

    /// Makes anew the callers that belong to what has changed. The others are as they were.
    fn join_again(&mut self, changes: &[Difference], findings: &mut Findings) {
        let changed: HashSet<_> = changes.iter().map(|change| (change.kind(), change.id())).collect();
        let is_changed = |kind, name: &Option<Arc<str>>| {
            name.as_ref().is_some_and(|name| changed.contains(&(kind, &**name)))
        };
        let belongs = |caller: &&Arc<Caller>| {
            is_changed(Kind::Customer, &caller.customer)
                || is_changed(Kind::Team, &caller.team)
                || is_changed(Kind::User, &caller.user)
        };
        let mut callers: Vec<_> = self.all_callers().filter(belongs).map(Arc::clone).collect();
        callers.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let root = Path::Root;
        let root = root.member(Kind::Key.name());
        for caller in callers {
            let Some(own) = &caller.membership else { continue };
            let mut made = Caller::clone(&caller);
            self.owners.join(&mut made, own, &root.member(&caller.name), findings);
            let made = Arc::new(made);
            if self.left_out.contains_key(&made.name) {
                Arc::make_mut(&mut self.left_out).insert(made.name.clone(), made);
            } else {
                self.snapshot.callers.replace(&made);
            }
        }
    }

    /// Checks that the providers and models that limits name are still there: those of what has not changed itself.
    fn check_references(&self, findings: &mut Findings) {
        let names = Names::of(&self.base);
        let mut found = Findings::default();
        let mut check = |limit: &Limit, path: &Path<'_>| {
            if let AtLimit::Downgrade(to) = &limit.at_limit
                && names.meaning(to).is_none()
            {
                let why = limit::unknown(to, &names);
                found.problem(path, format!("downgrades by its limit `{}`: {why}", limit.name));
            }
        };
        let root = Path::Root;
        for (kind, name, limit) in self.owners.limits() {
            check(limit, &root.member(kind.name()).member(name));
        }
        let keys = root.member(Kind::Key.name());
        for caller in self.all_callers() {
            let path = keys.member(&caller.name);
            let at_providers = caller.provider_limits.iter().flat_map(|(_, limits)| limits.iter());
            let own = caller.limits.iter().filter(|limit| limit.owner.kind == OwnerKind::Key);
            own.chain(at_providers).for_each(|limit| check(limit, &path));
        }
        for caller in self.all_callers() {
            let path = keys.member(&caller.name);
            for (provider, _) in caller.provider_limits.iter() {
                if !names.providers.contains(&**provider) {
                    let path = path.member("provider_limits");
                    found.problem(&path.member(provider), caller::no_provider(provider, &names));
                }
            }
        }
        found.problems.sort_unstable();
        findings.problems.append(&mut found.problems);
    }
}

fn derived(secrets: &dyn Secrets) -> Option<Derived> {
    Some(Derived { ids: secrets.derive("ids")?, signatures: secrets.derive("signatures")? })
}

fn providers<'a>(
    document: &'a Document,
    (defaults, names): (&Defaults, &Names<'_>),
    secrets: &dyn Secrets,
    findings: &mut Findings,
) -> Providers<'a> {
    let (root, mut made) = (Path::Root, Providers::new());
    let root = root.member("providers");
    for (name, entry) in &document.providers {
        let path = root.member(name);
        let provider = if name == MOCK {
            provider::mock(entry, (defaults, names), &path, findings)
        } else {
            provider::Draft { name, entry, defaults, names, secrets }.compile(&path, findings)
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
