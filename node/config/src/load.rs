//! Text to snapshot: what is wrong in form and what is wrong in meaning, all at once.

use crate::{
    Compiled, Document, Problem, Problems, Secrets, compile,
    parse::{Read, document, read},
    path::{Path, Step},
    structure::Fault,
};
use serde_json::Value;

/// Reads and compiles a document. Where its form is wrong in some places, the rest is compiled all the same, so that
/// one look finds everything; what follows only from a place that is wrong already is left out.
pub fn load(text: &str, revision: u64, secrets: &dyn Secrets) -> Result<Compiled, Problems> {
    let read = read(text)?;
    if read.faults.is_empty() {
        return compile(&document(read.value)?, revision, secrets);
    }
    Err(all_problems(read, |document| compile(document, revision, secrets).err()))
}

/// What is wrong with the form of a value, and, as `judge` tells of what remains without that, with its meaning.
pub(crate) fn all_problems(read: Read, judge: impl FnOnce(&Document) -> Option<Problems>) -> Problems {
    let Read { mut value, faults } = read;
    // From the back, so that what is taken out of a list moves nothing that is still to be found.
    let depths: Vec<_> = faults.iter().rev().map(|fault| prune(&mut value, &fault.place, 1)).collect();
    let more = document(value).ok().and_then(|document| judge(&document));
    let mut known: Vec<String> = faults.iter().map(entity).collect();
    // Models may refer to what is gone as a whole, so nothing is sure of them then, nor of other references.
    let gone = depths.iter().any(|depth| depth.is_none_or(|depth| depth <= 2));
    if gone {
        known.extend(["models", "providers"].map(str::to_owned));
    }
    let follows = |problem: &Problem| within(problem, &known) || (gone && refers(problem));
    let more = more.into_iter().flat_map(|problems| problems.0).filter(|problem| !follows(problem));
    Problems(faults.iter().map(|fault| fault.problem.clone()).chain(more).collect())
}

/// Takes out what is at a place, or, if nothing is there, what it is missing from. How many steps down that was;
/// `None` if it is the whole document.
fn prune(value: &mut Value, place: &[Step], depth: usize) -> Option<usize> {
    let (step, below) = place.split_first()?;
    if !below.is_empty() {
        // What holds it may be gone already.
        let Some(inner) = child(value, step) else { return Some(depth) };
        if let Some(depth) = prune(inner, below, depth + 1) {
            return Some(depth);
        }
    }
    let there = match (value, step) {
        (Value::Object(members), Step::Member(name)) => members.remove(name).is_some(),
        (Value::Array(items), Step::Item(index)) if *index < items.len() => {
            items.remove(*index);
            true
        }
        _ => false,
    };
    there.then_some(depth)
}

fn child<'v>(value: &'v mut Value, step: &Step) -> Option<&'v mut Value> {
    match step {
        Step::Member(name) => value.get_mut(name),
        Step::Item(index) => value.get_mut(index),
    }
}

/// The entity that holds a place, such as `providers.openai`.
fn entity(fault: &Fault) -> String {
    let root = Path::Root;
    match &fault.place[..] {
        [Step::Member(kind), Step::Member(name), ..] => root.member(kind).member(name).to_string(),
        [Step::Member(kind), ..] => root.member(kind).to_string(),
        _ => root.to_string(),
    }
}

/// Whether a problem is of a member that names another entity.
fn refers(problem: &Problem) -> bool {
    let ends = [".team", ".customer", ".user", ".downgrade"];
    ends.iter().any(|end| problem.path.ends_with(end)) || problem.path.contains(".provider_limits")
}

fn within(problem: &Problem, entities: &[String]) -> bool {
    let inside = |entity: &String| {
        problem
            .path
            .strip_prefix(entity.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    entities.iter().any(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NoSecrets;

    impl Secrets for NoSecrets {
        fn env(&self, name: &str) -> Result<String, String> {
            Err(format!("{name} is not set"))
        }

        fn file(&self, path: &str) -> Result<String, String> {
            Err(format!("{path} cannot be read"))
        }

        fn sealed(&self, _: &str) -> Result<String, String> {
            Err("there is no key for sealed values".to_owned())
        }
    }

    fn check(text: &str, paths: &[&str]) {
        let problems = load(text, 1, &NoSecrets).map(|_| ()).unwrap_err().0;
        let found: Vec<_> = problems.iter().map(|problem| &*problem.path).collect();
        assert_eq!(found, paths, "{text}");
    }

    #[test]
    fn form_and_meaning_are_told_at_once() {
        check(
            "providers:\n  openai: { keyz: [] }\nmodels:\n  chat: { targets: [{ model: nobody/x }] }\nkeys: { a: { value: plain } }",
            &["providers.openai.keyz", "models.chat.targets[0].model", "keys.a.value"],
        );
        // Each in another place; of a key that is wrong in form nothing more is said.
        check(
            "keys: { a: { valu: x, value: plain }, b: { value: plain } }\nsettings: { timeouts: { nonsense: 1 } }\nmodels: { m: { targets: [{ model: nobody/x }] } }",
            &["keys.a.valu", "settings.timeouts.nonsense", "models.m.targets[0].model", "keys.b.value"],
        );
    }

    #[test]
    fn what_only_follows_is_left_out() {
        // The group is gone as a whole, so nobody can tell whether the fallback is right.
        check(
            "models: { a: { strategy: ordered }, b: { targets: [{ model: mock/echo }], fallbacks: [a] } }",
            &["models.a.targets"],
        );
        check("modles: { a: 1 }\nkeys: { k: { value: plain } }", &["modles", "keys.k.value"]);
        check(
            "keys: { a: { valu: x }, b: { value: plain } }\nsettings: { attempts_max: x }",
            &["keys.a.valu", "keys.a.value", "settings.attempts_max", "keys.b.value"],
        );
        check("[]", &["document"]);
        // The same with teams and their like; a key that names one is not to blame.
        check(
            "teams: { a: 5 }\nkeys: { k: { value: plain, team: a } }\ncustomers: { c: { limits: [{ requests: 1 }] } }",
            &["teams.a", "customers.c.limits[0].per", "keys.k.value"],
        );
        check(
            "taems: { a: {} }\nkeys: { k: { value: plain, team: a, provider_limits: { openai: {} } } }",
            &["taems", "keys.k.value"],
        );
        // Two items of one list: the later is taken out first.
        check(
            "models: { m: { targets: [{ model: 1 }, { model: mock/echo }, { nodel: x, model: mock/echo }, { model: nobody/x }] } }",
            &["models.m.targets[0].model", "models.m.targets[2].nodel"],
        );
    }
}
