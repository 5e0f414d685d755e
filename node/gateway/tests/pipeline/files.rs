//! Files and batches of OpenAI: uploaded as forms, kept for each key of the upstream, and found again by their owner alone.

#![allow(clippy::panic, reason = "a panic here is a failed test")]

use crate::{
    kept::{client, derive, id, send},
    support::{Bed, Whole, until, whole},
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use trestle_dialect::Stored;
use trestle_gateway::{Act, Client, Endpoint};

const PROVIDERS: &str = "
providers:
  a: { base_url: '$A/v1', like: openai, keys: [{ name: k1, value: sk-1 }, { name: k2, value: sk-2 }] }
  b: { base_url: '$B/v1', like: openai, keys: [{ name: main, value: sk-b }] }
  bare: { base_url: '$B/v1', dialects: [openai-chat], keys: [{ name: main, value: sk-bare }] }
models:
  m: { strategy: ordered, targets: [{ model: bare/gpt-4o-mini }, { model: b/gpt-4o-mini }] }
keys:
  one: { value: 'sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed' }
  two: { value: 'sha256:3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3' }
  few: { value: 'sha256:fa95e5080882f52bd40ccab2dee9c88c4d1fad7ad1093f93a0edcd8fb42d2bee', models: [m] }
settings: { retries: { max: 0 } }
";

fn sealing() -> Bed {
    let bed = Bed::new(PROVIDERS);
    derive(&bed, 1);
    bed
}

/// A form of these parts: name, name of the file or nothing, content.
fn form(parts: &[(&str, &str, &str)]) -> String {
    let part = |(name, file, content): &(&str, &str, &str)| {
        let file = if file.is_empty() { String::new() } else { format!("; filename=\"{file}\"") };
        format!("--edge\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n{content}\r\n")
    };
    format!("{}--edge--\r\n", parts.iter().map(part).collect::<String>())
}

async fn upload(client: &Client, headers: &[(&str, &str)], form: String) -> Whole {
    let mut map = HeaderMap::new();
    map.insert("content-type", HeaderValue::from_static("multipart/form-data; boundary=edge"));
    for (name, value) in headers {
        map.insert(HeaderName::try_from(*name).unwrap(), HeaderValue::try_from(*value).unwrap());
    }
    whole(client.send(Endpoint::Stored(Stored::File, Act::Create), map, form.into()).await.unwrap()).await
}

fn lines(models: &[&str]) -> String {
    let line = |(index, model): (usize, &&str)| {
        let body =
            json!({ "model": model, "messages": [{ "role": "user", "content": format!("Say {index}") }] });
        let custom = format!("c{index}");
        let line =
            json!({ "custom_id": custom, "method": "POST", "url": "/v1/chat/completions", "body": body });
        format!("{line}\n")
    };
    models.iter().enumerate().map(line).collect()
}

async fn input(client: &Client, models: &[&str]) -> Whole {
    let lines = lines(models);
    upload(client, &[], form(&[("purpose", "", "batch"), ("file", "in.jsonl", &lines)])).await
}

fn batch_of(file: &str) -> String {
    json!({ "input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h" })
        .to_string()
}

#[tokio::test]
async fn a_file_lies_where_it_was_sent() {
    let bed = sealing();
    let [one, two, few] = ["one", "two", "few"].map(|who| client(&bed, who));
    let plain = || form(&[("file", "a.txt", "hello"), ("purpose", "", "user_data")]);
    for (who, headers, provider) in
        [(&one, &[][..], "a"), (&one, &[("x-trestle-provider", "b")], "b"), (&few, &[], "b")]
    {
        let sent = upload(who, headers, plain()).await;
        let kept = id(&sent);
        assert_eq!(sent.header("x-trestle-provider"), provider);
        assert!(kept.starts_with("file-") && !kept.contains("00000000"), "{kept}");
        let got = send(who, &format!("GET /v1/files/{kept}"), "").await;
        assert_eq!((id(&got), &got.json()["filename"]), (kept.clone(), &json!("a.txt")));
        let content = send(who, &format!("GET /v1/files/{kept}/content"), "").await;
        assert_eq!(
            (content.text().as_str(), content.header("content-type")),
            ("hello", "application/octet-stream")
        );
        let sent = if provider == "a" { &bed.a } else { &bed.b }.requests().pop().unwrap();
        assert_eq!((sent.method.as_str(), sent.header("accept")), ("GET", Some("*/*")));
        assert_eq!((sent.header("content-type"), sent.header("content-length")), (None, None));
        for line in ["GET /v1/files/ID", "GET /v1/files/ID/content", "DELETE /v1/files/ID"] {
            let refused = send(&two, &line.replace("ID", &kept), "").await;
            let message = format!("No such File object: {kept}");
            assert_eq!(
                (refused.status.as_u16(), &refused.json()["error"]["message"]),
                (404, &json!(message))
            );
        }
        let batch = send(who, "POST /v1/batches", batch_of(&kept)).await;
        assert_eq!(batch.status, 404, "its requests were not looked at: {}", batch.text());
        let deleted = send(who, &format!("DELETE /v1/files/{kept}"), "").await;
        assert_eq!((id(&deleted), &deleted.json()["deleted"]), (kept, &json!(true)));
    }
    for (who, headers, status) in [(&few, "a", 403), (&one, "bare", 404), (&one, "nobody", 404)] {
        let refused = upload(who, &[("x-trestle-provider", headers)], plain()).await;
        assert_eq!(refused.status.as_u16(), status, "{headers}: {}", refused.text());
    }
    let listed = send(&one, "GET /v1/files?purpose=batch", "").await;
    assert!(listed.status == 404 && listed.text().contains("lists are not offered"), "{}", listed.text());
}

#[tokio::test]
async fn a_batch_runs_where_its_file_lies() {
    let bed = sealing();
    let [one, two] = ["one", "two"].map(|who| client(&bed, who));
    let sent = input(&one, &["m", "b/gpt-4o", "m"]).await;
    assert_eq!(sent.header("x-trestle-provider"), "b", "{}", sent.text());
    let file = id(&sent);
    let content = send(&one, &format!("GET /v1/files/{file}/content"), "").await;
    assert_eq!(content.text(), lines(&["gpt-4o-mini", "gpt-4o", "gpt-4o-mini"]));
    let made = send(&one, "POST /v1/batches", batch_of(&file)).await;
    let batch = id(&made);
    assert!(batch.starts_with("batch_") && made.json()["input_file_id"] == *file, "{}", made.text());
    let done = send(&one, &format!("GET /v1/batches/{batch}"), "").await;
    assert_eq!((id(&done), &done.json()["status"]), (batch.clone(), &json!("completed")));
    assert_eq!(done.json()["request_counts"], json!({ "total": 3, "completed": 3, "failed": 0 }));
    let output = done.json()["output_file_id"].as_str().unwrap().to_owned();
    let before = bed.tokens();
    let results = send(&one, &format!("GET /v1/files/{output}/content"), "").await;
    let text = results.text();
    let used = text.lines().map(|line| {
        let answer = serde_json::from_str::<Value>(line).unwrap()["response"]["body"].clone();
        answer["usage"]["total_tokens"].as_u64().unwrap()
    });
    let used = used.sum::<u64>() as f64;
    assert!(used > 0.0, "{text}");
    until("what it used is counted", || bed.tokens() - before == used).await;
    let first: Value = serde_json::from_str(results.text().lines().next().unwrap()).unwrap();
    assert_eq!(first["response"]["body"]["choices"][0]["message"]["content"], "Say 0", "{first}");
    assert_eq!(send(&one, "POST /v1/batches", batch_of(&output)).await.status, 404, "it is no input");
    for (who, line) in [(&two, "GET /v1/batches/ID"), (&two, "POST /v1/batches/ID/cancel")] {
        assert_eq!(send(who, &line.replace("ID", &batch), "").await.status, 404);
    }
    assert_eq!(send(&two, "POST /v1/batches", batch_of(&file)).await.status, 404);
    let late = send(&one, &format!("POST /v1/batches/{batch}/cancel"), "").await;
    assert_eq!(late.status, StatusCode::CONFLICT, "{}", late.text());
    // Each key of a provider keeps its own.
    let mut keys = BTreeSet::new();
    while keys.len() < 2 {
        assert!(bed.a.requests().len() < 800, "{keys:?}");
        let file = id(&input(&one, &["a/gpt-4o-mini"]).await);
        let batch = id(&send(&one, "POST /v1/batches", batch_of(&file)).await);
        let cancelled = send(&one, &format!("POST /v1/batches/{batch}/cancel"), "").await;
        assert_eq!(cancelled.json()["status"], "cancelling", "{}", cancelled.text());
        keys.extend(bed.a.requests().last().unwrap().header("authorization").map(str::to_owned));
    }
}

#[tokio::test]
async fn what_a_caller_may_not_use_is_in_no_file_of_it() {
    let bed = sealing();
    let (one, few) = (client(&bed, "one"), client(&bed, "few"));
    for (who, models, status, why) in [
        (&few, &["m", "b/gpt-4o"][..], 403, "line 2: this key may not use `b/gpt-4o`"),
        (&few, &["a/gpt-4o"], 403, "line 1: this key may not use"),
        (&one, &["a/gpt-4o", "m"], 400, "line 2: the models of a batch must be had from one provider"),
        (&one, &["a/gpt-4o", "nothing"], 404, "line 2: there is no model `nothing`"),
        (&one, &["bare/gpt-4o"], 400, "line 1: `bare/gpt-4o` is not had"),
        (&one, &[], 400, "no requests"),
    ] {
        let refused = input(who, models).await;
        assert_eq!(refused.status.as_u16(), status, "{models:?}: {}", refused.text());
        assert!(refused.text().contains(why), "{why}: {}", refused.text());
        assert_eq!(refused.json()["error"]["param"], "file");
    }
    let good = lines(&["a/gpt-4o"]);
    let purpose = ("purpose", "", "batch");
    for parts in [
        &[purpose, ("file", "f", "{\"body\":{\"model\":\"a/x\",\"model\":\"b/x\"}}")][..],
        &[purpose, purpose, ("file", "f", &good)],
        &[("purpose", "p", "batch"), ("file", "f", &good)],
        &[purpose, ("file", "f", &good), ("file", "g", &good)],
        &[purpose, ("file", "", &good)],
        &[purpose],
    ] {
        let refused = upload(&one, &[], form(parts)).await;
        assert_eq!(refused.status, 400, "{parts:?}: {}", refused.text());
    }
    let no_form = upload(&one, &[("content-type", "application/json")], "{}".to_owned()).await;
    assert!(no_form.status == 400 && no_form.text().contains("multipart/form-data"), "{}", no_form.text());
    // What is behind a large file and names a model is not sent on unseen.
    let padding = " ".repeat(2 << 20);
    let late = form(&[("model", "", "a/gpt-4o"), ("file", "f", &padding), ("purpose", "", "batch")]);
    let refused = upload(&few, &[], late).await;
    assert!(refused.status == 400 && refused.text().contains("no requests"), "{}", refused.text());
    assert!(bed.a.requests().is_empty() && bed.b.requests().is_empty(), "nothing is sent");
}

fn asks_of(files: &[&str], model: &str) -> Value {
    let part = |id: &&str| json!({ "type": "file", "file": { "file_id": id } });
    let mut content: Vec<_> = files.iter().map(part).collect();
    content.push(json!({ "type": "text", "text": "Say it" }));
    json!({ "model": model, "messages": [{ "role": "user", "content": content }] })
}

#[tokio::test]
async fn a_request_that_names_files_goes_to_where_they_lie() {
    let bed = sealing();
    let [one, two] = ["one", "two"].map(|who| client(&bed, who));
    let chat = |who: &Client, body: Value| {
        let (who, line) = (who.clone(), Endpoint::Generate(trestle_dialect::Dialect::OpenAiChat));
        async move { whole(who.send(line, HeaderMap::new(), body.to_string().into()).await.unwrap()).await }
    };
    let plain = || form(&[("file", "a.pdf", "hello"), ("purpose", "", "user_data")]);
    let mut keys = BTreeSet::new();
    while keys.len() < 2 {
        assert!(bed.a.requests().len() < 800, "{keys:?}");
        let file = id(&upload(&one, &[], plain()).await);
        let answer = chat(&one, asks_of(&[&file], "a/gpt-4o-mini")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let sent = bed.a.requests().last().unwrap().json();
        let named = sent["messages"][0]["content"][0]["file"]["file_id"].as_str().unwrap().to_owned();
        assert!(named.starts_with("file-0000"), "{named}");
        let input = json!([{ "role": "user", "content": [{ "type": "input_file", "file_id": file }] }]);
        let body = json!({ "model": "a/gpt-5-mini", "input": input });
        let line = Endpoint::Generate(trestle_dialect::Dialect::OpenAiResponses);
        let answer = whole(one.send(line, HeaderMap::new(), body.to_string().into()).await.unwrap()).await;
        let previous = id(&answer);
        assert_eq!(bed.a.requests().last().unwrap().json()["previous_response_id"], Value::Null);
        let more = json!({ "model": "a/gpt-5-mini", "input": input, "previous_response_id": previous });
        let answer = whole(one.send(line, HeaderMap::new(), more.to_string().into()).await.unwrap()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        keys.extend(bed.a.requests().last().unwrap().header("authorization").map(str::to_owned));
    }
    let at_b = id(&upload(&one, &[("x-trestle-provider", "b")], plain()).await);
    let at_a = id(&upload(&one, &[], plain()).await);
    // The first target of the group does not keep it, and is not asked.
    let answer = chat(&one, asks_of(&[&at_b], "m")).await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("x-trestle-provider")),
        (200, "b"),
        "{}",
        answer.text()
    );
    for (who, files, model, status, why) in [
        (&one, &[&*at_b][..], "a/gpt-4o", 400, "the provider `b` keeps"),
        (&one, &[&at_a, &at_b], "a/gpt-4o", 400, "lies with different providers or keys"),
        (&two, &[&at_b], "b/gpt-4o", 400, "No such File object"),
    ] {
        let refused = chat(who, asks_of(files, model)).await;
        assert_eq!(refused.status.as_u16(), status, "{}", refused.text());
        assert!(refused.text().contains(why), "{}", refused.text());
    }
    let own = chat(&one, asks_of(&["file-of-the-operator"], "b/gpt-4o")).await;
    assert_eq!(own.status, 200, "ids of the vendor go on as they are");
}
