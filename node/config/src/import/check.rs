//! Holds what was made against the compiler, so that an import never gives a document that does not compile.

use super::report::{Place, Report};
use crate::{
    BudgetEntry, CustomerEntry, Document, Fallback, LimitEntry, Problem, ProviderEntry, Secrets, TlsEntry,
    compile, path::Path,
};
use std::collections::{BTreeMap, BTreeSet};

/// No secret is looked at while importing; that one cannot be read is no problem of a document.
struct Unread;

impl Secrets for Unread {
    fn env(&self, name: &str) -> Result<String, String> {
        Err(format!("{name} is not looked at"))
    }

    fn file(&self, path: &str) -> Result<String, String> {
        Err(format!("{path} is not looked at"))
    }

    fn sealed(&self, _: &str) -> Result<String, String> {
        Err("there is nothing sealed in their files".to_owned())
    }
}

fn problems(document: &Document) -> Vec<Problem> {
    compile(document, 1, &Unread).err().map(|problems| problems.0).unwrap_or_default()
}

/// What is wrong with a provider alone, in words.
fn wrong(name: &str, entry: &ProviderEntry) -> Option<String> {
    let providers = BTreeMap::from([(name.to_owned(), entry.clone())]);
    let found = problems(&Document { providers, ..Document::default() });
    let said: Vec<_> = found.into_iter().map(|problem| problem.message).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// What is wrong with limits and budgets that are to stand together, in words.
pub(super) fn limits(limits: &[LimitEntry], budgets: &[BudgetEntry]) -> Option<String> {
    let owner =
        CustomerEntry { limits: limits.to_vec(), budgets: budgets.to_vec(), ..CustomerEntry::default() };
    let customers = BTreeMap::from([("x".to_owned(), owner)]);
    let found = problems(&Document { customers, ..Document::default() });
    found.into_iter().next().map(|problem| problem.message)
}

/// Parts of a provider that can be wrong each on its own.
pub(super) struct Parts {
    /// Headers with where they are in the file.
    pub(super) headers: Vec<(String, Place, String)>,
    pub(super) tls: Option<(Place, TlsEntry)>,
}

/// A provider with those of its parts that compile; the others are noted. `None` where even without them it does not.
pub(super) fn provider(
    name: &str,
    mut entry: ProviderEntry,
    parts: Parts,
    at: (&Place, &mut Report),
) -> Option<ProviderEntry> {
    let (place, report) = at;
    if let Some(why) = wrong(name, &entry) {
        report.note(place, format!("cannot be made here and is left out: {why}"));
        return None;
    }
    for (header, place, value) in parts.headers {
        let mut with = entry.clone();
        with.headers.insert(header, value);
        match wrong(name, &with) {
            None => entry = with,
            Some(why) => report.note(&place, format!("is left out: {why}")),
        }
    }
    if let Some((place, tls)) = parts.tls {
        let with = ProviderEntry { tls, ..entry.clone() };
        match wrong(name, &with) {
            None => entry = with,
            Some(why) => report.note(&place, format!("is left out: {why}")),
        }
    }
    Some(entry)
}

/// Where entities of the document come from, by their paths in it.
#[derive(Default)]
pub(super) struct Origins(BTreeMap<String, Place>);

impl Origins {
    pub(super) fn add(&mut self, kind: &str, name: &str, place: &Place) {
        self.0.insert(path(kind, name), place.clone());
    }

    fn of(&self, kind: &str, name: &str) -> Place {
        self.0.get(&path(kind, name)).cloned().unwrap_or_default()
    }
}

fn path(kind: &str, name: &str) -> String {
    Path::Root.member(kind).member(name).to_string()
}

/// Rounds of taking out. What falls with something else is taken out with it or a round later: a customer, its teams, their
/// keys.
const ROUNDS: usize = 5;

/// Takes out what does not compile, such as fallbacks that are too many, with a note each.
pub(super) fn document(document: &mut Document, origins: &Origins, report: &mut Report) {
    for _ in 0..ROUNDS {
        let found = Found(problems(document).into_iter().map(|p| (p.path, p.message)).collect());
        if found.0.is_empty() {
            return;
        }
        models(document, &found, origins, report);
        retain(&mut document.customers, "customers", &found, (origins, report));
        retain(&mut document.teams, "teams", &found, (origins, report));
        retain(&mut document.keys, "keys", &found, (origins, report));
        retain(&mut document.providers, "providers", &found, (origins, report));
    }
    for problem in problems(document) {
        report.problem(&Place::default(), format!("cannot be brought over: {problem}"));
    }
}

/// Problems by their paths.
struct Found(BTreeMap<String, String>);

impl Found {
    /// What is wrong with an entity.
    fn of(&self, kind: &str, name: &str) -> Option<&str> {
        let path = path(kind, name);
        let below = [".", "["].map(|next| format!("{path}{next}"));
        let below = below.iter().find_map(|start| {
            let (at, why) = self.0.range(start.clone()..).next()?;
            at.starts_with(start).then_some(why)
        });
        self.0.get(&path).or(below).map(String::as_str)
    }
}

fn models(document: &mut Document, found: &Found, origins: &Origins, report: &mut Report) {
    let mut gone = BTreeSet::new();
    for (name, group) in &mut document.models {
        let Some(why) = found.of("models", name) else { continue };
        let place = origins.of("models", name);
        if group.fallbacks.is_empty() {
            report.note(&place, format!("is left out: {why}"));
            gone.insert(name.clone());
        } else {
            report.note(&place, format!("loses its fallbacks: {why}"));
            group.fallbacks.clear();
        }
    }
    document.models.retain(|name, _| !gone.contains(name));
    let kept = |fallback: &Fallback| !matches!(fallback, Fallback::Name(name) if gone.contains(name));
    for group in document.models.values_mut() {
        group.fallbacks.retain(kept);
    }
}

fn retain<T>(
    entities: &mut BTreeMap<String, T>,
    kind: &str,
    found: &Found,
    (origins, report): (&Origins, &mut Report),
) {
    entities.retain(|name, _| {
        let why = found.of(kind, name);
        if let Some(why) = why {
            report.note(&origins.of(kind, name), format!("is left out: {why}"));
        }
        why.is_none()
    });
}
