//! Checks a value against the JSON Schema that is generated from our types, and says all that is wrong in our words.
//! It reads only what that generator writes for types like ours: `$ref`, `type`, `properties`, `required`,
//! `additionalProperties`, `items`, `const`, `enum`, `anyOf`, `oneOf`, `minimum`, `maximum`, `format`. Of the
//! alternatives of a schema at most one takes each JSON type, so a value's type tells which one was meant.

use crate::{
    Problem,
    path::{Path, Step},
    suggest::{did_you_mean, list},
};
use serde_json::{Map, Value};

type Schema = Map<String, Value>;

/// A structural problem, and where it is.
pub(crate) struct Fault {
    pub(crate) problem: Problem,
    pub(crate) place: Vec<Step>,
}

/// Every structural problem, in the order of the document. Depth is bounded by that of the value.
pub(crate) fn check(schema: &Value, value: &Value) -> Vec<Fault> {
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let mut walk = Walk { definitions, faults: Vec::new() };
    walk.check(schema, value, &Path::Root);
    walk.faults
}

struct Walk<'s> {
    definitions: Option<&'s Schema>,
    faults: Vec<Fault>,
}

impl<'s> Walk<'s> {
    fn wrong(&mut self, path: &Path<'_>, message: impl Into<String>) {
        let problem = Problem { path: path.to_string(), message: message.into() };
        self.faults.push(Fault { problem, place: path.steps() });
    }

    fn check(&mut self, schema: &'s Value, value: &Value, path: &Path<'_>) {
        let mut alternatives = Vec::new();
        self.alternatives(schema, &mut alternatives);
        let Some(fitting) = alternatives.iter().copied().find(|schema| takes(schema, value)) else {
            if !alternatives.is_empty() {
                self.wrong(path, wrong_type(&alternatives, value));
            }
            return;
        };
        match value {
            Value::Object(members) => self.check_members(fitting, members, path),
            Value::Array(items) => {
                let Some(schema) = fitting.get("items") else { return };
                for (index, item) in items.iter().enumerate() {
                    self.check(schema, item, &path.item(index));
                }
            }
            Value::String(text) => self.check_choice(&alternatives, text, path),
            Value::Number(_) => self.check_range(fitting, value, path),
            Value::Bool(_) | Value::Null => {}
        }
    }

    /// The schemas of which a value must meet one; none if it may be anything.
    fn alternatives(&self, schema: &'s Value, out: &mut Vec<&'s Schema>) {
        let Value::Object(schema) = schema else { return };
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix("#/$defs/"));
        if let Some(named) = name.and_then(|name| self.definitions?.get(name)) {
            return self.alternatives(named, out);
        }
        match schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
            Some(several) => several.iter().for_each(|one| self.alternatives(one, out)),
            None if schema.contains_key("type") || schema.contains_key("enum") => out.push(schema),
            None => {}
        }
    }

    fn check_members(&mut self, schema: &'s Schema, members: &Schema, path: &Path<'_>) {
        let known = schema.get("properties").and_then(Value::as_object);
        let other = schema.get("additionalProperties");
        for (name, value) in members {
            let path = path.member(name);
            match known.and_then(|known| known.get(name)).or(other) {
                Some(Value::Bool(false)) => {
                    let names = || known.into_iter().flat_map(|known| known.keys().map(String::as_str));
                    let meant = did_you_mean(name, names());
                    let between = if meant.is_empty() { ";" } else { "" };
                    let message = format!("unknown member `{name}`{meant}{between} known: {}", list(names()));
                    self.wrong(&path, message);
                }
                Some(schema) => self.check(schema, value, &path),
                None => {}
            }
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in required.filter_map(Value::as_str).filter(|name| !members.contains_key(*name)) {
            self.wrong(&path.member(name), "is missing; add it");
        }
    }

    fn check_choice(&mut self, alternatives: &[&'s Schema], text: &str, path: &Path<'_>) {
        let texts = || alternatives.iter().filter(|schema| schema_types(schema).any(|kind| kind == "string"));
        if texts().any(|schema| choices(schema).is_none_or(|choices| choices.contains(&text))) {
            return;
        }
        // What was written is not repeated: it could be a secret in the wrong place.
        let choices: Vec<_> = texts().filter_map(|schema| choices(schema)).flatten().collect();
        let meant = did_you_mean(text, choices.iter().copied());
        let maps = alternatives.iter().filter_map(|schema| schema.get("properties")?.as_object());
        let maps: String =
            maps.map(|map| format!(", or a map with {}", list(map.keys().map(String::as_str)))).collect();
        self.wrong(path, format!("must be one of {}{maps}{meant}", list(choices)));
    }

    fn check_range(&mut self, schema: &Schema, value: &Value, path: &Path<'_>) {
        if schema_types(schema).all(|kind| kind != "integer") {
            return;
        }
        let limit = match schema.get("format").and_then(Value::as_str) {
            Some("uint32") => u64::from(u32::MAX),
            _ => u64::MAX,
        };
        let least = schema.get("minimum").and_then(Value::as_u64).unwrap_or(0);
        let most = schema.get("maximum").and_then(Value::as_u64).unwrap_or(limit);
        match value.as_u64() {
            Some(number) if (least..=most).contains(&number) => {}
            _ if value.is_f64() && value.as_f64().is_some_and(|number| number.fract() != 0.0) => {
                self.wrong(path, "must be a whole number");
            }
            _ if most == u64::MAX => {
                self.wrong(path, format!("must be a whole number, at least {least}"));
            }
            _ => self.wrong(path, format!("must be a whole number from {least} to {most}")),
        }
    }
}

fn schema_types(schema: &Schema) -> impl Iterator<Item = &str> {
    let (one, several) = match schema.get("type") {
        Some(Value::Array(several)) => (None, several.as_slice()),
        one => (one, [].as_slice()),
    };
    // An `enum` without a type is one of texts.
    let default = schema.get("type").is_none().then_some("string");
    one.into_iter().chain(several).filter_map(Value::as_str).chain(default)
}

fn takes(schema: &Schema, value: &Value) -> bool {
    schema_types(schema).any(|kind| match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(_) => matches!(kind, "integer" | "number"),
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    })
}

/// The texts that a schema allows, `None` if any.
fn choices(schema: &Schema) -> Option<Vec<&str>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(one), _) => Some(one.as_str().into_iter().collect()),
        (None, Some(several)) => Some(several.as_array()?.iter().filter_map(Value::as_str).collect()),
        (None, None) => None,
    }
}

fn wrong_type(alternatives: &[&Schema], value: &Value) -> String {
    let mut wanted: Vec<&str> = Vec::new();
    for kind in alternatives.iter().flat_map(|schema| schema_types(schema)) {
        let words = words(kind);
        if kind != "null" && !wanted.contains(&words) {
            wanted.push(words);
        }
    }
    let wanted = wanted.join(" or ");
    match value {
        Value::Null => format!("is empty; give it {wanted}, or remove it"),
        Value::Bool(_) | Value::Number(_) if wanted == "text" => {
            format!("must be text, not {}; put it in quotes", words_of(value))
        }
        _ => format!("must be {wanted}, not {}", words_of(value)),
    }
}

fn words(kind: &str) -> &'static str {
    match kind {
        "boolean" => "`true` or `false`",
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "text",
        "array" => "a list",
        "object" => "a map",
        _ => "nothing",
    }
}

fn words_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "`true` or `false`",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
