//! Fallbacks of LiteLLM: which group is tried after which.

use super::Draft;
use crate::{
    Fallback,
    import::{
        members::{self, Members},
        report::{Place, Report},
    },
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Most groups that fall back to one another by name; beyond, targets are written out, so that looking for circles
/// stays cheap.
const NAMED_MAX: usize = 1_000;

/// What falls back to what, by their names, as the file says it.
#[derive(Default)]
pub(super) struct Rules {
    of: BTreeMap<String, Vec<(Place, String)>>,
    /// Where a group has none of its own.
    general: Vec<(Place, String)>,
}

impl Rules {
    /// Reads `fallbacks` and its kin: `[{group: [group, ...]}]`.
    pub(super) fn read(&mut self, members: &mut Members, name: &str, report: &mut Report) {
        for (place, value) in members.list(name, report).unwrap_or_default() {
            let Some(rule) = Members::new(value, place, report) else { continue };
            for (group, place, value) in rule.entries() {
                let names = names(value, &place, report);
                let rules = if group == "*" { &mut self.general } else { self.of.entry(group).or_default() };
                rules.extend(names);
            }
        }
    }

    /// Reads `default_fallbacks`: `[group, ...]`.
    pub(super) fn read_general(&mut self, members: &mut Members, report: &mut Report) {
        let place = members.at("default_fallbacks");
        if let Some(value) = members.take("default_fallbacks") {
            self.general.extend(names(value, &place, report));
        }
    }
}

/// How a fallback was written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    Named,
    Circle,
}

fn names(value: Value, place: &Place, report: &mut Report) -> Vec<(Place, String)> {
    let items = match value {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        one => vec![one],
    };
    let mut made = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        let place = place.item(index);
        if item.is_object() {
            report
                .note(&place, "is a fallback with settings, which is left out; write a target with `params`");
        } else if let Some(name) = members::text(item, &place, report) {
            made.push((place, name));
        }
    }
    made
}

impl Draft {
    pub(super) fn fall_back(&mut self, rules: Rules, report: &mut Report) {
        for (group, names) in &rules.of {
            let ours = self.names.get(group).filter(|ours| self.document.models.contains_key(*ours));
            match ours.cloned() {
                Some(ours) => self.add(&ours, names, report),
                None => {
                    for (place, _) in names {
                        report.note(place, "is of a name that is not in `models`, and left out; a client may name its own fallbacks");
                    }
                }
            }
        }
        let own: BTreeSet<_> = rules.of.keys().filter_map(|theirs| self.names.get(theirs)).cloned().collect();
        // Further names get those of their group.
        let aliases: BTreeSet<_> = self.aliases.iter().map(|(alias, _)| alias.clone()).collect();
        let without =
            self.document.models.keys().filter(|group| !own.contains(*group) && !aliases.contains(*group));
        let without: Vec<_> = without.cloned().collect();
        for (place, name) in rules.general.iter().filter(|(_, name)| self.known(name).is_none()) {
            report.note(
                place,
                format!("`{}` is not carried over, so nothing falls back to it", name.escape_debug()),
            );
        }
        let known: Vec<_> =
            rules.general.into_iter().filter(|(_, name)| self.known(name).is_some()).collect();
        for group in without {
            let others: Vec<_> =
                known.iter().filter(|(_, name)| self.names.get(name) != Some(&group)).cloned().collect();
            self.add(&group, &others, report);
        }
    }

    /// Our name of theirs: of a group, or of a model at a provider.
    fn known(&self, theirs: &str) -> Option<String> {
        let direct = || {
            let (head, rest) = theirs.split_once('/')?;
            (self.document.providers.contains_key(head) && !rest.is_empty()).then(|| theirs.to_owned())
        };
        self.names.get(theirs).cloned().or_else(direct)
    }

    fn add(&mut self, group: &str, names: &[(Place, String)], report: &mut Report) {
        for (place, theirs) in names {
            match self.known(theirs) {
                None => report.note(
                    place,
                    format!("`{}` is not carried over, so nothing falls back to it", theirs.escape_debug()),
                ),
                Some(name) if name == group => report.note(place, "falls back to itself, and is left out"),
                Some(name) => {
                    if self.link(group, name) == Link::Circle {
                        report
                            .note(place, "goes in a circle, so the targets are written instead of the name");
                    }
                }
            }
        }
    }

    /// Lets a group fall back to a name.
    fn link(&mut self, group: &str, name: String) -> Link {
        let circle = self.document.models.contains_key(&name) && self.reaches(&name, group);
        let made = if circle {
            let targets = self.document.models.get(&name).map(|other| other.targets.clone());
            targets.into_iter().flatten().map(Fallback::Target).collect()
        } else {
            vec![Fallback::Name(name)]
        };
        if let Some(entry) = self.document.models.get_mut(group) {
            for fallback in made {
                if !entry.fallbacks.contains(&fallback) {
                    entry.fallbacks.push(fallback);
                }
            }
        }
        if circle { Link::Circle } else { Link::Named }
    }

    /// Other names of a group fall back as it does, unless they have fallbacks of their own.
    pub(super) fn fall_back_aliases(&mut self) {
        for (alias, group) in std::mem::take(&mut self.aliases) {
            let has = |name: &str| self.document.models.get(name).map(|group| group.fallbacks.clone());
            let (own, others) = (has(&alias).unwrap_or_default(), has(&group).unwrap_or_default());
            if !own.is_empty() {
                continue;
            }
            for fallback in others {
                match fallback {
                    Fallback::Name(name) if name == alias => {}
                    Fallback::Name(name) => {
                        self.link(&alias, name);
                    }
                    target => {
                        if let Some(entry) = self.document.models.get_mut(&alias) {
                            entry.fallbacks.push(target);
                        }
                    }
                }
            }
        }
    }

    /// Whether a group falls back to another, over any number of others.
    fn reaches(&self, from: &str, to: &str) -> bool {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(group) = next.pop() {
            if group == to || seen.len() > NAMED_MAX {
                return true;
            }
            if !seen.insert(group) {
                continue;
            }
            let fallbacks = self.document.models.get(group).map(|group| &group.fallbacks);
            next.extend(fallbacks.into_iter().flatten().filter_map(|fallback| match fallback {
                Fallback::Name(name) => Some(name.as_str()),
                Fallback::Target(_) => None,
            }));
        }
        false
    }
}
