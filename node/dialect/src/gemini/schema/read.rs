//! Gemini's own form of a schema as JSON Schema.

use crate::{
    gemini::names::camel,
    ir::Json,
    json::{Kind, Raw, Writer},
};
use bytes::Bytes;

/// A schema. One that says the same in both forms stays as it was written.
pub(in crate::gemini) fn read(schema: Raw<'_>, owner: &Bytes) -> Json {
    if is_json_schema(schema) {
        return schema.json(owner);
    }
    let mut out = Writer::with_capacity(schema.bytes().len() + 64);
    write(schema, &mut out);
    Json::from_valid(out.finish().into())
}

/// Whether nothing in it has another form.
fn is_json_schema(schema: Raw<'_>) -> bool {
    schema.members().all(|member| {
        let value = member.value;
        let same = match member.key {
            b"type" => value.string().is_none_or(|word| !word.contains(|c: char| c.is_ascii_uppercase())),
            b"properties" | b"$defs" => value.members().all(|inner| is_json_schema(inner.value)),
            b"items" | b"additionalProperties" => is_json_schema(value),
            b"anyOf" | b"prefixItems" => value.elements().all(is_json_schema),
            b"nullable" | b"example" | b"ref" | b"defs" => false,
            b"format" => !value.is_str("enum"),
            name => value.kind() != Kind::String || !is_count(name),
        };
        same && !member.key.contains(&b'_')
    })
}

/// Counts are strings in the JSON of proto.
fn is_count(name: &[u8]) -> bool {
    matches!(
        name,
        b"minItems" | b"maxItems" | b"minLength" | b"maxLength" | b"minProperties" | b"maxProperties"
    )
}

fn write(schema: Raw<'_>, out: &mut Writer) {
    if schema.kind() != Kind::Object {
        return out.raw(schema.bytes());
    }
    let null = schema.get("nullable").and_then(Raw::bool).filter(|nullable| *nullable).map(|_| "null");
    out.begin_object();
    for member in schema.members() {
        let value = member.value;
        let name = camel(member.key);
        match &*name {
            "type" => write_type(value, null, out),
            "nullable" => {}
            "format" if value.is_str("enum") => {}
            "properties" | "defs" | "$defs" => {
                out.key(if &*name == "properties" { &name } else { "$defs" });
                out.begin_object();
                for inner in value.members() {
                    out.key_escaped(inner.key);
                    write(inner.value, out);
                }
                out.end_object();
            }
            "items" | "additionalProperties" => {
                out.key(&name);
                write(value, out);
            }
            "anyOf" | "prefixItems" => {
                out.key(&name);
                out.begin_array();
                value.elements().for_each(|inner| write(inner, out));
                out.end_array();
            }
            "example" => {
                out.key("examples");
                out.begin_array();
                out.raw(value.bytes());
                out.end_array();
            }
            "ref" => {
                out.key("$ref");
                out.string(&value.string().unwrap_or_default().replacen("#/defs/", "#/$defs/", 1));
            }
            _ => {
                out.key(&name);
                match value.string().and_then(|text| text.parse::<u64>().ok()) {
                    Some(count) if is_count(name.as_bytes()) => out.u64(count),
                    _ => out.raw(value.bytes()),
                }
            }
        }
    }
    out.end_object();
}

fn write_type(value: Raw<'_>, null: Option<&str>, out: &mut Writer) {
    let Some(word) = value.string().map(|word| word.to_ascii_lowercase()) else {
        out.key("type");
        return out.raw(value.bytes());
    };
    if word == "type_unspecified" {
        return;
    }
    out.key("type");
    match null.filter(|null| *null != word) {
        None => out.string(&word),
        Some(null) => {
            out.begin_array();
            out.string(&word);
            out.string(null);
            out.end_array();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_small_and_null_is_one() {
        for (schema, expected) in [
            (r#"{ "type": "object", "properties": {"any_of": {"type": "string"}} }"#, None),
            (
                r#"{"type":"OBJECT","properties":{"min_items":{"type":"STRING","nullable":true}},"property_ordering":["min_items"]}"#,
                Some(
                    r#"{"type":"object","properties":{"min_items":{"type":["string","null"]}},"propertyOrdering":["min_items"]}"#,
                ),
            ),
            (
                r#"{"any_of":[{"type":"ARRAY","items":{"type":"INTEGER","format":"int32"},"min_items":"1"},{"type":"STRING","format":"enum","enum":["a"]}]}"#,
                Some(
                    r#"{"anyOf":[{"type":"array","items":{"type":"integer","format":"int32"},"minItems":1},{"type":"string","enum":["a"]}]}"#,
                ),
            ),
            (
                r##"{"type":"TYPE_UNSPECIFIED","ref":"#/defs/A","defs":{"A":{"example":1}}}"##,
                Some(r##"{"$ref":"#/$defs/A","$defs":{"A":{"examples":[1]}}}"##),
            ),
        ] {
            let owner = Bytes::copy_from_slice(schema.as_bytes());
            let read = read(Raw::parse(&owner).unwrap(), &owner);
            assert_eq!(String::from_utf8_lossy(read.bytes()), expected.unwrap_or(schema));
        }
    }
}
