//! Names that clients ask for: their targets, and what these fall back to.

use super::{
    Providers, check_name,
    limit::{self, Written},
    names::Names,
    target,
};
use crate::{
    Fallback, Group, ModelGroup, Owner, OwnerKind, ProviderConfig, Strategy, TargetConfig, path::Path,
    problem::Findings, resolve::STAR, snapshot::Listed, suggest::did_you_mean,
};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};
use trestle_catalog::Catalog;

/// Most targets that a group may fall back to, over all groups that it names.
const FALLBACKS_MAX: usize = 256;
/// Most groups that fall back to one another in a row.
const DEPTH_MAX: usize = 16;

type Groups = HashMap<Box<str>, Arc<Group>>;
type Direct = HashMap<Box<str>, Arc<TargetConfig>>;

/// A group whose fallbacks still name other groups.
struct Draft<'a> {
    targets: Vec<Arc<TargetConfig>>,
    fallbacks: Vec<Step<'a>>,
}

enum Step<'a> {
    Target(Arc<TargetConfig>),
    Group(&'a str),
}

/// What clients can ask for by name.
pub(super) struct Named {
    /// Groups by name.
    pub(super) groups: Groups,
    /// Groups whose names hold a star, the longest first.
    pub(super) patterns: Vec<Arc<Group>>,
    /// Targets that the document names, as a client gets them that asks for them directly.
    pub(super) direct: Direct,
}

/// The groups and targets of the document.
pub(super) fn compile(known: &Known<'_>, names: &Names<'_>, findings: &mut Findings) -> Named {
    let Known { models, providers, catalog } = *known;
    let root = Path::Root;
    let root = root.member("models");
    let mut drafts = BTreeMap::new();
    for (name, entry) in models {
        let path = root.member(name);
        check_group_name(name, providers, &path, findings);
        check_stars((name, entry), &path, findings);
        drafts.insert(name.as_str(), draft(entry, known, &path, findings));
    }
    let mut direct = Direct::new();
    let shown = providers.values().flatten();
    let listed = |provider: &Arc<ProviderConfig>, model: &str| {
        TargetConfig::plain(provider, model, catalog, Listed::Yes)
    };
    for target in shown.flat_map(|p| p.models.iter().map(move |model| listed(p, model))) {
        direct.insert(target.name.clone(), Arc::new(target));
    }
    let mut groups = Groups::new();
    for (name, entry) in models {
        let mut walk = Walk {
            models,
            drafts: &drafts,
            seen: HashSet::new(),
            out: Vec::new(),
            full: false,
            trail: vec![name],
        };
        walk.expand(findings);
        let fallbacks = walk.out;
        let targets = drafts.get(name.as_str()).map(|draft| draft.targets.clone()).unwrap_or_default();
        for target in targets.iter().chain(&fallbacks).filter(|target| !target.model.contains(STAR)) {
            direct
                .entry(target.name.clone())
                .or_insert_with(|| Arc::new(listed(&target.provider, &target.model)));
        }
        let owner = Owner { kind: OwnerKind::Model, name: name.as_str().into() };
        let written = Written { limits: &entry.limits, budgets: &entry.budgets };
        let limits = limit::compile(&owner, written, names, &root.member(name), findings);
        let group =
            Group { name: name.as_str().into(), strategy: entry.strategy, targets, fallbacks, limits };
        groups.insert(group.name.clone(), Arc::new(group));
    }
    limit::circles(models, names, findings);
    let mut patterns: Vec<_> =
        groups.extract_if(|name, _| name.contains(STAR)).map(|(_, group)| group).collect();
    patterns.sort_unstable_by(|a, b| (b.name.len(), &b.name).cmp(&(a.name.len(), &a.name)));
    Named { groups, patterns, direct }
}

fn check_group_name(name: &str, providers: &Providers<'_>, path: &Path<'_>, findings: &mut Findings) {
    check_name(name, path, findings);
    if name.matches(STAR).count() > 1 {
        findings.problem(path, "must not have more than one `*` in its name");
    }
    if let Some((provider, _)) = name.split_once('/')
        && providers.contains_key(provider)
    {
        let message = format!("would hide models of the provider `{provider}`; choose another name");
        findings.problem(path, message);
    }
}

/// A star in a target stands for that of the name.
fn check_stars((name, entry): (&str, &ModelGroup), path: &Path<'_>, findings: &mut Findings) {
    let most = usize::from(name.contains(STAR));
    let targets = entry.targets.iter().map(|target| ("targets", &target.model));
    let fallbacks = entry.fallbacks.iter().map(|fallback| match fallback {
        Fallback::Name(name) => ("fallbacks", name),
        Fallback::Target(target) => ("fallbacks", &target.model),
    });
    for (list, model) in targets.chain(fallbacks) {
        if model.matches(STAR).count() > most {
            let message = format!("`{model}` has a `*` that the name `{name}` has not");
            findings.problem(&path.member(list), message);
        }
    }
}

/// What a group may refer to.
#[derive(Clone, Copy)]
pub(super) struct Known<'k> {
    pub(super) models: &'k BTreeMap<String, ModelGroup>,
    pub(super) providers: &'k Providers<'k>,
    pub(super) catalog: &'k Catalog,
}

fn draft<'a>(
    entry: &'a ModelGroup,
    known: &Known<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Draft<'a> {
    let Known { models, .. } = known;
    let mut made = Draft { targets: Vec::new(), fallbacks: Vec::new() };
    let inner = path.member("targets");
    if entry.targets.is_empty() {
        findings.problem(&inner, "is empty; add a target such as `{ model: openai/gpt-4o }`");
    } else if entry.strategy == Strategy::Weighted && entry.targets.iter().all(|target| target.weight == 0) {
        findings.problem(&inner, "have no weight above 0; give one of them a share");
    }
    for (index, target) in entry.targets.iter().enumerate() {
        let path = inner.item(index);
        if models.contains_key(&target.model) {
            let message =
                "is a name in `models`; a target must be `provider/model` (names may stand in `fallbacks`)";
            findings.problem(&path.member("model"), message);
        } else {
            made.targets.extend(target::compile(target, (known.providers, known.catalog), &path, findings));
        }
    }
    let inner = path.member("fallbacks");
    for (index, fallback) in entry.fallbacks.iter().enumerate() {
        let path = inner.item(index);
        match fallback {
            Fallback::Target(target) => {
                let target = target::compile(target, (known.providers, known.catalog), &path, findings);
                made.fallbacks.extend(target.map(Step::Target));
            }
            Fallback::Name(name) if models.contains_key(name) => made.fallbacks.push(Step::Group(name)),
            Fallback::Name(name) if !name.contains('/') => {
                let meant = did_you_mean(name, models.keys().map(String::as_str));
                let message = format!("`{name}` is neither a name in `models` nor `provider/model`{meant}");
                findings.problem(&path, message);
            }
            Fallback::Name(name) => {
                made.fallbacks.extend(by_name(name, known, &path, findings).map(Step::Target));
            }
        }
    }
    made
}

fn by_name(
    name: &str,
    known: &Known<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Option<Arc<TargetConfig>> {
    let (provider, model) = target::find(name, known.providers, path, findings)?;
    Some(Arc::new(TargetConfig::plain(&provider, model, known.catalog, Listed::Yes)))
}

/// The walk from one group over all that it falls back to. Each group is entered once, so it ends.
struct Walk<'a> {
    models: &'a BTreeMap<String, ModelGroup>,
    drafts: &'a BTreeMap<&'a str, Draft<'a>>,
    seen: HashSet<&'a str>,
    out: Vec<Arc<TargetConfig>>,
    /// More than are allowed: reported, and no more to be done.
    full: bool,
    /// The groups from the first to the one that is being expanded.
    trail: Vec<&'a str>,
}

impl<'a> Walk<'a> {
    fn expand(&mut self, findings: &mut Findings) {
        let Some(draft) = self.trail.last().and_then(|name| self.drafts.get(name)) else { return };
        for step in &draft.fallbacks {
            if self.full {
                return;
            }
            match step {
                Step::Target(target) => self.out.push(Arc::clone(target)),
                Step::Group(name) if self.trail.first() == Some(name) => self.report_circle(findings),
                Step::Group(name) => {
                    if self.seen.insert(name) {
                        self.enter(name, findings);
                    }
                }
            }
            if self.out.len() > FALLBACKS_MAX && !self.full {
                self.full = true;
                self.report(format!("lead to more than {FALLBACKS_MAX} targets; remove some"), findings);
            }
        }
    }

    fn enter(&mut self, name: &'a str, findings: &mut Findings) {
        if self.trail.len() >= DEPTH_MAX {
            self.report(
                format!("lead over more than {DEPTH_MAX} names in a row; name targets instead"),
                findings,
            );
            return;
        }
        self.out.extend(self.in_order(name));
        self.trail.push(name);
        self.expand(findings);
        self.trail.pop();
    }

    /// A group's targets in the order in which they are tried when it is fallen back to.
    fn in_order(&self, name: &str) -> Vec<Arc<TargetConfig>> {
        let mut targets = self.drafts.get(name).map(|draft| draft.targets.clone()).unwrap_or_default();
        if self.models.get(name).is_some_and(|entry| entry.strategy == Strategy::Weighted) {
            targets.sort_by_key(|target| std::cmp::Reverse(target.weight));
        }
        targets
    }

    /// Every group of a circle comes upon it; the first by name reports it.
    fn report_circle(&self, findings: &mut Findings) {
        if self.trail.first() == self.trail.iter().min() {
            let way: Vec<_> =
                self.trail.iter().chain(self.trail.first()).map(|name| format!("`{name}`")).collect();
            self.report(format!("go in a circle: {}; remove one of them", way.join(" -> ")), findings);
        }
    }

    fn report(&self, message: String, findings: &mut Findings) {
        let Some(first) = self.trail.first() else { return };
        let root = Path::Root;
        findings.problem(&root.member("models").member(first).member("fallbacks"), message);
    }
}
