//! Each fixture is read, and its translation to the other dialect is held by a snapshot beside it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod grammar;

use bytes::Bytes;
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};
use trestle_dialect::{
    Dialect, Encoded, Envelope, Framing, Quirks, StreamContext, Target, frame, inbound,
    ir::{Event, Message},
    json, outbound,
};

fn others(dialect: Dialect) -> impl Iterator<Item = Dialect> {
    Dialect::ALL.into_iter().filter(move |other| *other != dialect)
}

fn context() -> StreamContext {
    StreamContext {
        request_id: "req-1".to_owned(),
        model: "chat".to_owned(),
        created: 1_800_000_000,
        include_usage: true,
        echo: None,
    }
}

fn pretty(encoded: &Encoded) -> String {
    let value: serde_json::Value = serde_json::from_slice(&encoded.body).expect("a translation is JSON");
    format!("{}\ndropped: {:?}\n", serde_json::to_string_pretty(&value).unwrap(), encoded.dropped)
}

fn request(dialect: Dialect, body: Bytes) -> String {
    let envelope = Envelope::parse(body).unwrap();
    let mut request = inbound(dialect).decode_request(&envelope).unwrap();
    let quirks = Quirks::default();
    let model = "upstream-model";
    let target = Target { model, quirks: &quirks, params: &[], wants_max_completion_tokens: false };
    let translate = |other: Dialect| match outbound(other).encode_request(&request, &target) {
        Ok(encoded) => pretty(&encoded),
        Err(refusal) => format!("refused: {refusal} ({:?})\n", refusal.param),
    };
    let translated = each(dialect, translate);
    let mut text = String::new();
    for message in std::mem::take(&mut request.messages) {
        dump_message(message, &mut text);
    }
    for tool in std::mem::take(&mut request.tools) {
        writeln!(text, "{tool:?}").unwrap();
    }
    format!("{text}{request:?}\n{translated}")
}

/// What becomes of it in every other dialect.
fn each(dialect: Dialect, mut translate: impl FnMut(Dialect) -> String) -> String {
    others(dialect).map(|other| format!("=== {}\n{}", other.name(), translate(other))).collect()
}

fn dump_message(mut message: Message, text: &mut String) {
    let blocks = std::mem::take(&mut message.blocks);
    writeln!(text, "{message:?}").unwrap();
    for block in blocks {
        writeln!(text, "  {block:?}").unwrap();
    }
}

fn response(dialect: Dialect, body: &Bytes) -> String {
    let mut response = outbound(dialect).decode_response(body).unwrap();
    let usage = json::Raw::parse(body).unwrap().get(outbound(dialect).usage_member());
    let usage = usage.and_then(|usage| outbound(dialect).usage(usage));
    assert_eq!(usage, response.usage, "the meter and the reader agree");
    let translated = each(dialect, |other| pretty(&inbound(other).encode_response(&response, &context())));
    let mut text = String::new();
    for block in std::mem::take(&mut response.blocks) {
        writeln!(text, "{block:?}").unwrap();
    }
    format!("{text}{response:?}\n{translated}")
}

fn events(dialect: Dialect, body: &Bytes) -> String {
    let mut reader = outbound(dialect).decode_events();
    let (mut text, mut all) = (String::new(), Vec::new());
    for event in split(dialect, body) {
        let mut decoded = Vec::new();
        reader.decode(&event, &mut decoded).unwrap();
        for event in decoded {
            writeln!(text, "{event:?}").unwrap();
            all.push(event);
        }
    }
    assert_eq!(reader.ended(), all.iter().any(|event| matches!(event, Event::End)));
    let translated = each(dialect, |other| {
        let mut writer = inbound(other).encode_events(&context());
        let (mut wire, mut dropped) = (Vec::new(), Vec::new());
        all.iter().for_each(|event| writer.encode(event, &mut wire, &mut dropped));
        grammar::check(other, &wire).unwrap();
        format!("{}dropped: {dropped:?}\n", shown(other, &wire))
    });
    format!("{text}{translated}")
}

/// The events of a fixture. One of binary messages is written for people: their types and payloads, a line each.
fn split(dialect: Dialect, body: &[u8]) -> Vec<frame::Event<'_>> {
    if dialect.framing() == Framing::Sse {
        return Framing::Sse.events(body).collect();
    }
    let mut events = Vec::new();
    for raw in body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let space = raw.iter().position(|byte| *byte == b' ').unwrap();
        let data = Some(raw[space + 1..].into());
        events.push(frame::Event { raw, name: &raw[..space], data });
    }
    events
}

/// A stream for people to read.
fn shown(dialect: Dialect, wire: &[u8]) -> String {
    match dialect.framing() {
        Framing::Sse => String::from_utf8(wire.to_vec()).unwrap(),
        Framing::EventStream => {
            let lines = Framing::EventStream.events(wire).map(|event| {
                let (name, data) = (event.name, event.data.unwrap());
                format!("{} {}\n", String::from_utf8_lossy(name), String::from_utf8_lossy(&data))
            });
            lines.collect()
        }
    }
}

/// Without what is not there.
fn concise(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = [": None", ": []"].iter().filter_map(|nothing| rest.find(nothing)).min() {
        let (before, behind) = rest.split_at(at);
        let name = before.len()
            - before
                .bytes()
                .rev()
                .take_while(|byte| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'0'..=b'9'))
                .count();
        let nothing = if behind.starts_with(": None") { ": None" } else { ": []" };
        // A member, and not a text that looks like one.
        let before = &before[..name];
        match before.strip_suffix(", ").or_else(|| before.ends_with("{ ").then_some(before)) {
            Some(kept) if name < at => out.push_str(kept),
            _ => out.push_str(&rest[..at + nothing.len()]),
        }
        rest = &behind[nothing.len()..];
    }
    out.push_str(rest);
    out
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension != "snap"));
    files.sort();
    files
}

#[test]
fn fixtures_translate_as_recorded() {
    for dialect in Dialect::ALL {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(dialect.name());
        let files = files(&folder);
        assert!(files.len() >= 10, "the fixtures of {} are there", dialect.name());
        for path in files {
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let body = Bytes::from(fs::read(&path).unwrap());
            let text = match stem.rsplit_once('.').map(|(_, kind)| kind) {
                Some("request") => request(dialect, body),
                Some("response") => response(dialect, &body),
                Some("events") => events(dialect, &body),
                _ => panic!("{stem}: a fixture is named CASE.request, CASE.response or CASE.events"),
            };
            let mut settings = insta::Settings::clone_current();
            settings.set_snapshot_path(&folder);
            settings.set_prepend_module_to_snapshot(false);
            settings.set_omit_expression(true);
            settings.bind(|| insta::assert_snapshot!(stem, concise(&text)));
        }
    }
}
