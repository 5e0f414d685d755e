//! What it costs to check a body, beside serde_json, and to cut and read a chunk of events. Compare only within one
//! run: `cargo bench -p trestle-dialect --bench envelope`.
#![allow(missing_docs)] // criterion's macros make public items

use bytes::Bytes;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::value::RawValue;
use std::hint::black_box;
use trestle_dialect::{Edits, Envelope, Framing, ir::Json, json::Raw, sse::Reader};

const PROSE: &str = "The quick brown fox jumps over the lazy dog and runs on. ";
const ESCAPES: &str = r#"line one\nline \"two\" with\ttabs {\"a\": 1} and\ncode();\n"#;
const CJK: &str = "日本語のテキストと中文文本混合 ";
const UNITS: &str = r"\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8 ";

/// A chat request with a prompt of about so many bytes.
fn body(unit: &str, bytes: usize) -> Bytes {
    let prompt = unit.repeat(bytes / unit.len());
    let text = format!(
        r#"{{"model":"gpt-4o","messages":[{{"role":"system","content":"Be brief."}},{{"role":"user","content":"{prompt}"}}],"temperature":0.7,"max_tokens":256,"stream":true,"user":"u"}}"#
    );
    text.into()
}

fn bodies() -> [(&'static str, Bytes); 6] {
    [
        ("1 KB prose", body(PROSE, 1_000)),
        ("1 KB escapes", body(ESCAPES, 1_000)),
        ("100 KB prose", body(PROSE, 100_000)),
        ("100 KB escapes", body(ESCAPES, 100_000)),
        ("100 KB CJK", body(CJK, 100_000)),
        ("100 KB units", body(UNITS, 100_000)),
    ]
}

fn check(c: &mut Criterion) {
    let mut group = c.benchmark_group("check");
    for (name, body) in bodies() {
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(format!("{name}, envelope"), |b| {
            b.iter(|| {
                Envelope::parse(black_box(body.clone())).map(|envelope| envelope.get("model").is_some())
            });
        });
        group.bench_function(format!("{name}, serde_json"), |b| {
            b.iter(|| serde_json::from_slice::<&RawValue>(black_box(&body)).map(|raw| raw.get().len()));
        });
        group.bench_function(format!("{name}, messages again"), |b| {
            let raw = Raw::from_valid(&body);
            b.iter(|| {
                let messages = black_box(raw).get("messages").into_iter().flat_map(Raw::elements);
                messages.filter(|message| message.get("content").is_some()).count()
            });
        });
    }
    group.finish();
}

fn edit(c: &mut Criterion) {
    let Ok(envelope) = Envelope::parse(body(PROSE, 1_000)) else { return };
    let value = Json::from_valid(Bytes::from_static(b"\"gpt-4o-mini\""));
    c.bench_function("set the model, remove a member", |b| {
        b.iter(|| {
            let mut edits = Edits::default();
            edits.set(&envelope, "model", value.clone());
            edits.remove(&envelope, "user");
            edits.apply(black_box(&envelope))
        });
    });
}

fn stream(c: &mut Criterion) {
    let event = format!(
        "data: {{\"id\":\"chatcmpl-1\",\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n",
        "x".repeat(140)
    );
    let chunk = Bytes::from(event.repeat(10));
    let mut group = c.benchmark_group("ten events of 200 bytes");
    group.bench_function("feed", |b| {
        let mut reader = Reader::new(1 << 20);
        b.iter(|| reader.feed(black_box(chunk.clone())));
    });
    group.bench_function("events", |b| {
        b.iter(|| Framing::Sse.events(black_box(&chunk)).filter(|event| event.data.is_some()).count());
    });
    group.bench_function("feed in chunks of 150 bytes", |b| {
        let chunks: Vec<_> = chunk.chunks(150).map(Bytes::copy_from_slice).collect();
        let feed = |mut reader: Reader| {
            chunks.iter().map(|chunk| reader.feed(chunk.clone()).map_or(0, |b| b.len())).sum::<usize>()
        };
        b.iter_batched(|| Reader::new(1 << 20), feed, BatchSize::SmallInput);
    });
    group.finish();
}

criterion_group!(benches, check, edit, stream);
criterion_main!(benches);
