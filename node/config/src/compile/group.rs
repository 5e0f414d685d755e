//! Names that clients ask for: their targets, and what these fall back to.

use super::{Providers, check_name, target};
use crate::{
    Fallback, Group, ModelGroup, Strategy, TargetConfig, path::Path, problem::Findings, suggest::did_you_mean,
};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

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

/// The groups, and the targets that the document names as a client gets them that asks for them directly.
pub(super) fn compile(
    models: &BTreeMap<String, ModelGroup>,
    providers: &Providers<'_>,
    findings: &mut Findings,
) -> (Groups, Direct) {
    let root = Path::Root;
    let root = root.member("models");
    let mut drafts = BTreeMap::new();
    for (name, entry) in models {
        let path = root.member(name);
        check_group_name(name, providers, &path, findings);
        drafts.insert(name.as_str(), draft(entry, models, providers, &path, findings));
    }
    let mut direct = Direct::new();
    let shown = providers.values().flatten();
    for target in shown.flat_map(|p| p.models.iter().map(|model| TargetConfig::plain(p, model, true))) {
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
        for target in targets.iter().chain(&fallbacks) {
            direct
                .entry(target.name.clone())
                .or_insert_with(|| Arc::new(TargetConfig::plain(&target.provider, &target.model, true)));
        }
        let group = Group { name: name.as_str().into(), strategy: entry.strategy, targets, fallbacks };
        groups.insert(group.name.clone(), Arc::new(group));
    }
    (groups, direct)
}

fn check_group_name(name: &str, providers: &Providers<'_>, path: &Path<'_>, findings: &mut Findings) {
    check_name(name, path, findings);
    if name.contains('*') {
        findings.problem(path, "must not have `*` in its name, which stands for patterns in `keys`");
    }
    if let Some((provider, _)) = name.split_once('/')
        && providers.contains_key(provider)
    {
        let message = format!("would hide models of the provider `{provider}`; choose another name");
        findings.problem(path, message);
    }
}

fn draft<'a>(
    entry: &'a ModelGroup,
    models: &BTreeMap<String, ModelGroup>,
    providers: &Providers<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Draft<'a> {
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
            made.targets.extend(target::compile(target, providers, &path, findings));
        }
    }
    let inner = path.member("fallbacks");
    for (index, fallback) in entry.fallbacks.iter().enumerate() {
        let path = inner.item(index);
        match fallback {
            Fallback::Target(target) => {
                made.fallbacks.extend(target::compile(target, providers, &path, findings).map(Step::Target));
            }
            Fallback::Name(name) if models.contains_key(name) => made.fallbacks.push(Step::Group(name)),
            Fallback::Name(name) if !name.contains('/') => {
                let meant = did_you_mean(name, models.keys().map(String::as_str));
                let message = format!("`{name}` is neither a name in `models` nor `provider/model`{meant}");
                findings.problem(&path, message);
            }
            Fallback::Name(name) => {
                made.fallbacks.extend(by_name(name, providers, &path, findings).map(Step::Target));
            }
        }
    }
    made
}

fn by_name(
    name: &str,
    providers: &Providers<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Option<Arc<TargetConfig>> {
    let (provider, model) = target::find(name, providers, path, findings)?;
    Some(Arc::new(TargetConfig::plain(&provider, model, true)))
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
