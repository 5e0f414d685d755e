//! The schema of an answer, as models of Anthropic take it: every object must say that nothing else may stand in it.

use crate::json::{Kind, Raw, Writer};

/// Writes a schema with `additionalProperties: false` in each object that does not speak of the matter; one without
/// such objects stays as it was written.
pub(crate) fn write_closed(out: &mut Writer, schema: Raw<'_>) {
    if has_open(schema) { write(out, schema) } else { out.raw(schema.bytes()) }
}

/// May say yes where the words stand among mere values.
fn has_open(schema: Raw<'_>) -> bool {
    is_open(schema)
        || schema.members().any(|member| has_open(member.value))
        || schema.elements().any(has_open)
}

fn is_open(schema: Raw<'_>) -> bool {
    let is_object = |kind: Raw<'_>| kind.is_str("object");
    let object = schema.get("type").is_some_and(|kind| is_object(kind) || kind.elements().any(is_object));
    object && schema.get("additionalProperties").is_none()
}

fn write(out: &mut Writer, schema: Raw<'_>) {
    if schema.kind() != Kind::Object {
        return out.raw(schema.bytes());
    }
    out.begin_object();
    for member in schema.members() {
        out.key_escaped(member.key);
        match member.key {
            b"properties" | b"$defs" | b"definitions" if member.value.kind() == Kind::Object => {
                out.begin_object();
                for inner in member.value.members() {
                    out.key_escaped(inner.key);
                    write(out, inner.value);
                }
                out.end_object();
            }
            b"items" | b"additionalProperties" => write(out, member.value),
            b"anyOf" | b"oneOf" | b"allOf" | b"prefixItems" if member.value.kind() == Kind::Array => {
                out.begin_array();
                member.value.elements().for_each(|inner| write(out, inner));
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
            write_closed(&mut out, Raw::parse(schema.as_bytes()).unwrap());
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
}
