//! Routing rules of Bifrost: those that only give a model other targets become names in `models`.

use super::Draft;
use crate::{
    Fallback, ModelGroup, TargetEntry, Timeouts,
    import::{
        account::{self, Names},
        members::{self, Members, Remarks},
        report::{Place, Report},
    },
};
use serde_json::Value;
use std::collections::BTreeMap;

const REMARKS: Remarks<'static> = &[
    ("id", "has no use here: nothing refers to it"),
    ("description", "has no equivalent; write a comment"),
    ("query", "is of their console; the rule is read from `cel_expression`"),
];

const TARGET: Remarks<'static> = &[("key_id", PINNED), ("provider_key_name", PINNED)];

const PINNED: &str =
    "has no equivalent: requests use any key of a provider; make a provider of its own for the key";

/// A rule that only asks for the model.
enum When {
    Always,
    Model(String),
}

/// What a rule asks for, if it is one of the simple ones.
fn when(expression: &str) -> Option<When> {
    let expression = expression.trim();
    if expression.is_empty() || expression == "true" {
        return Some(When::Always);
    }
    let (left, right) = expression.split_once("==")?;
    let (left, right) = (left.trim(), right.trim());
    let literal = if left == "model" {
        right
    } else if right == "model" {
        left
    } else {
        return None;
    };
    let quote = literal.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let inside = literal.strip_prefix(quote)?.strip_suffix(quote)?;
    let plain = !inside.is_empty() && !inside.contains(['"', '\'', '\\', '*']);
    plain.then(|| When::Model(inside.to_owned()))
}

impl Draft {
    /// Their order: by priority, then as written; the first of a model counts.
    pub(super) fn rules(&mut self, rules: Vec<(Place, Value)>, report: &mut Report) {
        let mut sorted = Vec::new();
        for (place, value) in rules {
            if let Some(mut rule) = Members::new(value, place, report) {
                let priority = rule.take("priority").map_or(Some(0), |value| value.as_i64());
                if priority.is_none() {
                    report.problem(&rule.at("priority"), "must be a whole number");
                }
                sorted.push((priority.unwrap_or(0), rule));
            }
        }
        sorted.sort_by_key(|(priority, _)| *priority);
        for (_, rule) in sorted {
            self.rule(rule, report);
        }
    }

    fn rule(&mut self, mut rule: Members, report: &mut Report) {
        let place = rule.place.clone();
        let title = rule.text("name", report).or_else(|| rule.text("id", report));
        let off = rule.flag("enabled", report) == Some(false);
        let scope = rule.text("scope", report).is_some_and(|scope| scope != "global");
        let scoped = rule.text("scope_id", report).is_some_and(|id| !id.is_empty()) || scope;
        let chained = rule.flag("chain_rule", report) == Some(true);
        let expression = rule.text("cel_expression", report).unwrap_or_default();
        let targets = rule.list("targets", report).unwrap_or_default();
        let fallbacks = rule.list("fallbacks", report).unwrap_or_default();
        let reason = if off {
            "is disabled and left out"
        } else if scoped {
            "is for one virtual key, team or customer, which has no equivalent, and left out"
        } else if chained {
            "goes on with other rules, which has no equivalent, and is left out"
        } else {
            "asks for more than the model, which has no equivalent, and is left out; a name in `models` has targets of its own"
        };
        let simple = when(&expression).filter(|_| !off && !scoped && !chained);
        let Some(when) = simple else { return report.note(&place, reason) };
        rule.rest(REMARKS, report);
        let (wanted, asked) = match &when {
            When::Always => (title.as_deref().unwrap_or("rule"), None),
            When::Model(model) => (model.as_str(), Some(model.as_str())),
        };
        let Some(name) = self.group_name(wanted, &when, &place, report) else { return };
        let targets = self.targets(targets, asked, report);
        if targets.is_empty() {
            return report.note(&place, "has no target that is carried over, and is left out");
        }
        let fallbacks = self.fallbacks(fallbacks, asked, report);
        if asked.is_none() {
            report.note(
                &place,
                format!("is for every request there; here clients ask for `{name}`, and other models are as they say"),
            );
        }
        self.origins.add("models", &name, &place);
        self.document.models.insert(name, ModelGroup { targets, fallbacks, ..ModelGroup::default() });
    }

    fn group_name(&self, wanted: &str, when: &When, place: &Place, report: &mut Report) -> Option<String> {
        let hides = |name: &str| {
            let head = name.split_once('/').map(|(head, _)| head);
            head.is_some_and(|head| head == "mock" || self.document.providers.contains_key(head))
        };
        if matches!(when, When::Model(_)) {
            if self.document.models.contains_key(wanted) {
                report.note(place, "comes after another rule for the same model and is left out");
                return None;
            }
            if hides(wanted) || account::legal(wanted) != wanted {
                report.note(place, "is for a name that `models` cannot have here, and is left out");
                return None;
            }
            return Some(wanted.to_owned());
        }
        let mut names = Names::default();
        self.document.models.keys().for_each(|name| names.reserve(name));
        Some(names.take(&wanted.replace('/', "-")))
    }

    fn targets(
        &self,
        items: Vec<(Place, Value)>,
        asked: Option<&str>,
        report: &mut Report,
    ) -> Vec<TargetEntry> {
        let (mut models, mut shares) = (Vec::new(), Vec::new());
        for (place, value) in items {
            let Some(mut target) = Members::new(value, place.clone(), report) else { continue };
            let provider = target.text("provider", report);
            let model = target.text("model", report).or_else(|| asked.map(str::to_owned));
            let share = target.number("weight", report).unwrap_or(1.0);
            target.rest(TARGET, report);
            let (Some(provider), Some(model)) = (provider, model) else {
                report.note(
                    &place,
                    "takes its provider or model from the request, which has no equivalent, and is left out",
                );
                continue;
            };
            if let Some(name) = self.resolve(&provider, &model, &place, report) {
                models.push(name);
                shares.push(share);
            }
        }
        let weights = account::whole_weights(&shares);
        let plain = |(model, weight)| TargetEntry {
            model,
            weight,
            params: BTreeMap::new(),
            timeouts: Timeouts::default(),
            retries: crate::Retries::default(),
        };
        models.into_iter().zip(weights).map(plain).collect()
    }

    fn fallbacks(
        &self,
        items: Vec<(Place, Value)>,
        asked: Option<&str>,
        report: &mut Report,
    ) -> Vec<Fallback> {
        let mut made = Vec::new();
        for (place, value) in items {
            let (provider, model) = if value.is_object() {
                let Some(mut fallback) = Members::new(value, place.clone(), report) else { continue };
                let both = (fallback.text("provider", report), fallback.text("model", report));
                fallback.rest(TARGET, report);
                both
            } else {
                let Some(text) = members::text(value, &place, report) else { continue };
                let (provider, model) =
                    text.split_once('/').map_or((text.as_str(), None), |(p, m)| (p, Some(m)));
                (Some(provider.to_owned()), model.map(str::to_owned))
            };
            let model = model.filter(|model| !model.is_empty()).or_else(|| asked.map(str::to_owned));
            let (Some(provider), Some(model)) = (provider, model) else {
                report.note(&place, "names no provider or no model and is left out");
                continue;
            };
            made.extend(self.resolve(&provider, &model, &place, report).map(Fallback::Name));
        }
        made
    }

    fn resolve(&self, provider: &str, model: &str, place: &Place, report: &mut Report) -> Option<String> {
        let ours = self.providers.get(provider).cloned().flatten();
        if ours.is_none() {
            report.note(place, "is at a provider that is not carried over, and left out");
        }
        ours.map(|ours| format!("{ours}/{model}"))
    }
}
