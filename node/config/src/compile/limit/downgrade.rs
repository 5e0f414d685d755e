//! Where calls go once nothing is left.

use crate::{
    AtLimit, ModelGroup, Owner, OwnerKind,
    compile::names::{Meaning, Names},
    path::Path,
    problem::Findings,
    resolve::STAR,
    suggest::did_you_mean,
};
use std::collections::{BTreeMap, HashSet};

/// Most names that send calls on to one another in a row.
const DEPTH_MAX: usize = 16;

/// Checks where calls of an owner go; `path` is that of `at_limit`.
pub(super) fn check(
    at_limit: &AtLimit,
    (owner, names): (&Owner, &Names<'_>),
    path: &Path<'_>,
    findings: &mut Findings,
) {
    let AtLimit::Downgrade(to) = at_limit else { return };
    let path = path.member("downgrade");
    match names.meaning(to) {
        None => findings.problem(&path, unknown(to, names)),
        Some(Meaning::Provider(at)) if owner.kind == OwnerKind::Provider && *owner.name == *at => {
            findings.problem(&path, "is at the same provider, where nothing is left then; name another one");
        }
        Some(_) => {}
    }
}

/// What is wrong with a name that leads nowhere.
pub(in crate::compile) fn unknown(name: &str, names: &Names<'_>) -> String {
    let meant = did_you_mean(name, names.models.iter().copied().filter(|model| !model.contains(STAR)));
    format!("`{name}` is neither a name in `models` nor `provider/model`{meant}")
}

/// Names in `models` whose limits send calls in a circle, or too far.
pub(in crate::compile) fn circles(
    models: &BTreeMap<String, ModelGroup>,
    names: &Names<'_>,
    findings: &mut Findings,
) {
    for name in models.keys() {
        let mut walk = Walk { models, names, seen: HashSet::new(), trail: vec![name] };
        let why = match walk.go() {
            Way::Ends => continue,
            Way::Deep => {
                format!("downgrades over more than {DEPTH_MAX} names in a row; name a target instead")
            }
            // Every name of a circle comes upon it; the first by name reports it.
            Way::Back if walk.trail.first() != walk.trail.iter().min() => continue,
            Way::Back => {
                let way = walk.trail.iter().chain(walk.trail.first()).map(|name| format!("`{name}`"));
                let way: Vec<_> = way.collect();
                format!("downgrades in a circle: {}; remove one of them", way.join(" -> "))
            }
        };
        let root = Path::Root;
        findings.problem(&root.member("models").member(name), why);
    }
}

/// The walk from one name along its downgrades. Each name is entered once, so it ends.
struct Walk<'a> {
    models: &'a BTreeMap<String, ModelGroup>,
    names: &'a Names<'a>,
    seen: HashSet<&'a str>,
    /// From the first to the one that is looked at.
    trail: Vec<&'a str>,
}

/// Where a walk leads.
#[derive(PartialEq, Eq)]
enum Way {
    Ends,
    /// To where it began; the trail is the way.
    Back,
    Deep,
}

impl Walk<'_> {
    fn go(&mut self) -> Way {
        let models = self.models;
        let Some(group) = self.trail.last().and_then(|name| models.get(*name)) else { return Way::Ends };
        let limits = group.limits.iter().filter_map(|limit| limit.at_limit.as_ref());
        let budgets = group.budgets.iter().filter_map(|budget| budget.at_limit.as_ref());
        for at_limit in limits.chain(budgets) {
            let AtLimit::Downgrade(to) = at_limit else { continue };
            let Some(Meaning::Group(to)) = self.names.meaning(to) else { continue };
            if self.trail.first() == Some(&to) {
                return Way::Back;
            }
            if !self.seen.insert(to) {
                continue;
            }
            if self.trail.len() >= DEPTH_MAX {
                return Way::Deep;
            }
            self.trail.push(to);
            match self.go() {
                Way::Ends => drop(self.trail.pop()),
                way => return way,
            }
        }
        Way::Ends
    }
}
