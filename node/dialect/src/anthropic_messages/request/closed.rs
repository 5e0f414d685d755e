//! The schema of an answer, as models of Anthropic take it: every object must say that nothing else may stand in it, and
//! bounds on numbers, texts and lists are refused.

use crate::{
    dropped::note,
    json::{Kind, Raw, Writer},
};

/// Bounds that make the vendor refuse the request.
const BOUNDS: [&[u8]; 12] = [
    b"minimum",
    b"maximum",
    b"exclusiveMinimum",
    b"exclusiveMaximum",
    b"multipleOf",
    b"minLength",
    b"maxLength",
    b"minItems",
    b"maxItems",
    b"uniqueItems",
    b"minProperties",
    b"maxProperties",
];

/// Writes a schema with `additionalProperties: false` in each object that does not speak of the matter, and without
/// bounds, which are named; one that is fine stays as it was written.
pub(crate) fn write_closed(out: &mut Writer, schema: Raw<'_>, dropped: &mut Vec<String>) {
    if may_change(schema) { write(out, schema, dropped) } else { out.raw(schema.bytes()) }
}

/// May say yes where the words stand among mere values.
fn may_change(schema: Raw<'_>) -> bool {
    is_open(schema)
        || schema.members().any(|member| BOUNDS.contains(&member.key) || may_change(member.value))
        || schema.elements().any(may_change)
}

fn is_open(schema: Raw<'_>) -> bool {
    let is_object = |kind: Raw<'_>| kind.is_str("object");
    let object = schema.get("type").is_some_and(|kind| is_object(kind) || kind.elements().any(is_object));
    object && schema.get("additionalProperties").is_none()
}

/// Whether a member of a schema is a bound that is refused. That a list may be empty, or not, can be said.
fn is_bound(key: &[u8], value: Raw<'_>) -> bool {
    BOUNDS.contains(&key) && !(key == b"minItems" && matches!(value.bytes(), b"0" | b"1"))
}

fn write(out: &mut Writer, schema: Raw<'_>, dropped: &mut Vec<String>) {
    if schema.kind() != Kind::Object {
        return out.raw(schema.bytes());
    }
    out.begin_object();
    for member in schema.members() {
        if is_bound(member.key, member.value) {
            note(
                dropped,
                format!("response_format.json_schema.schema.{}", String::from_utf8_lossy(member.key)),
            );
            continue;
        }
        out.key_escaped(member.key);
        match member.key {
            b"properties" | b"$defs" | b"definitions" if member.value.kind() == Kind::Object => {
                out.begin_object();
                for inner in member.value.members() {
                    out.key_escaped(inner.key);
                    write(out, inner.value, dropped);
                }
                out.end_object();
            }
            b"items" | b"additionalProperties" => write(out, member.value, dropped),
            b"anyOf" | b"oneOf" | b"allOf" | b"prefixItems" if member.value.kind() == Kind::Array => {
                out.begin_array();
                member.value.elements().for_each(|inner| write(out, inner, dropped));
                out.end_array();
            }
            _ => out.raw(member.value.bytes()),
        }
    }
    if is_open(schema) {
        out.key("additionalProperties");
        out.bool(false);
    }
    out.end_object();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_closed_wherever_they_stand() {
        let check = |schema: &str, expected: &str| {
            let mut out = Writer::with_capacity(64);
            write_closed(&mut out, Raw::parse(schema.as_bytes()).unwrap(), &mut Vec::new());
            assert_eq!(String::from_utf8(out.finish()).unwrap(), expected);
        };
        check(
            r#"{"type":"object","properties":{"type":{"type":["object","null"]},"b":{"items":{"type":"object"}}}}"#,
            r#"{"type":"object","properties":{"type":{"type":["object","null"],"additionalProperties":false},"b":{"items":{"type":"object","additionalProperties":false}}},"additionalProperties":false}"#,
        );
        let closed = r#"{"anyOf": [{"type":"object","additionalProperties":{"type":"string"}},true]}"#;
        check(closed, closed);
        check(
            r#"{"$defs":{"A":{"type":"object","enum":[{"type":"object"}]}}}"#,
            r#"{"$defs":{"A":{"type":"object","enum":[{"type":"object"}],"additionalProperties":false}}}"#,
        );
    }

    #[test]
    fn bounds_are_left_out_and_named_but_not_where_they_are_names() {
        let schema = r#"{"type":"array","minItems":1,"maxItems":3,"items":{"type":"object","additionalProperties":false,"properties":{"minimum":{"type":"integer","minimum":1,"maximum":9},"t":{"type":"string","minLength":1,"pattern":"a"}}}}"#;
        let (mut out, mut dropped) = (Writer::with_capacity(64), Vec::new());
        write_closed(&mut out, Raw::parse(schema.as_bytes()).unwrap(), &mut dropped);
        let expected = r#"{"type":"array","minItems":1,"items":{"type":"object","additionalProperties":false,"properties":{"minimum":{"type":"integer"},"t":{"type":"string","pattern":"a"}}}}"#;
        assert_eq!(String::from_utf8(out.finish()).unwrap(), expected);
        let named = ["maxItems", "minimum", "maximum", "minLength"];
        assert_eq!(dropped, named.map(|name| format!("response_format.json_schema.schema.{name}")));
        let (mut out, mut dropped) = (Writer::with_capacity(64), Vec::new());
        let fine = r#"{ "type": "array", "minItems": 0 }"#;
        write_closed(&mut out, Raw::parse(fine.as_bytes()).unwrap(), &mut dropped);
        assert!(dropped.is_empty());
    }
}
