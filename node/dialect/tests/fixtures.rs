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
    Dialect, Encoded, Envelope, Quirks, StreamContext, Target, inbound,
    ir::{Event, Message},
    json, outbound, sse,
};

fn other(dialect: Dialect) -> Dialect {
    match dialect {
        Dialect::OpenAiChat => Dialect::AnthropicMessages,
        Dialect::AnthropicMessages => Dialect::OpenAiChat,
    }
}

fn context() -> StreamContext {
    StreamContext {
        request_id: "req-1".to_owned(),
        model: "chat".to_owned(),
        created: 1_800_000_000,
        include_usage: true,
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
    let translated = match outbound(other(dialect)).encode_request(&request, &target) {
        Ok(encoded) => pretty(&encoded),
        Err(refusal) => format!("refused: {refusal} ({:?})\n", refusal.param),
    };
    let mut text = String::new();
    for message in std::mem::take(&mut request.messages) {
        dump_message(message, &mut text);
    }
    for tool in std::mem::take(&mut request.tools) {
        writeln!(text, "{tool:?}").unwrap();
    }
    format!("{text}{request:?}\n=== {}\n{translated}", other(dialect).name())
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
    let usage = json::Raw::parse(body).unwrap().get("usage").and_then(|usage| outbound(dialect).usage(usage));
    assert_eq!(usage, response.usage, "the meter and the reader agree");
    let translated = inbound(other(dialect)).encode_response(&response, &context());
    let mut text = String::new();
    for block in std::mem::take(&mut response.blocks) {
        writeln!(text, "{block:?}").unwrap();
    }
    format!("{text}{response:?}\n=== {}\n{}", other(dialect).name(), pretty(&translated))
}

fn events(dialect: Dialect, body: &Bytes) -> String {
    let mut reader = outbound(dialect).decode_events();
    let mut writer = inbound(other(dialect)).encode_events(&context());
    let (mut text, mut wire, mut dropped) = (String::new(), Vec::new(), Vec::new());
    let mut ended = false;
    for event in sse::events(body) {
        let mut decoded = Vec::new();
        reader.decode(&event, &mut decoded).unwrap();
        for event in &decoded {
            writeln!(text, "{event:?}").unwrap();
            writer.encode(event, &mut wire, &mut dropped);
            ended |= matches!(event, Event::End);
        }
    }
    assert_eq!(reader.ended(), ended);
    grammar::check(other(dialect), &wire).unwrap();
    let wire = String::from_utf8(wire).unwrap();
    format!("{text}=== {}\n{wire}dropped: {dropped:?}\n", other(dialect).name())
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
            settings.bind(|| insta::assert_snapshot!(stem, text));
        }
    }
}
