//! Steps of the hot path: a look at an event, the usage of an answer, a translated event, a translated request.
#![allow(missing_docs)] // criterion's macros make public items

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use trestle_dialect::{Dialect, Envelope, Look, Quirks, StreamContext, Target, inbound, json::Raw, outbound};

const CHUNK: &[u8] = b"data: {\"id\":\"chatcmpl-AbCdEfGhIjKlMnOpQrStUvWx\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"gpt-4o-mini-2024-07-18\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_0123456789\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\n";
const BLOCK: &[u8] = b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" word\"}}\n\n";
const OPEN: &[u8] = b"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"m\"}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";

fn context() -> StreamContext {
    let (request_id, model) = ("req-1".to_owned(), "chat".to_owned());
    StreamContext { request_id, model, created: 1, include_usage: false, echo: None }
}

fn request(bytes: usize) -> Bytes {
    let text = "Some words, a \\\"quote\\\" and a line end.\\n".repeat(bytes / 40);
    format!(
        r#"{{"model":"chat","messages":[{{"role":"system","content":"Be brief."}},{{"role":"user","content":"{text}"}}],"max_tokens":100,"temperature":0.5,"stream":true}}"#
    )
    .into()
}

fn answer() -> Bytes {
    let text = "word ".repeat(160);
    format!(
        r#"{{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":9,"completion_tokens":160,"total_tokens":169,"prompt_tokens_details":{{"cached_tokens":0}}}},"system_fingerprint":null}}"#
    )
    .into()
}

fn looks(c: &mut Criterion) {
    let mut group = c.benchmark_group("look");
    for (dialect, block) in [(Dialect::OpenAiChat, CHUNK), (Dialect::AnthropicMessages, BLOCK)] {
        let codec = outbound(dialect);
        for (name, look) in [("commit", Look::Commit), ("meter", Look::Meter)] {
            group.bench_function(format!("{} {name}", dialect.name()), |b| {
                b.iter(|| {
                    dialect
                        .framing()
                        .events(black_box(block))
                        .filter(|event| codec.glance(event, look).content)
                        .count()
                });
            });
        }
    }
    let body = answer();
    group.bench_function("usage of an answer", |b| {
        b.iter(|| {
            Raw::parse(black_box(&body)).map(|answer| outbound(Dialect::OpenAiChat).usage(answer)).ok()
        });
    });
    group.finish();
}

fn translations(c: &mut Criterion) {
    let mut group = c.benchmark_group("translate");
    for (from, to, block) in [
        (Dialect::OpenAiChat, Dialect::AnthropicMessages, CHUNK),
        (Dialect::AnthropicMessages, Dialect::OpenAiChat, BLOCK),
    ] {
        let (mut reader, mut writer) =
            (outbound(from).decode_events(), inbound(to).encode_events(&context()));
        let (mut events, mut out, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
        let mut step = |block: &[u8]| {
            for event in from.framing().events(block) {
                let _ = reader.decode(&event, &mut events);
            }
            out.clear();
            for event in events.drain(..) {
                writer.encode(&event, &mut out, &mut dropped);
            }
            out.len()
        };
        if from == Dialect::AnthropicMessages {
            step(OPEN);
        }
        group.bench_function(format!("event from {}", from.name()), |b| b.iter(|| step(black_box(block))));
    }
    let quirks = Quirks::default();
    let target = Target { model: "up", quirks: &quirks, params: &[], wants_max_completion_tokens: false };
    for bytes in [1_000, 100_000] {
        let body = request(bytes);
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(format!("request of {bytes} bytes"), |b| {
            b.iter(|| {
                let envelope = Envelope::parse(body.clone()).ok()?;
                let request = inbound(Dialect::OpenAiChat).decode_request(&envelope).ok()?;
                outbound(Dialect::AnthropicMessages).encode_request(&request, &target).ok()
            });
        });
        group.bench_function(format!("edit of {bytes} bytes"), |b| {
            b.iter(|| {
                let envelope = Envelope::parse(body.clone()).ok()?;
                let (edits, _) = outbound(Dialect::OpenAiChat).edit_request(&envelope, &target).ok()?;
                Some(edits.apply(&envelope))
            });
        });
    }
    let body = answer();
    group.throughput(Throughput::Bytes(body.len() as u64));
    group.bench_function("answer", |b| {
        b.iter(|| {
            let answer = outbound(Dialect::OpenAiChat).decode_response(black_box(&body)).ok()?;
            Some(inbound(Dialect::AnthropicMessages).encode_response(&answer, &context()))
        });
    });
    group.finish();
}

/// A request and an answer of 1 KB from each dialect to the next: each codec once in each role.
fn pairs(c: &mut Criterion) {
    let mut group = c.benchmark_group("pair");
    let quirks = Quirks::default();
    let target = Target { model: "up", quirks: &quirks, params: &[], wants_max_completion_tokens: false };
    let asked = Envelope::parse(request(1_000)).ok();
    let asked = asked.and_then(|body| inbound(Dialect::OpenAiChat).decode_request(&body).ok());
    let told = outbound(Dialect::OpenAiChat).decode_response(&answer()).ok();
    let (Some(asked), Some(told)) = (asked, told) else { return };
    for (place, from) in Dialect::ALL.into_iter().enumerate() {
        let to = Dialect::ALL[(place + 2) % Dialect::ALL.len()];
        let Ok(body) = outbound(from).encode_request(&asked, &target) else { continue };
        let (body, given) = (Bytes::from(body.body), inbound(to).encode_response(&told, &context()).body);
        let given = Bytes::from(given);
        group.bench_function(format!("{} to {}, request", from.name(), to.name()), |b| {
            b.iter(|| {
                let envelope = Envelope::parse(body.clone()).ok()?;
                let request = inbound(from).decode_request(&envelope).ok()?;
                outbound(to).encode_request(black_box(&request), &target).ok()
            });
        });
        group.bench_function(format!("{} to {}, answer", from.name(), to.name()), |b| {
            b.iter(|| {
                let answer = outbound(to).decode_response(black_box(&given)).ok()?;
                Some(inbound(from).encode_response(&answer, &context()))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, looks, translations, pairs);
criterion_main!(benches);
