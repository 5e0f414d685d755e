//! Encrypted reasoning: only the account that wrote it can read it, and the mock refuses that of another.

#![allow(clippy::panic, reason = "a panic here is a failed test")]

use crate::support::{Bed, Whole};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use trestle_dialect::Dialect;
use trestle_gateway::Endpoint;

const RESPONSES: Endpoint = Endpoint::Generate(Dialect::OpenAiResponses);

const PROVIDERS: &str = "
providers:
  x: { base_url: '$A/v1', dialects: [openai-responses], keys: [{ name: k1, value: sk-1 }, { name: k2, value: sk-2 }] }
  y: { base_url: '$B/v1', dialects: [openai-responses], keys: [{ name: main, value: sk-y }] }
models:
  group: { targets: [{ model: x/gpt-5-mini }, { model: y/gpt-5-mini }] }
settings: { require_keys: false, retries: { max: 0 } }
";

async fn turn(bed: &Bed, model: &str, items: &[Value], stream: bool) -> Whole {
    let body = json!({
        "model": model, "input": items, "store": false, "stream": stream, "reasoning": { "effort": "low", "summary": "auto" },
        "include": ["reasoning.encrypted_content"],
    });
    bed.ask(RESPONSES, &[], body.to_string()).await
}

/// The items of an answer, whole or streamed.
fn output(answer: &Whole) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let last =
        answer.data().pop().map(|data| serde_json::from_str::<Value>(&data).unwrap()["response"].clone());
    last.unwrap_or_else(|| answer.json())["output"].as_array().unwrap().clone()
}

fn said(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn proof(items: &[Value]) -> String {
    items[0]["encrypted_content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn reasoning_goes_back_to_the_account_that_wrote_it() {
    let bed = Bed::new(PROVIDERS);
    let (mut routes, mut keys) = (BTreeSet::new(), BTreeSet::new());
    let mut round = 0;
    // Until chance has drawn both providers and both keys.
    while routes.len() < 2 || keys.len() < 2 {
        round += 1;
        assert!(round < 200, "{routes:?} {keys:?}");
        let mut items = vec![said("Say one")];
        let first = turn(&bed, "group", &items, round % 2 == 0).await;
        let reasoned = output(&first);
        assert!(proof(&reasoned).starts_with("trestle:@"), "{}", proof(&reasoned));
        items.extend(reasoned);
        items.push(said("Say two"));
        let second =
            turn(&bed, &format!("{}/gpt-5-mini", first.header("x-trestle-provider")), &items, false).await;
        output(&second);
        assert_eq!(second.header("x-trestle-dropped"), "");
        routes.insert(first.header("x-trestle-provider").to_owned());
        keys.extend(
            bed.a.requests().last().and_then(|request| Some(request.header("authorization")?.to_owned())),
        );
    }
}

#[tokio::test]
async fn what_another_account_wrote_is_left_out_and_named() {
    let bed = Bed::new(PROVIDERS);
    let mut items = vec![said("Say one")];
    items.extend(output(&turn(&bed, "y/gpt-5-mini", &items, false).await));
    items.push(said("Say two"));
    let elsewhere = turn(&bed, "x/gpt-5-mini", &items, false).await;
    output(&elsewhere);
    assert_eq!(elsewhere.header("x-trestle-dropped"), "input[].encrypted_content");
    let sent = bed.a.requests().last().unwrap().json();
    assert!(!sent["input"].to_string().contains("encrypted_content"), "{sent}");
    // Both in one conversation: the account reads its own.
    items.extend(output(&elsewhere));
    items.push(said("Say three"));
    let back = turn(&bed, "y/gpt-5-mini", &items, false).await;
    output(&back);
    let sent = bed.b.requests().last().unwrap().json();
    assert_eq!(sent["input"].to_string().matches("encrypted_content").count(), 1, "{sent}");
    assert!(!sent.to_string().contains("trestle"), "{sent}");
}

#[tokio::test]
async fn a_key_that_is_out_is_replaced_and_its_reasoning_left_out() {
    let bed = Bed::new(PROVIDERS);
    let key = || bed.a.requests().last().unwrap().header("authorization").unwrap().replace("Bearer ", "");
    let mut items = vec![said("Say one")];
    items.extend(output(&turn(&bed, "x/gpt-5-mini", &items, false).await));
    items.push(said("Say two"));
    let wrote = key();
    bed.a.script(Some(&wrote), &["status=429,retry_after=30"]).unwrap();
    // First it is found out, then it is known.
    for attempts in ["2", "1"] {
        let replaced = turn(&bed, "x/gpt-5-mini", &items, false).await;
        output(&replaced);
        assert_eq!(replaced.header("x-trestle-dropped"), "input[].encrypted_content");
        assert_eq!(replaced.header("x-trestle-attempts"), attempts);
        assert_ne!(key(), wrote);
    }
}

#[tokio::test]
async fn where_one_account_answers_nothing_is_marked() {
    let bed = Bed::new(
        "providers:\n  y: { base_url: '$B/v1', dialects: [openai-responses], keys: [{ name: main, value: sk-y }] }\n",
    );
    for stream in [false, true] {
        let answer = turn(&bed, "y/gpt-5-mini", &[said("Say one")], stream).await;
        assert!(proof(&output(&answer)).starts_with("gAAAAA"), "{}", answer.text());
    }
}

/// A turn of a client of Anthropic.
async fn foreign_turn(bed: &Bed, model: &str, messages: &[Value], stream: bool) -> (Whole, Vec<Value>) {
    let thinking = json!({ "type": "enabled", "budget_tokens": 1024 });
    let body = json!({
        "model": model, "max_tokens": 4096, "messages": messages, "thinking": thinking, "stream": stream,
    });
    let answer = bed.ask(Endpoint::Generate(Dialect::AnthropicMessages), &[], body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    if !stream {
        let content = answer.json()["content"].as_array().unwrap().clone();
        return (answer, content);
    }
    let (mut thinking, mut signature, mut text) = (String::new(), String::new(), String::new());
    for data in answer.data() {
        let delta = serde_json::from_str::<Value>(&data).unwrap()["delta"].take();
        for (name, all) in [("thinking", &mut thinking), ("signature", &mut signature), ("text", &mut text)] {
            all.push_str(delta[name].as_str().unwrap_or_default());
        }
    }
    let thought = json!({ "type": "thinking", "thinking": thinking, "signature": signature });
    (answer, vec![thought, json!({ "type": "text", "text": text })])
}

#[tokio::test]
async fn clients_of_other_dialects_carry_it_to_that_account() {
    let bed = Bed::new(PROVIDERS);
    let (mut keys, mut round) = (BTreeSet::new(), 0);
    while keys.len() < 2 {
        round += 1;
        assert!(round < 200, "{keys:?}");
        let mut messages = vec![said("Say one")];
        let (_, content) = foreign_turn(&bed, "x/gpt-5-mini", &messages, round % 2 == 0).await;
        let signature = content[0]["signature"].as_str().unwrap();
        assert!(
            signature.starts_with("trestle:openai-responses:rs_") && signature.contains(":trestle:@"),
            "{signature}"
        );
        messages.push(json!({ "role": "assistant", "content": content }));
        messages.push(said("Say two"));
        let (again, _) = foreign_turn(&bed, "x/gpt-5-mini", &messages, false).await;
        assert!(!again.header("x-trestle-dropped").contains("thinking"), "{:?}", again.headers);
        let sent = bed.a.requests().last().unwrap().clone();
        keys.insert(sent.header("authorization").unwrap().to_owned());
        let reasoning = sent.json()["input"].to_string();
        assert!(reasoning.contains("encrypted_content") && !reasoning.contains("trestle"), "{reasoning}");
        let (elsewhere, _) = foreign_turn(&bed, "y/gpt-5-mini", &messages, false).await;
        assert!(elsewhere.header("x-trestle-dropped").contains("thinking"), "{:?}", elsewhere.headers);
    }
}
