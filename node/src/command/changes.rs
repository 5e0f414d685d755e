//! What changed, or would change, entity by entity.

use super::{
    failure::{Failure, Place},
    print::{self, Paint, plain},
};
use serde::Deserialize;
use serde_json::Value;
use similar::TextDiff;
use trestle_config::to_yaml;

/// What a change did, as the API says it.
#[derive(Debug, Deserialize)]
pub(super) struct Applied {
    pub(super) revision: u64,
    #[serde(default)]
    dry_run: bool,
    /// How many entities it changes; of very many only the first are named.
    #[serde(default)]
    changed: usize,
    pub(super) changes: Vec<Change>,
    #[serde(default)]
    warnings: Vec<Place>,
}

/// How an entity changes.
#[derive(Debug, Deserialize)]
pub(super) struct Change {
    pub(super) kind: String,
    pub(super) id: String,
    pub(super) action: String,
    #[serde(default, deserialize_with = "present")]
    pub(super) before: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    pub(super) after: Option<Value>,
}

/// What is there and null is not the same as what is not there.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

impl Change {
    fn name(&self) -> String {
        format!("{}/{}", self.kind, self.id)
    }
}

impl Applied {
    /// A line for each entity on stdout, warnings on stderr.
    pub(super) fn print(&self) -> Result<(), Failure> {
        self.warn();
        let revision = self.revision;
        if self.changes.is_empty() {
            return print::out(&format!("nothing changes: revision {revision} is the same\n"));
        }
        let mut text = if self.dry_run {
            format!("would change, from revision {revision} on:\n")
        } else {
            format!("revision {revision}:\n")
        };
        for change in &self.changes {
            text.push_str(&format!("  {:8} {}\n", change.action, change.name()));
        }
        if self.more() > 0 {
            text.push_str(&format!("  and {} more\n", self.more()));
        }
        print::out(&plain(&text))
    }

    /// Entities that change and are not named.
    pub(super) fn more(&self) -> usize {
        self.changed.saturating_sub(self.changes.len())
    }

    /// What is not right and did not hinder it.
    pub(super) fn warn(&self) {
        for warning in &self.warnings {
            eprintln!("warning: {warning}");
        }
    }
}

/// A unified diff of each entity, in YAML.
pub(super) fn diff(changes: &[Change], paint: Paint) -> String {
    changes.iter().map(|change| one(change, paint)).collect()
}

fn one(change: &Change, paint: Paint) -> String {
    let side = |value: &Option<Value>| match value {
        Some(value) => (change.name(), to_yaml(value)),
        None => ("/dev/null".to_owned(), String::new()),
    };
    let ((old, before), (new, after)) = (side(&change.before), side(&change.after));
    let text = if before == after {
        // Of secrets, and of what is no part of the document, only that it changed.
        format!("--- {old}\n+++ {new}\n(what changed is not shown)\n")
    } else {
        TextDiff::from_lines(&before, &after).unified_diff().header(&old, &new).to_string()
    };
    let text = plain(&text);
    match paint {
        Paint::Plain => text,
        Paint::Color => text.lines().map(|line| format!("{}\n", colored(line))).collect(),
    }
}

fn colored(line: &str) -> String {
    let color = match line.as_bytes() {
        [b'-', b'-', b'-', ..] | [b'+', b'+', b'+', ..] => "1",
        [b'@', ..] => "36",
        [b'+', ..] => "32",
        [b'-', ..] => "31",
        _ => return line.to_owned(),
    };
    format!("\x1b[{color}m{line}\x1b[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(value: Value) -> Change {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn entities_are_compared_line_by_line() {
        let changes = [
            change(serde_json::json!({"kind": "keys", "id": "web", "action": "changed",
                "before": {"models": ["a"], "value": "v"}, "after": {"models": ["b"], "value": "v"}})),
            change(
                serde_json::json!({"kind": "keys", "id": "old", "action": "removed", "before": {"value": "v"}}),
            ),
            change(
                serde_json::json!({"kind": "secrets", "id": "s", "action": "changed", "before": null, "after": null}),
            ),
        ];
        assert_eq!(
            diff(&changes, Paint::Plain),
            "--- keys/web\n+++ keys/web\n@@ -1,3 +1,3 @@\n models:\n-- a\n+- b\n value: v\n\
             --- keys/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-value: v\n\
             --- secrets/s\n+++ secrets/s\n(what changed is not shown)\n"
        );
        let colored = diff(&changes, Paint::Color);
        assert!(colored.contains("\x1b[31m-- a\x1b[0m\n\x1b[32m+- b\x1b[0m\n"), "{colored:?}");
    }
}
