//! What must hold for any bytes as a body: acceptance and values as serde_json has them, edits as its map has them.
#![allow(clippy::expect_used)] // a panic here is a failed check

use bytes::Bytes;
use serde_json::{Map, Value, value::RawValue};
use trestle_dialect::{
    Edits, Envelope,
    ir::Json,
    json::{ErrorKind, Kind, Raw, unescape},
};

/// Behind the last byte of this value, which is never part of UTF-8, stand the edits: one for every three bytes.
const SCRIPT_MARK: u8 = 0xff;

/// Checks a body, and a script of edits behind it.
pub(crate) fn check(data: &[u8]) {
    let mark = data.iter().rposition(|&byte| byte == SCRIPT_MARK);
    let (body, script) = mark.map_or((data, &b""[..]), |at| (&data[..at], &data[at + 1..]));
    read_as_garbage(body);
    let raw = match Raw::parse(body) {
        Ok(raw) => raw,
        Err(error) => {
            let by_serde = serde_json::from_slice::<&RawValue>(body);
            assert!(by_serde.is_err() || error.kind == ErrorKind::TooDeep, "refused: {error}");
            assert!(error.at <= body.len() && error.line >= 1 && error.column >= 1);
            assert!(Envelope::parse(Bytes::copy_from_slice(body)).is_err());
            return;
        }
    };
    let by_serde: &RawValue = serde_json::from_slice(body).expect("serde_json refuses what was accepted");
    assert_eq!(by_serde.get().as_bytes(), raw.bytes());
    // lone surrogates and numbers out of range are refused here, and deep nesting
    let value: Option<Value> = serde_json::from_slice(body).ok();
    if let Some(value) = &value
        && unique(raw)
    {
        assert_eq!(&read(raw), value);
    }
    let envelope = match Envelope::parse(Bytes::copy_from_slice(body)) {
        Ok(envelope) => envelope,
        Err(error) => {
            let members = value.as_ref().and_then(Value::as_object).map(Map::len);
            let duplicate = members.is_none_or(|members| members < raw.members().count());
            match error.kind {
                ErrorKind::Duplicate(_) => assert!(duplicate, "{error}"),
                ErrorKind::TooManyMembers => assert!(raw.members().count() > 4096),
                _ => assert_ne!(raw.kind(), Kind::Object, "{error}"),
            }
            return;
        }
    };
    assert_eq!(envelope.members().count(), raw.members().count());
    assert_eq!(Edits::default().apply(&envelope).concat(), body);
    if let Some(Value::Object(map)) = value {
        assert_eq!(map.len(), envelope.members().count());
        edit(&envelope, map, script);
    }
}

/// Whatever the bytes are, reading them as if they were valid does not panic.
fn read_as_garbage(bytes: &[u8]) {
    let mut waiting = vec![Raw::from_valid(bytes)];
    for _ in 0..100 {
        let Some(raw) = waiting.pop() else { break };
        let _ = (raw.kind(), raw.string(), raw.bool(), raw.u64(), raw.f64(), raw.is_str("a"), raw.get("a"));
        let _ = raw.unique_members();
        waiting.extend(raw.elements().take(20));
        waiting.extend(raw.members().take(20).map(|member| member.value));
    }
}

/// Whether no object within has a member twice, so that serde_json's maps lose nothing.
fn unique(raw: Raw<'_>) -> bool {
    !matches!(raw.unique_members(), Some(Err(_)))
        && raw.members().all(|member| unique(member.value))
        && raw.elements().all(unique)
}

/// The value as serde_json has it, by way of all that `Raw` offers.
fn read(raw: Raw<'_>) -> Value {
    match raw.kind() {
        Kind::Null => {
            assert!(raw.is_null());
            Value::Null
        }
        Kind::Bool => raw.bool().expect("a boolean").into(),
        Kind::String => {
            let string = raw.string().expect("a string").into_owned();
            assert!(raw.is_str(&string));
            string.into()
        }
        Kind::Array => raw.elements().map(read).collect(),
        Kind::Object => {
            raw.members().map(|member| (unescape(member.key).into_owned(), read(member.value))).collect()
        }
        Kind::Number => read_number(raw),
    }
}

fn read_number(raw: Raw<'_>) -> Value {
    let number: serde_json::Number = serde_json::from_slice(raw.bytes()).expect("a number");
    let float = number.as_f64().expect("finite");
    // serde_json does not round to the nearest
    let near = |other: f64| (other - float).abs() <= float.abs() * 1e-14;
    assert!(near(raw.f64().expect("finite")));
    if let Some(whole) = number.as_u64() {
        assert_eq!(raw.u64(), Some(whole));
    } else if let Some(whole) = raw.u64() {
        assert!(near(whole as f64));
    }
    number.into()
}

const VALUES: [&str; 6] = ["null", "\"\\n\u{e9}\"", "{\"a\":[]}", "[1,{}]", "-0.5e3", "\"\""];

/// Edits the envelope and serde_json's map alike, and compares.
fn edit(envelope: &Envelope, mut map: Map<String, Value>, script: &[u8]) {
    let mut names: Vec<String> = map.keys().cloned().collect();
    names.extend(["model", "a", "x\"y", "stream_options", ""].map(str::to_owned));
    // members that no edit has touched
    let mut untouched: Vec<String> = map.keys().cloned().collect();
    let mut edits = Edits::default();
    for step in script.chunks_exact(3).take(40) {
        let (what, first, second) = (step[0], usize::from(step[1]), usize::from(step[2]));
        let (name, other) = (&names[first % names.len()], &names[second % names.len()]);
        let text = VALUES[second % VALUES.len()];
        match what % 4 {
            0 => {
                edits.set(envelope, name, Json::parse(text).expect("valid"));
                map.insert(name.clone(), serde_json::from_str(text).expect("valid"));
            }
            1 => {
                edits.remove(envelope, name);
                map.remove(name);
            }
            2 => {
                edits.rename(envelope, name, other);
                if let Some(value) = map.remove(name) {
                    map.insert(other.clone(), value);
                    untouched.retain(|untouched| untouched != other);
                }
            }
            _ if untouched.contains(name) => {
                let (at, value) = descend(envelope.get(name), map.get_mut(name), second);
                edits.replace(envelope, at, Bytes::from_static(text.as_bytes()));
                *value = serde_json::from_str(text).expect("valid");
            }
            _ => continue,
        }
        untouched.retain(|untouched| untouched != name);
    }
    let pieces = edits.apply(envelope);
    let sent = Bytes::from(pieces.concat());
    let after = Envelope::parse(sent.clone()).expect("an edited body is valid");
    let value: Value = serde_json::from_slice(&sent).expect("an edited body is valid");
    assert_eq!(value, Value::Object(map));
    for name in untouched {
        assert_eq!(after.get(&name).map(Raw::bytes), envelope.get(&name).map(Raw::bytes), "{name}");
    }
    let old = |piece: &&Bytes| envelope.body().as_ptr_range().contains(&piece.as_ptr());
    assert!(pieces.iter().filter(old).is_sorted_by_key(|piece| piece.as_ptr()));
}

/// Goes down from a member's value, in both forms alike.
fn descend<'a, 'm>(
    at: Option<Raw<'a>>,
    value: Option<&'m mut Value>,
    turns: usize,
) -> (Raw<'a>, &'m mut Value) {
    let (mut at, mut value) = (at.expect("a member"), value.expect("a member"));
    for turn in 0..turns % 4 {
        let pick = turns + turn;
        match &*value {
            Value::Array(elements) if !elements.is_empty() => {
                let pick = pick % elements.len();
                (at, value) = (at.elements().nth(pick).expect("an element"), &mut value[pick]);
            }
            Value::Object(map) if map.len() == at.members().count() && !map.is_empty() => {
                let name = map.keys().nth(pick % map.len()).expect("a member").clone();
                (at, value) = (at.get(&name).expect("a member"), &mut value[&name]);
            }
            _ => break,
        }
    }
    (at, value)
}
