//! Makes a small JSON value that fits a JSON Schema: arguments for tools, and structured answers.

use serde_json::{Map, Value};

/// Levels of nesting that are followed; deeper parts become null.
const DEPTH_MAX: usize = 16;

/// A value that fits the schema; strings are `text`.
pub(crate) fn instance(schema: &Value, text: &str) -> Value {
    build(schema, schema, text, 0)
}

fn build(schema: &Value, root: &Value, text: &str, depth: usize) -> Value {
    if depth > DEPTH_MAX {
        return Value::Null;
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let pointer = target.trim_start_matches('#');
        return root.pointer(pointer).map_or(Value::Null, |found| build(found, root, text, depth + 1));
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(first) = schema.pointer("/enum/0") {
        return first.clone();
    }
    for word in ["anyOf", "oneOf", "allOf"] {
        if let Some(first) = schema.get(word).and_then(|choices| choices.get(0)) {
            return build(first, root, text, depth + 1);
        }
    }
    let kind = schema.get("type").map(|kind| kind.get(0).unwrap_or(kind));
    // Gemini's own words are the same in upper case.
    match kind.and_then(Value::as_str).map(str::to_ascii_lowercase).as_deref() {
        Some("string") => Value::from(text),
        Some("integer") => Value::from(1),
        Some("number") => Value::from(1.5),
        Some("boolean") => Value::from(true),
        Some("array") => {
            let item = schema.get("items").map(|items| build(items, root, text, depth + 1));
            Value::Array(item.into_iter().collect())
        }
        Some("null") => Value::Null,
        _ => Value::Object(members(schema, root, text, depth)),
    }
}

fn members(schema: &Value, root: &Value, text: &str, depth: usize) -> Map<String, Value> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .map(|(name, part)| (name.clone(), build(part, root, text, depth + 1)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_fit_their_schema() {
        let check = |schema: Value, expected: Value| assert_eq!(instance(&schema, "x"), expected);
        check(json!({"type": "object", "properties": {}}), json!({}));
        check(
            json!({"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": ["integer", "null"]}}}),
            json!({"a": "x", "n": 1}),
        );
        check(
            json!({"type": "object", "properties": {"s": {"$ref": "#/$defs/S"}},
                   "$defs": {"S": {"type": "array", "items": {"enum": ["red"]}}}}),
            json!({"s": ["red"]}),
        );
        check(json!({"$ref": "#"}), Value::Null);
    }
}
