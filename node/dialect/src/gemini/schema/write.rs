//! JSON Schema as Gemini takes it: references resolved, known keywords alone, the rest named. A schema that is fine
//! as it is stays as it was written.

use super::{
    keyword::{FORMATS, Keyword, Place},
    resolve::Document,
};
use crate::{
    dropped,
    ir::Json,
    json::{Kind, Member, Raw, Writer, unescape},
};
use std::collections::HashSet;

/// Most schemas inside of one another. The vendor takes no more than about 100 levels of JSON.
const LEVELS_MAX: usize = 48;

/// Writes a schema.
pub(in crate::gemini) fn write(schema: &Json, place: Place, out: &mut Writer, dropped: &mut Vec<String>) {
    let root = schema.raw();
    let mut converter = Converter {
        document: Document::new(root),
        place,
        active: Vec::new(),
        level: 0,
        out: Writer::with_capacity(256),
        changed: false,
        dropped,
    };
    converter.schema(root, Depth::Root);
    let (written, changed) = (converter.out.finish(), converter.changed);
    out.raw(if changed { &written } else { root.bytes() });
}

/// Where in the schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Root,
    Inner,
}

struct Converter<'a, 'd> {
    document: Document<'a>,
    place: Place,
    /// Targets of references that are being written, so that no circle is followed.
    active: Vec<Raw<'a>>,
    level: usize,
    out: Writer,
    /// Whether what is written says anything else than the client's own bytes.
    changed: bool,
    dropped: &'d mut Vec<String>,
}

impl<'a> Converter<'a, '_> {
    fn drop(&mut self, keyword: &str) {
        self.changed = true;
        dropped::note(self.dropped, format!("{}{keyword}", self.place.path()));
    }

    fn schema(&mut self, schema: Raw<'a>, depth: Depth) {
        if schema.kind() != Kind::Object || self.level >= LEVELS_MAX {
            // `true` allows anything; `false`, which allows nothing, has no other form.
            if schema.kind() == Kind::Object {
                self.drop("properties");
            }
            self.changed = true;
            return self.out.raw(b"{}");
        }
        let layers = self.document.layers(schema, &self.active);
        self.level += 1;
        if layers.is_cut {
            self.drop("$ref");
        }
        self.changed |= layers.all.len() > 1;
        let before = self.active.len();
        self.active.extend(&layers.targets);
        self.out.begin_object();
        if depth == Depth::Root
            && self.place == Place::Parameters
            && !layers.all.iter().any(|layer| layer.get("type").is_some())
        {
            self.changed = true;
            self.out.key("type");
            self.out.string("object");
        }
        self.members(&layers.all);
        self.out.end_object();
        self.active.truncate(before);
        self.level -= 1;
    }

    /// The members of all layers; of those with the same name the first one counts, but all properties do.
    fn members(&mut self, layers: &[Raw<'a>]) {
        let mut written: Vec<&'static str> = Vec::new();
        for member in layers.iter().flat_map(|layer| layer.members()) {
            let name = unescape(member.key);
            let (keyword, becomes) = Keyword::of(&name, self.place);
            match keyword {
                Keyword::Unknown => self.drop(&name),
                Keyword::Silent | Keyword::Resolved => self.changed = true,
                _ if written.contains(&becomes) => {
                    self.changed = true;
                    // What is told of all layers at once, and what describes the place better than its type.
                    if !matches!(becomes, "type" | "title" | "description" | "properties" | "required") {
                        self.drop(&name);
                    }
                }
                _ => match self.member(keyword, becomes, member.value, layers) {
                    true => written.push(becomes),
                    false => self.drop(&name),
                },
            }
            self.changed |= name != becomes;
        }
        if !written.contains(&"description") && self.described_format(layers).is_some() {
            self.description(layers);
        }
    }

    /// One member under the name that it has here. False if its value makes no sense.
    fn member(&mut self, keyword: Keyword, name: &'static str, value: Raw<'a>, layers: &[Raw<'a>]) -> bool {
        match keyword {
            Keyword::Text if name == "description" => self.description(layers),
            Keyword::Text => self.plain(name, value, Kind::String),
            Keyword::Number => self.plain(name, value, Kind::Number),
            Keyword::Any => self.plain(name, value, value.kind()),
            Keyword::Format => self.format(value),
            Keyword::Type | Keyword::Nullable => self.types(layers),
            Keyword::Beyond => self.beyond(name, value, layers),
            Keyword::Enum => self.values(&value.elements().collect::<Vec<_>>()),
            Keyword::Const => self.values(&[value]),
            Keyword::Properties => {
                // Some writers have one word for an empty list and an empty object.
                self.changed |= value.kind() != Kind::Object;
                self.properties(layers)
            }
            Keyword::Names => value.kind() == Kind::Array && self.names(name, layers),
            Keyword::Schema => self.inner(name, value),
            Keyword::List => self.list(name, value),
            Keyword::Resolved | Keyword::Silent | Keyword::Unknown => false,
        }
    }

    fn plain(&mut self, name: &str, value: Raw<'a>, kind: Kind) -> bool {
        if value.kind() == kind {
            self.out.key(name);
            self.out.raw(value.bytes());
        }
        value.kind() == kind
    }

    /// A form that is taken; others stand in the description, and nothing is lost.
    fn format(&mut self, value: Raw<'a>) -> bool {
        match value.string() {
            Some(format) if FORMATS.contains(&&*format) => self.plain("format", value, Kind::String),
            Some(_) => {
                self.changed = true;
                true
            }
            None => false,
        }
    }

    /// The form that the description tells.
    fn described_format(&self, layers: &[Raw<'a>]) -> Option<String> {
        let format = layers.iter().find_map(|layer| layer.get("format")?.string())?;
        (!FORMATS.contains(&&*format)).then(|| format.into_owned())
    }

    fn description(&mut self, layers: &[Raw<'a>]) -> bool {
        let text = layers.iter().find_map(|layer| layer.get("description"));
        let Some(format) = self.described_format(layers) else {
            return text.is_some_and(|text| self.plain("description", text, Kind::String));
        };
        self.out.key("description");
        match text.and_then(Raw::string) {
            Some(text) => self.out.string(&format!("{text} (format: {format})")),
            None => self.out.string(&format!("Format: {format}")),
        }
        true
    }

    /// A word or several; `nullable` adds one.
    fn types(&mut self, layers: &[Raw<'a>]) -> bool {
        let nullable = layers.iter().any(|layer| layer.get("nullable").and_then(Raw::bool) == Some(true));
        self.changed |= layers.iter().any(|layer| layer.get("nullable").is_some());
        let Some(value) = layers.iter().find_map(|layer| layer.get("type")) else {
            // Nothing is narrowed, so null is allowed anyway.
            return true;
        };
        let words: Vec<Raw<'a>> = match value.kind() {
            Kind::String => vec![value],
            _ => value.elements().filter(|word| word.kind() == Kind::String).collect(),
        };
        self.changed |= value.elements().count() > words.len();
        let add_null = nullable && !words.iter().any(|word| word.is_str("null"));
        match words.as_slice() {
            [] => return false,
            [word] if !add_null && value.kind() == Kind::String => {
                self.out.key("type");
                self.out.raw(word.bytes());
            }
            words => {
                self.out.key("type");
                self.out.begin_array();
                words.iter().for_each(|word| self.out.raw(word.bytes()));
                if add_null {
                    self.out.string("null");
                }
                self.out.end_array();
            }
        }
        true
    }

    /// A bound that is not allowed becomes one that is: the next number for whole numbers, else the same, named.
    fn beyond(&mut self, bound: &'static str, value: Raw<'a>, layers: &[Raw<'a>]) -> bool {
        // Both may be there; in older drafts the one that is not allowed is a boolean.
        if value.kind() != Kind::Number || layers.iter().any(|layer| layer.get(bound).is_some()) {
            return false;
        }
        let whole = layers.iter().any(|layer| layer.get("type").is_some_and(|kind| kind.is_str("integer")));
        let number = std::str::from_utf8(value.bytes()).ok().and_then(|text| text.parse::<i64>().ok());
        self.out.key(bound);
        match number.filter(|_| whole) {
            Some(number) => {
                let step = if bound == "minimum" { 1 } else { -1 };
                self.out.raw(number.saturating_add(step).to_string().as_bytes());
            }
            None => {
                self.out.raw(value.bytes());
                self.drop(if bound == "minimum" { "exclusiveMinimum" } else { "exclusiveMaximum" });
            }
        }
        true
    }

    /// Strings and numbers; other values have no form here. Null is for the type to allow.
    fn values(&mut self, values: &[Raw<'a>]) -> bool {
        let taken = |value: &&Raw<'a>| matches!(value.kind(), Kind::String | Kind::Number);
        if !values.iter().any(|value| taken(&value)) {
            return false;
        }
        if values.iter().any(|value| !taken(&value) && !value.is_null()) {
            self.drop("enum");
        }
        self.changed |= !values.iter().all(|value| taken(&value));
        self.out.key("enum");
        self.out.begin_array();
        values.iter().filter(taken).for_each(|value| self.out.raw(value.bytes()));
        self.out.end_array();
        true
    }

    fn properties(&mut self, layers: &[Raw<'a>]) -> bool {
        let mut seen = HashSet::new();
        self.out.key("properties");
        self.out.begin_object();
        for Member { key, value } in all_properties(layers) {
            if !seen.insert(key) {
                self.changed = true;
                continue;
            }
            self.out.key_escaped(key);
            self.schema(value, Depth::Inner);
        }
        self.out.end_object();
        true
    }

    /// The names of all layers. Those without a property are refused by the vendor, and left out.
    fn names(&mut self, name: &'static str, layers: &[Raw<'a>]) -> bool {
        let known: HashSet<_> = all_properties(layers).map(|member| unescape(member.key)).collect();
        let lists = layers.iter().filter_map(|layer| layer.get(name));
        let (mut seen, mut names) = (HashSet::new(), Vec::new());
        for value in lists.flat_map(Raw::elements) {
            match value.string().filter(|plain| known.contains(plain)) {
                Some(plain) if seen.insert(plain.clone()) => names.push(value),
                Some(_) => self.changed = true,
                None => self.drop(name),
            }
        }
        self.out.key(name);
        self.out.begin_array();
        names.iter().for_each(|value| self.out.raw(value.bytes()));
        self.out.end_array();
        true
    }

    fn inner(&mut self, name: &'static str, value: Raw<'a>) -> bool {
        match value.kind() {
            // A schema for each element, in older drafts.
            Kind::Array if name == "items" => {
                self.changed = true;
                return self.list("prefixItems", value);
            }
            Kind::Bool if name == "additionalProperties" => {
                self.out.key(name);
                self.out.raw(value.bytes());
            }
            Kind::Bool | Kind::Object => {
                self.out.key(name);
                self.schema(value, Depth::Inner);
            }
            _ => return false,
        }
        true
    }

    fn list(&mut self, name: &str, value: Raw<'a>) -> bool {
        if value.elements().next().is_none() {
            return false;
        }
        self.out.key(name);
        self.out.begin_array();
        value.elements().for_each(|schema| self.schema(schema, Depth::Inner));
        self.out.end_array();
        true
    }
}

fn all_properties<'a>(layers: &[Raw<'a>]) -> impl Iterator<Item = Member<'a>> {
    layers.iter().filter_map(|layer| layer.get("properties")).flat_map(Raw::members)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(place: Place, schema: &str, expected: &str, expected_dropped: &[&str]) {
        let (mut out, mut dropped) = (Writer::with_capacity(64), Vec::new());
        write(&Json::parse(schema).unwrap(), place, &mut out, &mut dropped);
        assert_eq!(String::from_utf8(out.finish()).unwrap(), expected, "{schema}");
        let paths: Vec<_> = expected_dropped.iter().map(|name| format!("{}{name}", place.path())).collect();
        assert_eq!(dropped, paths, "{schema}");
    }

    #[test]
    fn what_is_fine_stays_as_it_was_written() {
        for schema in [
            r#"{ "type" : "object" }"#,
            r#"{"type":"object","properties":{"title":{"type":["string","null"],"enum":["a",1]}},"required":["title"],"additionalProperties":false}"#,
            r#"{"type":"object","properties":{"a":{"anyOf":[{"type":"string","format":"date-time"},{"type":"array","items":{}}]}}}"#,
        ] {
            check(Place::Parameters, schema, schema, &[]);
            check(Place::Output, schema, schema, &[]);
        }
        check(Place::Output, r#"{"type":"array","title":"T"}"#, r#"{"type":"array","title":"T"}"#, &[]);
    }

    #[test]
    fn what_is_not_taken_is_named() {
        for (schema, expected, dropped) in [
            (r#"{}"#, r#"{"type":"object"}"#, &[][..]),
            (
                r#"{"$schema":"x","type":"object","title":"T","patternProperties":{},"properties":{"patternProperties":{"type":"string"}}}"#,
                r#"{"type":"object","properties":{"patternProperties":{"type":"string"}}}"#,
                &["title", "patternProperties"],
            ),
            (
                r#"{"type":"object","properties":{"a":true,"b":{"const":"x"},"c":{"const":true}}}"#,
                r#"{"type":"object","properties":{"a":{},"b":{"enum":["x"]},"c":{}}}"#,
                &["const"],
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"integer","exclusiveMinimum":0},"b":{"type":"number","exclusiveMaximum":1.5}}}"#,
                r#"{"type":"object","properties":{"a":{"type":"integer","minimum":1},"b":{"type":"number","maximum":1.5}}}"#,
                &["exclusiveMaximum"],
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"string","format":"uri"},"b":{"format":"uuid","description":"An id"}}}"#,
                r#"{"type":"object","properties":{"a":{"type":"string","description":"Format: uri"},"b":{"description":"An id (format: uuid)"}}}"#,
                &[],
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"string","nullable":true,"enum":["x",null]}}}"#,
                r#"{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x"]}}}"#,
                &[],
            ),
            (
                r#"{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},false]}},"required":["a","b"]}"#,
                r#"{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{}]}},"required":["a"]}"#,
                &["required"],
            ),
            (
                r#"{"type":"object","properties":{"a":{"minimum":"x","items":[{"type":"string"}]}}}"#,
                r#"{"type":"object","properties":{"a":{"prefixItems":[{"type":"string"}]}}}"#,
                &["minimum"],
            ),
            (
                r#"{"type":"object","properties":[],"required":true,"anyOf":[]}"#,
                r#"{"type":"object","properties":{}}"#,
                &["required", "anyOf"],
            ),
            (
                r#"{"type":["object",1],"properties":{"a":{},"a":{"type":"string"}}}"#,
                r#"{"type":["object"],"properties":{"a":{}}}"#,
                &[],
            ),
        ] {
            check(Place::Parameters, schema, expected, dropped);
        }
    }

    #[test]
    fn references_are_resolved_and_circles_cut() {
        for (schema, expected, dropped) in [
            (
                r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/A%20b","description":"Mine"}},"$defs":{"A b":{"type":"string","description":"Its"}}}"##,
                r#"{"type":"object","properties":{"a":{"description":"Mine","type":"string"}}}"#,
                &[][..],
            ),
            (
                r##"{"$ref":"#/definitions/T","definitions":{"T":{"type":"object","properties":{"up":{"$ref":"#/definitions/T"}}}}}"##,
                r#"{"type":"object","properties":{"up":{}}}"#,
                &["$ref"],
            ),
            (
                r#"{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]}"#,
                r#"{"type":"object","properties":{"a":{"type":"string"},"b":{}},"required":["a","b"]}"#,
                &[],
            ),
            (
                r#"{"type":"object","properties":{"a":{"$ref":"https://example.com/x"}}}"#,
                r#"{"type":"object","properties":{"a":{}}}"#,
                &["$ref"],
            ),
        ] {
            check(Place::Parameters, schema, expected, dropped);
        }
    }

    #[test]
    fn references_cannot_grow_without_bound() {
        let names: Vec<_> = (0..40)
            .map(|i| {
                let next = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, i + 1);
                format!(r#""d{i}":{{"type":"object","properties":{{"a":{next},"b":{next}}}}}"#)
            })
            .collect();
        let schema = format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d40":{{}}}}}}"##, names.join(","));
        let (mut out, mut dropped) = (Writer::with_capacity(64), Vec::new());
        write(&Json::parse(&schema).unwrap(), Place::Output, &mut out, &mut dropped);
        let out = out.finish();
        assert!(out.len() < 1 << 20, "{}", out.len());
        assert!(Raw::parse(&out).is_ok());
        assert_eq!(dropped, ["response_format.json_schema.schema.$ref"]);
    }
}
