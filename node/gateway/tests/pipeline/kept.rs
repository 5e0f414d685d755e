//! What providers keep: answers that are continued and got again, and batches. The upstream keeps for each key its own, so
//! a wrong route finds nothing.

#![allow(clippy::panic, reason = "a panic here is a failed test")]

use crate::support::{Bed, Whole, until, whole};
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use trestle_config::Derived;
use trestle_dialect::{Dialect, Stored};
use trestle_gateway::{Act, Client, Endpoint, RequestLine};

const RESPONSES: Endpoint = Endpoint::Generate(Dialect::OpenAiResponses);

const PROVIDERS: &str = "
providers:
  x: { base_url: '$A/v1', dialects: [openai-responses], keys: [{ name: k1, value: sk-1 }, { name: k2, value: sk-2 }] }
  y: { base_url: '$B/v1', dialects: [openai-responses], keys: [{ name: main, value: sk-y }] }
  m: { base_url: '$A/v1', like: anthropic, keys: [{ name: k1, value: sk-m1 }, { name: k2, value: sk-m2 }] }
  n: { base_url: '$B/v1', like: anthropic, keys: [{ name: main, value: sk-n }] }
models:
  group: { targets: [{ model: x/gpt-5-mini }, { model: y/gpt-5-mini }, { model: m/claude-sonnet-4-5 }] }
  fast: { strategy: ordered, targets: [{ model: n/claude-haiku-4-5 }], fallbacks: [m/claude-haiku-4-5] }
keys:
  one: { value: 'sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed' }
  two: { value: 'sha256:3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3' }
  few: { value: 'sha256:fa95e5080882f52bd40ccab2dee9c88c4d1fad7ad1093f93a0edcd8fb42d2bee', models: [fast, x/*] }
settings: { retries: { max: 0 } }
";

/// Gives the gateway its secrets, as a node with a key-encryption key has them.
pub(crate) fn derive(bed: &Bed, secret: u8) {
    let derived = Some(Derived { ids: [secret; 32], signatures: [0; 32] });
    bed.gateway.replace(trestle_config::Snapshot { derived, ..(*bed.gateway.snapshot()).clone() });
}

fn sealing() -> Bed {
    let bed = Bed::with_ledger(PROVIDERS);
    derive(&bed, 1);
    bed
}

pub(crate) fn client(bed: &Bed, who: &str) -> Client {
    bed.gateway.client(Some(who))
}

pub(crate) async fn send(client: &Client, line: &str, body: impl Into<Bytes>) -> Whole {
    let (method, path) = line.split_once(' ').unwrap();
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let line = RequestLine::find(&method, path).unwrap_or_else(|| panic!("{path}"));
    whole(client.send(line.unwrap(), HeaderMap::new(), body.into()).await.unwrap()).await
}

async fn create(client: &Client, body: Value) -> Whole {
    whole(client.send(RESPONSES, HeaderMap::new(), body.to_string().into()).await.unwrap()).await
}

pub(crate) fn id(answer: &Whole) -> String {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["id"].as_str().unwrap().to_owned()
}

/// All ids of the answer in a stream.
fn ids_of(answer: &Whole) -> BTreeSet<String> {
    let events = answer.data().into_iter().map(|data| serde_json::from_str::<Value>(&data).unwrap());
    events.filter_map(|event| Some(event["response"]["id"].as_str()?.to_owned())).collect()
}

#[tokio::test]
async fn a_conversation_stays_where_it_began() {
    let bed = sealing();
    let one = client(&bed, "one");
    let (mut routes, mut keys, mut turn) = (BTreeSet::new(), BTreeSet::new(), 0);
    // Until chance has drawn both providers and both keys.
    while routes.len() < 2 || keys.len() < 2 {
        turn += 1;
        assert!(turn < 200, "{routes:?} {keys:?}");
        let first = create(&one, json!({ "model": "group", "input": format!("Say {turn}") })).await;
        if first.header("x-trestle-provider") == "m" {
            continue;
        }
        let first_id = id(&first);
        assert!(first_id.starts_with("resp_") && !first_id.contains("00000000"), "{first_id}");
        routes.insert(first.header("x-trestle-provider").to_owned());
        let more = json!({ "model": "group", "input": "More", "previous_response_id": first_id });
        let second = create(&one, more.clone()).await;
        assert_eq!(second.json()["previous_response_id"], first_id, "{}", second.text());
        assert_eq!(second.header("x-trestle-provider"), first.header("x-trestle-provider"));
        assert!(
            second.json()["usage"]["input_tokens"].as_u64() > first.json()["usage"]["input_tokens"].as_u64()
        );
        let mut streamed = more;
        streamed["stream"] = json!(true);
        let third = create(&one, streamed).await;
        let [third_id] = &ids_of(&third).into_iter().collect::<Vec<_>>()[..] else {
            panic!("{}", third.text())
        };
        let got = send(&one, &format!("GET /v1/responses/{third_id}"), "").await;
        assert_eq!((id(&got), &got.json()["previous_response_id"]), (third_id.clone(), &json!(first_id)));
        keys.extend(bed.a.requests().last().and_then(|sent| Some(sent.header("authorization")?.to_owned())));
    }
    let tokens = json!({ "model": "x/gpt-5-mini", "input": "Hi" });
    let first = id(&create(&one, tokens.clone()).await);
    let counted = |previous: Option<&str>| {
        let mut body = tokens.clone();
        previous.into_iter().for_each(|previous| body["previous_response_id"] = json!(previous));
        body.to_string()
    };
    let alone = send(&one, "POST /v1/responses/input_tokens", counted(None)).await;
    let more = send(&one, "POST /v1/responses/input_tokens", counted(Some(&first))).await;
    assert!(more.json()["input_tokens"].as_u64() > alone.json()["input_tokens"].as_u64(), "{}", more.text());
}

#[tokio::test]
async fn what_is_kept_is_its_owners() {
    let bed = sealing();
    let (one, two) = (client(&bed, "one"), client(&bed, "two"));
    let kept = id(&create(&one, json!({ "model": "x/gpt-5-mini", "input": "Hi", "background": true })).await);
    let before = (bed.a.requests().len(), bed.b.requests().len());
    let forged = format!("{}A", &kept[..kept.len() - 1]);
    for (who, id) in [(&two, kept.as_str()), (&one, &forged), (&one, "resp_000"), (&one, "other")] {
        for line in ["GET /v1/responses/ID", "DELETE /v1/responses/ID", "POST /v1/responses/ID/cancel"] {
            let refused = send(who, &line.replace("ID", id), "").await;
            let expected = format!("Response with id '{id}' not found.");
            assert_eq!(
                (refused.status, &refused.json()["error"]["message"]),
                (StatusCode::NOT_FOUND, &json!(expected))
            );
        }
        let body = json!({ "model": "x/gpt-5-mini", "input": "Hi", "previous_response_id": id });
        let error = &create(who, body).await.json()["error"];
        assert_eq!(error["code"], "previous_response_not_found");
        assert_eq!(error["message"], format!("Previous response with id '{id}' not found."));
    }
    assert_eq!((bed.a.requests().len(), bed.b.requests().len()), before, "nobody is asked");
    let cancelled = send(&one, &format!("POST /v1/responses/{kept}/cancel"), "").await;
    assert_eq!((id(&cancelled), &cancelled.json()["status"]), (kept.clone(), &json!("cancelled")));
    let items = send(&one, &format!("GET /v1/responses/{kept}/input_items?limit=5"), "").await;
    assert_eq!(items.json()["data"][0]["content"][0]["text"], "Hi", "{}", items.text());
    assert!(bed.a.requests().last().unwrap().path.ends_with("/input_items?limit=5"));
    // A restart, or another node: the same secret finds the way; another one does not.
    let again = Bed::new(&PROVIDERS.replace("$A", &bed.a.url()).replace("$B", &bed.b.url()));
    derive(&again, 1);
    let got = send(&client(&again, "one"), &format!("GET /v1/responses/{kept}"), "").await;
    assert_eq!(id(&got), kept);
    derive(&again, 2);
    assert_eq!(send(&client(&again, "one"), &format!("GET /v1/responses/{kept}"), "").await.status, 404);
    // The vendor's own errors name the id that the client knows.
    let deleted = send(&one, &format!("DELETE /v1/responses/{kept}"), "").await;
    assert_eq!((id(&deleted), &deleted.json()["deleted"]), (kept.clone(), &json!(true)));
    let gone = send(&one, &format!("GET /v1/responses/{kept}"), "").await;
    assert_eq!(gone.status, 404);
    assert_eq!(gone.json()["error"]["message"], format!("Response with id '{kept}' not found."));
}

#[tokio::test]
async fn an_answer_in_the_background_is_told_again_as_a_stream() {
    let bed = sealing();
    let one = client(&bed, "one");
    let body = json!({ "model": "x/gpt-5-mini", "input": "Say it", "background": true, "stream": true });
    let streamed = create(&one, body).await;
    let kept = ids_of(&streamed).into_iter().next().unwrap();
    let again = send(&one, &format!("GET /v1/responses/{kept}?stream=true&starting_after=1"), "").await;
    assert_eq!((again.status, ids_of(&again).len()), (StatusCode::OK, 1), "{}", again.text());
    assert_eq!(again.data()[..], streamed.data()[2..], "the events from the third on");
    let plain = id(&create(&one, json!({ "model": "x/gpt-5-mini", "input": "Say it" })).await);
    let refused = send(&one, &format!("GET /v1/responses/{plain}?stream=true"), "").await;
    assert_eq!(refused.status, 400, "{}", refused.text());
}

#[tokio::test]
async fn a_route_that_fails_is_not_replaced() {
    let bed = sealing();
    let one = client(&bed, "one");
    let first = id(&create(&one, json!({ "model": "y/gpt-5-mini", "input": "Hi" })).await);
    let again = |model: &str| json!({ "model": model, "input": "More", "previous_response_id": first });
    for (failure, status) in
        [("status=503", 503), ("cause=context_length", 400), ("status=429,retry_after=9", 429)]
    {
        bed.a.clear();
        bed.b.script(None, &[failure]).unwrap();
        let failed = create(&one, again("group")).await;
        assert_eq!(failed.status.as_u16(), status, "{failure}: {}", failed.text());
        assert!(bed.a.requests().is_empty(), "nobody else is asked");
    }
    let other = create(&one, again("x/gpt-5-mini")).await;
    assert_eq!((other.status.as_u16(), &other.json()["error"]["param"]), (400, &json!("model")));
    assert!(other.text().contains("`y`"), "{}", other.text());
    let few = client(&bed, "few");
    let theirs = id(&create(&few, json!({ "model": "x/gpt-5-mini", "input": "Hi" })).await);
    let body = json!({ "model": "group", "input": "More", "previous_response_id": theirs });
    assert_eq!(create(&few, body).await.status, 200, "as far as it may");
    let conversation = json!({ "model": "y/gpt-5-mini", "input": "Hi", "conversation": "conv_1" });
    let refused = create(&one, conversation).await;
    assert_eq!((refused.status.as_u16(), &refused.json()["error"]["param"]), (400, &json!("conversation")));
}

#[tokio::test]
async fn without_a_secret_ids_go_on_where_one_route_can_have_given_them() {
    let bed = Bed::new(PROVIDERS);
    let one = client(&bed, "one");
    let first = id(&create(&one, json!({ "model": "y/gpt-5-mini", "input": "Hi" })).await);
    assert!(first.starts_with("resp_0000"), "as the vendor gave it: {first}");
    let body = json!({ "model": "y/gpt-5-mini", "input": "Hi", "previous_response_id": first });
    let refused = create(&one, body).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("key_encryption_key"), "{}", refused.text());
    assert_eq!(send(&one, &format!("GET /v1/responses/{first}"), "").await.status, 400);
    for line in ["POST /v1/batches", "POST /v1/messages/batches", "GET /v1/files/file-1"] {
        let refused = send(&one, line, "{}").await;
        assert!(refused.status == 400 && refused.text().contains("key_encryption_key"), "{}", refused.text());
    }
    let sole = Bed::new(
        "providers:\n  x: { base_url: '$A/v1', dialects: [openai-responses], keys: [{ name: k, value: sk-1 }] }\n",
    );
    let nobody = sole.gateway.client(None);
    let first = id(&create(&nobody, json!({ "model": "x/gpt-5-mini", "input": "Hi" })).await);
    let body = json!({ "model": "x/gpt-5-mini", "input": "Hi", "previous_response_id": first });
    assert_eq!(create(&nobody, body).await.json()["previous_response_id"], first);
    assert_eq!(id(&send(&nobody, &format!("GET /v1/responses/{first}"), "").await), first);
}

fn batch(models: &[&str]) -> String {
    let request = |(index, model): (usize, &&str)| {
        let messages = json!([{ "role": "user", "content": format!("Say {index}") }]);
        json!({ "custom_id": format!("c{index}"), "params": { "model": model, "max_tokens": 50, "messages": messages } })
    };
    json!({ "requests": models.iter().enumerate().map(request).collect::<Vec<_>>() }).to_string()
}

#[tokio::test]
async fn batches_of_anthropic_go_to_the_provider_that_has_their_models() {
    let bed = sealing();
    let one = client(&bed, "one");
    // The first provider of `fast` has not the second model, its fallback has both.
    let made = send(&one, "POST /v1/messages/batches", batch(&["fast", "m/claude-sonnet-4-5", "fast"])).await;
    let kept = id(&made);
    assert!(kept.starts_with("msgbatch_") && made.header("x-trestle-provider") == "m", "{kept}");
    let sent = bed.a.requests().last().unwrap().json();
    let models: Vec<_> = (0..3).map(|at| &sent["requests"][at]["params"]["model"]).collect();
    assert_eq!(models, ["claude-haiku-4-5", "claude-sonnet-4-5", "claude-haiku-4-5"]);
    assert_eq!(sent["requests"][1]["custom_id"], "c1");
    let early = send(&one, &format!("GET /v1/messages/batches/{kept}/results"), "").await;
    assert_eq!(early.status, 400, "{}", early.text());
    assert!(early.text().contains(&kept), "the vendor's error names the id of the client: {}", early.text());
    let got = send(&one, &format!("GET /v1/messages/batches/{kept}"), "").await;
    assert_eq!((id(&got), &got.json()["request_counts"]["succeeded"]), (kept.clone(), &json!(3)));
    assert_eq!(got.json()["results_url"], format!("/v1/messages/batches/{kept}/results"));
    let before = bed.tokens();
    let results = send(&one, &format!("GET /v1/messages/batches/{kept}/results"), "").await;
    let text = results.text();
    let used = text.lines().map(|line| {
        let usage = serde_json::from_str::<Value>(line).unwrap()["result"]["message"]["usage"].clone();
        usage["input_tokens"].as_u64().unwrap() + usage["output_tokens"].as_u64().unwrap()
    });
    let used = used.sum::<u64>() as f64;
    assert!(used > 0.0, "{text}");
    until("what it used is counted", || bed.tokens() - before == used).await;
    assert_eq!((results.status, results.text().lines().count()), (StatusCode::OK, 3), "{}", results.text());
    assert_eq!(results.header("content-type"), "application/x-jsonl");
    // The results of a batch cost what its requests did, at half of the price, however often they are got.
    let again = send(&one, &format!("GET /v1/messages/batches/{kept}/results"), "").await;
    assert_eq!(again.text(), text);
    let costs: Vec<_> = bed.lines().await.into_iter().filter(|line| line.batch).collect();
    let [refused, first, second] = &costs[..] else { panic!("{costs:?}") };
    assert_eq!((refused.status, refused.nano_usd, second.nano_usd), (400, 0, 0));
    let half = text.lines().map(|line| {
        let message = serde_json::from_str::<Value>(line).unwrap()["result"]["message"].clone();
        let count = |name: &str| message["usage"][name].as_u64().unwrap();
        let sonnet = message["model"].as_str().unwrap().starts_with("claude-sonnet");
        let (input, output) = if sonnet { (1_500, 7_500) } else { (500, 2_500) };
        count("input_tokens") * input + count("output_tokens") * output
    });
    assert_eq!(first.nano_usd, half.sum::<u64>());
    assert_eq!(bed.tokens() - before, used, "counted once, too");
    for who in [client(&bed, "two"), client(&bed, "few")] {
        for line in ["GET ID", "GET ID/results", "POST ID/cancel", "DELETE ID"] {
            let line = line.replace("ID", &format!("/v1/messages/batches/{kept}"));
            let refused = send(&who, &line, "").await;
            assert_eq!(
                (refused.status.as_u16(), &refused.json()["error"]["type"]),
                (404, &json!("not_found_error"))
            );
        }
    }
    let ended = send(&one, &format!("POST /v1/messages/batches/{kept}/cancel"), "").await;
    assert_eq!(ended.status, 400, "{}", ended.text());
    let deleted = send(&one, &format!("DELETE /v1/messages/batches/{kept}"), "").await;
    assert_eq!((id(&deleted), &deleted.json()["type"]), (kept, &json!("message_batch_deleted")));
    let running = id(&send(&one, "POST /v1/messages/batches", batch(&["fast"])).await);
    let cancelled = send(&one, &format!("POST /v1/messages/batches/{running}/cancel"), "").await;
    assert_eq!(cancelled.json()["processing_status"], "canceling", "{}", cancelled.text());
    // Inside of the process a line may come without an id: that is no way to a list.
    for act in [Act::Get, Act::Results, Act::Delete] {
        let line = Endpoint::Stored(Stored::MessageBatch, act);
        let refused = one.send(line, HeaderMap::new(), batch(&["fast"]).into()).await.unwrap();
        assert_eq!(refused.status, 404, "{act:?}");
    }
    let listed = send(&one, "GET /v1/messages/batches?limit=20", "").await;
    assert_eq!(listed.status, 404);
    assert!(listed.text().contains("lists are not offered"), "{}", listed.text());
}

#[tokio::test]
async fn a_batch_is_refused_whole() {
    let bed = sealing();
    let (one, few) = (client(&bed, "one"), client(&bed, "few"));
    for (who, models, status, why) in [
        (&one, &["m/a", "n/a"][..], 400, "from one provider"),
        (&one, &["m/a", "nobody/a"], 404, "there is no model"),
        (&one, &["x/a"], 400, "batches of this kind"),
        (&few, &["fast", "m/claude-sonnet-4-5"], 403, "may not use `m/claude-sonnet-4-5`"),
    ] {
        let refused = send(who, "POST /v1/messages/batches", batch(models)).await;
        assert_eq!(refused.status.as_u16(), status, "{models:?}: {}", refused.text());
        assert!(refused.text().contains(why), "{why}: {}", refused.text());
    }
    for body in
        ["{}", r#"{"requests":[]}"#, r#"{"requests":[{"params":{"model":"m/a","model":"n/a"}}]}"#, "[", ""]
    {
        let refused = send(&one, "POST /v1/messages/batches", body).await;
        assert_eq!(refused.status, 400, "{body}: {}", refused.text());
    }
    assert!(bed.a.requests().is_empty() && bed.b.requests().is_empty(), "nothing is sent");
    // Nobody knows whether it was made: it is not made again.
    let retrying = Bed::new(&PROVIDERS.replace("max: 0", "max: 2"));
    derive(&retrying, 1);
    retrying.b.script(None, &["status=500"]).unwrap();
    let failed = send(&client(&retrying, "one"), "POST /v1/messages/batches", batch(&["n/a"])).await;
    assert_eq!((failed.status.as_u16(), retrying.b.requests().len()), (502, 1), "{}", failed.text());
}

#[tokio::test]
async fn what_is_got_again_is_counted_once() {
    let bed = sealing();
    let one = client(&bed, "one");
    let kept = id(&create(&one, json!({ "model": "y/gpt-5-mini", "input": "Hi" })).await);
    until("tokens are counted", || bed.tokens() > 0.0).await;
    let before = bed.tokens();
    assert_eq!(send(&one, &format!("GET /v1/responses/{kept}"), "").await.status, 200);
    let counted = || {
        let text = bed.gateway.metrics();
        text.lines()
            .any(|line| line.starts_with("trestle_requests_total{endpoint=\"responses_get\",provider=\"y\""))
    };
    until("the request is counted", counted).await;
    assert_eq!(bed.tokens(), before, "its tokens were counted when it was made");
}
