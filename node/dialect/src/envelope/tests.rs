//! What an envelope takes and refuses, and what edits make of a body.

use super::*;
use crate::{ir::Json, json::Raw};
use bytes::Bytes;

fn envelope(body: impl Into<Bytes>) -> Envelope {
    Envelope::parse(body.into()).unwrap()
}

fn refused(body: impl Into<Bytes>) -> String {
    Envelope::parse(body.into()).unwrap_err().to_string()
}

#[test]
fn finds_members() {
    let body = Bytes::from_static(b" { \"model\" : \"a\\nb\" , \"str\\u0065am\":true,\"n\":[1] }\n");
    let envelope = envelope(body.clone());
    assert_eq!(envelope.body(), &body);
    assert_eq!(envelope.text("model").unwrap().plain(), "a\nb");
    assert_eq!(envelope.get("stream").unwrap().bool(), Some(true));
    assert!(envelope.get("absent").is_none());
    let values: Vec<_> = envelope.members().map(|member| member.value.bytes()).collect();
    assert_eq!(values, [&b"\"a\\nb\""[..], b"true", b"[1]"]);
}

#[test]
fn refuses_bodies() {
    assert_eq!(refused("[]"), "expected an object at line 1, column 1");
    assert_eq!(refused(""), "unexpected end of the text at line 1, column 1");
    assert_eq!(refused("{\"a\":1} x"), "expected nothing after the value at line 1, column 9");
    assert_eq!(refused("{\"a\":1,\n\"a\":2}"), "duplicate member `a` at line 2, column 1");
    assert_eq!(refused(r#"{"model":1,"mo\u0064el":2}"#), "duplicate member `model` at line 1, column 12");
    let long = "x".repeat(1000);
    assert!(refused(format!(r#"{{"{long}":1,"{long}":2}}"#)).len() < 200);
    let nested = |depth| format!(r#"{{"a":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    envelope(nested(127));
    assert_eq!(refused(nested(128)), "nested deeper than 128 levels at line 1, column 133");
}

#[test]
fn many_members() {
    let body = |names: &mut dyn Iterator<Item = usize>| {
        let members: Vec<_> = names.map(|name| format!("\"n{name}\":1")).collect();
        format!("{{{}}}", members.join(","))
    };
    assert_eq!(envelope(body(&mut (0..4096))).members().count(), 4096);
    assert!(refused(body(&mut (0..4097))).starts_with("more than 4096 members"));
    for count in [15, 16, 17, 18, 300] {
        envelope(body(&mut (0..count)));
        for twice in [0, count - 1] {
            let duplicate = refused(body(&mut (0..count).chain([twice])));
            assert!(duplicate.starts_with(&format!("duplicate member `n{twice}`")), "{count}: {duplicate}");
        }
    }
}

/// Applies the edits to the body and compares the text.
fn check(body: &'static str, edit: impl Fn(&mut Edits, &Envelope), expected: &str) {
    let envelope = envelope(body);
    let mut edits = Edits::default();
    edit(&mut edits, &envelope);
    assert_eq!(edits.is_empty(), body == expected, "{body}");
    let sent = edits.apply(&envelope).concat();
    assert_eq!(String::from_utf8_lossy(&sent), expected, "{body}");
    envelope_of(&sent);
}

fn envelope_of(bytes: &[u8]) -> Envelope {
    envelope(Bytes::copy_from_slice(bytes))
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

#[test]
fn sets_members() {
    check("{}", |_, _| {}, "{}");
    check(" { } ", |e, b| e.set(b, "x", json("1")), " {\"x\":1 } ");
    check("{\"a\": 1 }", |e, b| e.set(b, "a", json("[2]")), "{\"a\": [2] }");
    check("{\"a\": 1 }", |e, b| e.set(b, "x\"", json("{}")), r#"{"a": 1,"x\"":{} }"#);
    let twice = |e: &mut Edits, b: &Envelope| {
        e.set(b, "a", json("2"));
        e.set(b, "x", json("3"));
        e.set(b, "y", json("4"));
        e.set(b, "a", json("5"));
        e.set(b, "x", json("6"));
    };
    check("{\"a\":1}", twice, r#"{"a":5,"x":6,"y":4}"#);
}

#[test]
fn removes_members() {
    const BODY: &str = r#"{ "a": 1 , "b": 2 , "c": 3 }"#;
    let remove = |names: &'static [&str], expected| {
        let all = |e: &mut Edits, b: &Envelope| names.iter().for_each(|name| e.remove(b, name));
        check(BODY, all, expected);
    };
    remove(&["x"], BODY);
    remove(&["a"], r#"{ "b": 2 , "c": 3 }"#);
    remove(&["b"], r#"{ "a": 1 , "c": 3 }"#);
    remove(&["c"], r#"{ "a": 1 , "b": 2 }"#);
    remove(&["b", "a"], r#"{ "c": 3 }"#);
    remove(&["b", "c"], r#"{ "a": 1 }"#);
    remove(&["c", "a", "a"], r#"{ "b": 2 }"#);
    remove(&["c", "a", "b"], "{  }");
    let and_set = |e: &mut Edits, b: &Envelope| {
        e.set(b, "x", json("0"));
        e.remove(b, "c");
        e.remove(b, "b");
        e.set(b, "b", json("9"));
    };
    check(BODY, and_set, r#"{ "a": 1,"x":0,"b":9 }"#);
    let replaced = |e: &mut Edits, b: &Envelope| {
        ["a", "b", "c"].iter().for_each(|name| e.remove(b, name));
        e.set(b, "x", json("0"));
        e.set(b, "y", json("0"));
        e.remove(b, "x");
    };
    check(BODY, replaced, r#"{ "y":0 }"#);
}

#[test]
fn renames_members() {
    const BODY: &str = r#"{"a":1,"b":2}"#;
    check(BODY, |e, b| e.rename(b, "a", "a"), BODY);
    check(BODY, |e, b| e.rename(b, "x", "y"), BODY);
    check(BODY, |e, b| e.rename(b, "a", "\""), r#"{"\"":1,"b":2}"#);
    check(BODY, |e, b| e.rename(b, "a", "b"), r#"{"b":1}"#);
    let swap = |e: &mut Edits, b: &Envelope| {
        e.rename(b, "a", "t");
        e.rename(b, "b", "a");
        e.rename(b, "t", "b");
        e.set(b, "b", json("3"));
        e.set(b, "x", json("4"));
        e.rename(b, "x", "y");
    };
    check(BODY, swap, r#"{"b":3,"a":2,"y":4}"#);
}

#[test]
fn replaces_values() {
    const BODY: &str = r#"{"a":{"b":[1,2]},"c":3}"#;
    fn at<'a>(b: &'a Envelope, path: &[&str]) -> Raw<'a> {
        path[1..].iter().fold(b.get(path[0]).unwrap(), |value, name| value.get(name).unwrap())
    }
    let with = Bytes::from_static(b"9");
    let inner = |e: &mut Edits, b: &Envelope| {
        e.replace(b, at(b, &["a", "b"]), Bytes::from_static(b"8"));
        b.get("a").unwrap().get("b").unwrap().elements().for_each(|x| e.replace(b, x, with.clone()));
    };
    check(BODY, inner, r#"{"a":{"b":[9,9]},"c":3}"#);
    let outer = |e: &mut Edits, b: &Envelope| {
        inner(e, b);
        e.replace(b, at(b, &["a", "b"]), with.clone());
    };
    check(BODY, outer, r#"{"a":{"b":9},"c":3}"#);
    let then_set = |e: &mut Edits, b: &Envelope| {
        inner(e, b);
        e.set(b, "a", json("0"));
        inner(e, b);
    };
    check(BODY, then_set, r#"{"a":0,"c":3}"#);
    let then_removed = |e: &mut Edits, b: &Envelope| {
        e.replace(b, at(b, &["c"]), with.clone());
        e.remove(b, "a");
        inner(e, b);
    };
    check(BODY, then_removed, r#"{"c":9}"#);
    let elsewhere = |e: &mut Edits, b: &Envelope| {
        e.replace(b, Raw::from_valid(b"3"), with.clone());
        e.replace(b, Raw::from_valid(b.body()), with.clone());
    };
    check(BODY, elsewhere, BODY);
}

#[test]
fn copies_nothing() {
    let envelope = envelope(r#"{"model":"a","prompt":"long"}"#);
    let mut edits = Edits::default();
    edits.set(&envelope, "model", json("\"b\""));
    let pieces = edits.apply(&envelope);
    assert_eq!(pieces.len(), 3);
    assert_eq!(pieces[0].as_ptr(), envelope.body().as_ptr());
    assert_eq!(pieces[2].as_ptr(), envelope.body()[12..].as_ptr());
    assert_eq!(Edits::default().apply(&envelope)[0].as_ptr(), envelope.body().as_ptr());
}
