//! What goes wrong with streams in the field, for the dialects whose paths name the model: Gemini and Bedrock Converse,
//! each as the client's and as the provider's.

use crate::support::{Bed, Whole, until, whole};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;
use trestle_dialect::Dialect;
use trestle_gateway::{Answered, Endpoint, Form, Named, RequestLine};

const DIALECTS: [Dialect; 4] =
    [Dialect::OpenAiChat, Dialect::AnthropicMessages, Dialect::Gemini, Dialect::BedrockConverse];

const PROVIDERS: &str = "
providers:
  a: { base_url: '$A/v1', dialects: [openai-chat], keys: [{ name: main, value: sk }] }
  b: { base_url: '$B/v1', like: anthropic, keys: [{ name: main, value: sk }] }
  g: { base_url: '$A/v1beta', like: gemini, keys: [{ name: main, value: sk }] }
  r: { base_url: '$B', dialects: [bedrock-converse], keys: [{ name: main, value: sk }] }
";

/// A model of each provider of this file, and one of each of the others.
const OWN: [&str; 2] = ["g/gemini-2.5-flash", "r/anthropic.claude-sonnet-4-5"];
const ALL: [&str; 4] = ["a/gpt-4o-mini", "b/claude-sonnet-4-5", OWN[0], OWN[1]];

/// Every pair of which one side is of these dialects.
fn pairs() -> impl Iterator<Item = (Dialect, &'static str)> {
    let pairs = DIALECTS.into_iter().flat_map(|dialect| ALL.map(|model| (dialect, model)));
    pairs.filter(|(dialect, model)| dialect.model_in_path() || OWN.contains(model))
}

fn bed(rest: &str) -> Bed {
    Bed::new(&format!("{PROVIDERS}{rest}"))
}

/// What somebody says to a model, with a tool at hand.
fn body(dialect: Dialect, model: &str, text: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    match dialect {
        Dialect::Gemini => json!({
            "contents": [{"role": "user", "parts": [{"text": text}]}],
            "tools": [{"functionDeclarations": [{"name": "weather", "parametersJsonSchema": schema}]}],
        }),
        Dialect::BedrockConverse => json!({
            "messages": [{"role": "user", "content": [{"text": text}]}],
            "toolConfig": {"tools": [{"toolSpec": {"name": "weather", "inputSchema": {"json": schema}}}]},
        }),
        Dialect::AnthropicMessages => json!({
            "model": model, "max_tokens": 100_000, "stream": true, "messages": [{"role": "user", "content": text}],
            "tools": [{"name": "weather", "input_schema": schema}],
        }),
        _ => json!({
            "model": model, "stream": true, "messages": [{"role": "user", "content": text}],
            "tools": [{"type": "function", "function": {"name": "weather", "parameters": schema}}],
        }),
    }
}

async fn open(bed: &Bed, dialect: Dialect, model: &str, body: Value) -> Answered {
    let named = Named { model: model.into(), stream: Some(true) };
    let named = Some(named).filter(|_| dialect.model_in_path());
    let line = RequestLine { named, ..Endpoint::Generate(dialect).into() };
    bed.client.send(line, HeaderMap::new(), body.to_string().into()).await.unwrap()
}

async fn stream(bed: &Bed, dialect: Dialect, model: &str, text: &str) -> Read {
    read(dialect, whole(open(bed, dialect, model, body(dialect, model, text)).await).await)
}

/// A streamed answer, as far as these tests look.
#[derive(Debug)]
struct Read {
    status: StatusCode,
    headers: HeaderMap,
    shown: String,
    text: String,
    /// Pieces of a tool's arguments.
    arguments: Vec<String>,
    starts: usize,
    ends: usize,
    usages: usize,
    errors: usize,
}

fn read(dialect: Dialect, answer: Whole) -> Read {
    let mut read = Read {
        status: answer.status,
        shown: answer.text(),
        headers: answer.headers,
        text: String::new(),
        arguments: Vec::new(),
        starts: 0,
        ends: 0,
        usages: 0,
        errors: 0,
    };
    if !answer.status.is_success() {
        return read;
    }
    for event in dialect.framing().events(&answer.body) {
        let Some(data) = event.data.filter(|data| !data.is_empty()) else { continue };
        if &*data == b"[DONE]" {
            read.ends += 1;
            continue;
        }
        let value: Value = serde_json::from_slice(&data).unwrap();
        let name = std::str::from_utf8(event.name).unwrap();
        match dialect {
            Dialect::Gemini => gemini(&value, &mut read),
            Dialect::BedrockConverse => bedrock(name, &value, &mut read),
            Dialect::AnthropicMessages => anthropic(&value, &mut read),
            _ => openai(&value, &mut read),
        }
    }
    read
}

fn add(value: &Value, to: &mut String) {
    to.push_str(value.as_str().unwrap_or_default());
}

fn gemini(value: &Value, read: &mut Read) {
    read.errors += usize::from(value.get("error").is_some());
    let candidate = &value["candidates"][0];
    for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
        add(&part["text"], &mut read.text);
        read.arguments.extend(part.get("functionCall").map(|call| call["args"].to_string()));
    }
    read.ends += usize::from(candidate.get("finishReason").is_some());
    // The vendor repeats it with each event.
    read.usages = read.usages.max(usize::from(value.get("usageMetadata").is_some()));
    read.starts = 1;
}

fn bedrock(name: &str, value: &Value, read: &mut Read) {
    match name {
        "messageStart" => read.starts += 1,
        "contentBlockDelta" => {
            add(&value["delta"]["text"], &mut read.text);
            let input = value.pointer("/delta/toolUse/input").and_then(Value::as_str);
            read.arguments.extend(input.filter(|input| !input.is_empty()).map(str::to_owned));
        }
        "messageStop" => read.ends += 1,
        "metadata" => read.usages += 1,
        name => read.errors += usize::from(name.ends_with("Exception")),
    }
}

fn anthropic(value: &Value, read: &mut Read) {
    match value["type"].as_str().unwrap_or_default() {
        "message_start" => read.starts += 1,
        "content_block_delta" => {
            add(&value["delta"]["text"], &mut read.text);
            let input = value.pointer("/delta/partial_json").and_then(Value::as_str);
            read.arguments.extend(input.filter(|input| !input.is_empty()).map(str::to_owned));
        }
        "message_delta" => read.usages += usize::from(value["usage"]["output_tokens"].is_u64()),
        "message_stop" => read.ends += 1,
        "error" => read.errors += 1,
        _ => {}
    }
}

fn openai(value: &Value, read: &mut Read) {
    read.errors += usize::from(value.get("error").is_some());
    read.usages += usize::from(value["usage"].is_object());
    for choice in value["choices"].as_array().into_iter().flatten() {
        read.starts += usize::from(choice["delta"]["role"].is_string());
        add(&choice["delta"]["content"], &mut read.text);
        let arguments = choice.pointer("/delta/tool_calls/0/function/arguments").and_then(Value::as_str);
        read.arguments.extend(arguments.filter(|text| !text.is_empty()).map(str::to_owned));
    }
}

/// S1, S2, S3, S16: one start, one end, usage once, whether or not the upstream told it.
#[tokio::test]
async fn a_stream_is_well_formed_and_metered() {
    let bed = bed("");
    for (dialect, model) in pairs() {
        let before = bed.tokens();
        let read = stream(&bed, dialect, model, "one two three").await;
        assert_eq!(
            (read.text.as_str(), read.starts, read.ends, read.errors),
            ("one two three", 1, 1, 0),
            "{read:?}"
        );
        // A client of OpenAI did not ask for it.
        let wanted = usize::from(dialect != Dialect::OpenAiChat);
        assert_eq!(read.usages, wanted, "{dialect:?} {model}: {read:?}");
        until("tokens are counted", || bed.tokens() > before).await;
        let read = stream(&bed, dialect, &format!("{model}+no_usage"), "one two three").await;
        assert_eq!((read.text.as_str(), read.ends), ("one two three", 1), "{dialect:?} {model}: {read:?}");
    }
}

/// S4, S5, S6, S7, S12: whatever the upstream's form, every letter arrives.
#[tokio::test]
async fn every_form_of_the_upstreams_framing_comes_through() {
    let bed = bed("");
    for (dialect, model) in pairs() {
        let forms: &[&str] = match model {
            "r/anthropic.claude-sonnet-4-5" => &["dribble", "burst=10", "gzip"],
            _ => &["crlf", "cr", "nospace", "comment", "dribble", "burst=10", "gzip"],
        };
        for form in forms {
            let read = stream(&bed, dialect, &format!("{model}+{form}"), "say 世界 🎉").await;
            assert_eq!(
                (read.text.as_str(), read.ends),
                ("say 世界 🎉", 1),
                "{form} {dialect:?} {model}: {read:?}"
            );
        }
    }
}

/// S8, S9, S10, S13, S14: what fails before its first content moves on, and the client sees one stream.
#[tokio::test]
async fn a_stream_that_fails_before_its_content_moves_on() {
    for failing in ["error_event", "keepalive", "silent", "status=503", "cause=quota"] {
        let group = |at: usize, model: &str| {
            format!(
                "  m{at}: {{ strategy: ordered, targets: [{{ model: '{model}+{failing}', retries: {{ max: 0 }},
                     timeouts: {{ first_token_ms: 300 }} }}, {{ model: {} }}] }}\n",
                if model == OWN[0] { OWN[1] } else { OWN[0] }
            )
        };
        let groups: String = ALL.into_iter().enumerate().map(|(at, model)| group(at, model)).collect();
        for dialect in DIALECTS {
            // A key that is out of money is left out for a while, so each dialect gets its own bed.
            let bed = bed(&format!("models:\n{groups}"));
            for (at, model) in ALL.into_iter().enumerate() {
                if failing == "cause=quota" && !OWN.contains(&model) {
                    continue;
                }
                let read = stream(&bed, dialect, &format!("m{at}"), "one two").await;
                assert_eq!(
                    read.headers["x-trestle-attempts"], "2",
                    "{failing} {dialect:?} {model}: {read:?}"
                );
                assert_eq!(
                    (read.text.as_str(), read.starts, read.ends),
                    ("one two", 1, 1),
                    "{failing}: {read:?}"
                );
                if failing == "cause=quota" {
                    break;
                }
            }
        }
    }
}

/// S11: an error in the client's own words, and never a forged end.
#[tokio::test]
async fn a_stream_that_breaks_ends_in_an_error_and_never_in_a_forged_end() {
    let bed = bed("settings: { require_keys: false, timeouts: { idle_ms: 300 } }");
    for (dialect, model) in pairs() {
        for broken in ["reset_mid=2", "cut_mid=2", "close_mid=2", "silent_mid=2", "error_event_mid=2"] {
            let model = format!("{model}+tokens=20+gap_ms=2+{broken}");
            let read = stream(&bed, dialect, &model, "x").await;
            assert_eq!(read.status, 200);
            assert_eq!(
                (read.text.as_str(), read.ends, read.errors),
                ("word0 word1 ", 0, 1),
                "{model}: {read:?}"
            );
        }
    }
}

/// S12, S15: the first event goes on at once, and whoever leaves ends the call.
#[tokio::test]
async fn a_client_gets_the_first_event_at_once_and_may_leave() {
    let bed = bed("");
    for (dialect, model) in pairs() {
        let model = format!("{model}+tokens=1000+gap_ms=1000");
        let mut answer = open(&bed, dialect, &model, body(dialect, &model, "x")).await;
        let first = tokio::time::timeout(Duration::from_secs(20), answer.chunk()).await.expect("held back");
        assert!(!first.unwrap().unwrap().is_empty());
        drop(answer);
        until("the upstream call is aborted", || bed.a.in_flight() + bed.b.in_flight() == 0).await;
    }
    assert!([&bed.a, &bed.b].iter().all(|mock| mock.requests().iter().all(|request| request.aborted)));
    until("all are settled", || bed.metric("trestle_in_flight") == 0.0).await;
}

/// S17: each piece of a tool's arguments goes on as it comes, where both sides tell them in pieces.
#[tokio::test]
async fn arguments_are_passed_on_piece_by_piece() {
    let bed = bed("");
    for (dialect, model) in pairs() {
        let read = stream(&bed, dialect, model, "call tool for a city with a long name").await;
        let whole: Value = serde_json::from_str(&read.arguments.concat()).unwrap();
        assert_eq!(whole["city"], "call tool for a city with a long name");
        let in_pieces = dialect != Dialect::Gemini && !model.starts_with("g/");
        assert_eq!(read.arguments.len() > 4, in_pieces, "{dialect:?} {model}: {read:?}");
    }
}

/// The elements of an array instead of events, to the error that ends it.
#[tokio::test]
async fn an_array_is_whole_even_where_the_stream_breaks() {
    let bed = bed("settings: { require_keys: false, timeouts: { idle_ms: 300 } }");
    for model in ALL {
        for (settings, elements) in [("tokens=3", None), ("tokens=9+gap_ms=2+cut_mid=2", Some(3))] {
            let named = Named { model: format!("{model}+{settings}").into(), stream: Some(true) };
            let line = RequestLine {
                named: Some(named),
                form: Form::Array,
                ..Endpoint::Generate(Dialect::Gemini).into()
            };
            let asked = body(Dialect::Gemini, model, "x").to_string();
            let answer = whole(bed.client.send(line, HeaderMap::new(), asked.into()).await.unwrap()).await;
            assert_eq!(answer.header("content-type"), "application/json");
            let array = answer.json();
            let last = array.as_array().unwrap().last().unwrap();
            match elements {
                None => assert_eq!(last["candidates"][0]["finishReason"], "STOP", "{array}"),
                Some(count) => {
                    assert_eq!(array.as_array().unwrap().len(), count, "{array}");
                    assert!(last["error"]["message"].is_string(), "{array}");
                }
            }
        }
    }
}

/// Clients of Amazon choose their exception by a header, and its words come from a header as well.
#[tokio::test]
async fn errors_have_the_type_that_clients_of_amazon_look_for() {
    let bed = bed("settings: { require_keys: false, retries: { max: 0 } }");
    for (settings, status, kind) in [
        ("cause=context_length", 400, "ValidationException"),
        ("cause=model_not_found", 404, "ResourceNotFoundException"),
        // A failure of the provider is ours to tell: 502, whatever its own status.
        ("status=424", 502, "InternalServerException"),
        ("status=500", 502, "InternalServerException"),
        ("cause=overloaded", 503, "ServiceUnavailableException"),
        ("status=429", 429, "ThrottlingException"),
    ] {
        let model = format!("{}+{settings}", OWN[1]);
        let read = stream(&bed, Dialect::BedrockConverse, &model, "x").await;
        let told = read.headers.get("x-amzn-errortype").map(|kind| kind.to_str().unwrap());
        assert_eq!((read.status.as_u16(), told), (status, Some(kind)), "{settings}: {}", read.shown);
        let other = stream(&bed, Dialect::Gemini, &format!("{}+{settings}", ALL[0]), "x").await;
        assert!(!other.headers.contains_key("x-amzn-errortype"));
    }
}
