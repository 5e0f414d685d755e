//! Streams of providers that speak OpenAI Responses (`r`) and Cohere v2 Chat (`c`), to clients of four dialects: the traps
//! that streams hold.

use crate::support::{Bed, CHAT, MESSAGES, Whole, chat, messages, until};
use serde_json::{Value, json};
use trestle_dialect::Dialect;
use trestle_gateway::Endpoint;

const RESPONSES: Endpoint = Endpoint::Generate(Dialect::OpenAiResponses);
const COHERE: Endpoint = Endpoint::Generate(Dialect::CohereChat);
const CLIENTS: [Endpoint; 4] = [CHAT, MESSAGES, RESPONSES, COHERE];

/// A model of each provider.
const MODELS: [&str; 2] = ["r/gpt-5-mini", "c/command-a-03-2025"];

fn bed(more: &str) -> Bed {
    let settings = if more.contains("settings:") {
        ""
    } else {
        "settings: { require_keys: false, retries: { max: 0 } }"
    };
    Bed::new(&format!(
        "providers:
  r: {{ base_url: '$A/v1', dialects: [openai-responses], keys: [{{ name: main, value: sk-r }}] }}
  c: {{ base_url: '$B/v2', like: cohere, keys: [{{ name: main, value: sk-c }}] }}
{settings}
{more}"
    ))
}

/// A streamed request of a client.
fn asks(client: Endpoint, model: &str, text: &str) -> Value {
    let mut body = match client {
        RESPONSES => json!({ "model": model, "input": text }),
        MESSAGES => messages(model),
        _ => chat(model),
    };
    if client != RESPONSES {
        body["messages"][0]["content"] = json!(text);
    }
    body["stream"] = json!(true);
    body
}

fn events(answer: &Whole) -> Vec<Value> {
    answer.data().iter().filter_map(|data| serde_json::from_str(data).ok()).collect()
}

/// The text of a stream, put together.
fn text_of(client: Endpoint, answer: &Whole) -> String {
    let said = |event: &Value| {
        let text = match client {
            RESPONSES if event["type"] == "response.output_text.delta" => &event["delta"],
            RESPONSES => &Value::Null,
            MESSAGES => &event["delta"]["text"],
            COHERE => &event["delta"]["message"]["content"]["text"],
            _ => &event["choices"][0]["delta"]["content"],
        };
        text.as_str().unwrap_or_default().to_owned()
    };
    events(answer).iter().map(said).collect()
}

/// How many proper ends and how many errors a stream has, in the client's own form.
fn ends(client: Endpoint, answer: &Whole) -> (usize, usize) {
    let count = |text: &str| answer.text().matches(text).count();
    match client {
        RESPONSES => {
            (count("event: response.completed"), count("event: error") + count("event: response.failed"))
        }
        MESSAGES => (count("event: message_stop"), count("event: error")),
        COHERE => (
            count("\"finish_reason\":\"COMPLETE\"") + count("\"finish_reason\":\"TOOL_CALL\""),
            count("\"finish_reason\":\"ERROR\""),
        ),
        _ => (count("data: [DONE]"), count("data: {\"error\":")),
    }
}

#[tokio::test]
async fn usage_is_counted_and_told_once_to_those_who_asked() {
    let bed = bed("");
    for model in MODELS {
        let before = bed.tokens();
        let plain = bed.ask(CHAT, &[], asks(CHAT, model, "one two").to_string()).await;
        assert!(!plain.text().contains("prompt_tokens"), "{}", plain.text());
        until("tokens are counted", || bed.tokens() > before).await;
        let mut body = asks(CHAT, model, "one two");
        body["stream_options"] = json!({ "include_usage": true });
        let told = bed.ask(CHAT, &[], body.to_string()).await;
        let with_usage: Vec<_> =
            events(&told).into_iter().filter(|event| event["usage"].is_object()).collect();
        assert_eq!(with_usage.len(), 1, "{}", told.text());
        assert_eq!(with_usage[0]["choices"], json!([]));
        for client in CLIENTS {
            let none =
                bed.ask(client, &[], asks(client, &format!("{model}+no_usage"), "one two").to_string()).await;
            assert_eq!(
                (text_of(client, &none).as_str(), ends(client, &none)),
                ("one two", (1, 0)),
                "{}",
                none.text()
            );
        }
    }
}

#[tokio::test]
async fn every_shape_of_the_grammar_comes_through() {
    let bed = bed("");
    let said = "Say 世界 and 🎉 é to me";
    for model in MODELS {
        for client in CLIENTS {
            for odd in ["", "crlf", "cr", "nospace", "comment", "dribble", "burst=10", "gzip", "br"] {
                let body = asks(client, &format!("{model}+{odd}"), said).to_string();
                let mut answer = bed.ask(client, &[], body).await;
                // Of the same dialect the bytes go on as they came.
                let plain = answer.text().replace("\r\n", "\n").replace('\r', "\n");
                answer.body = plain.replace("data:{", "data: {").replace("event:r", "event: r").into();
                assert_eq!(text_of(client, &answer), said, "{model} {odd}: {}", answer.text());
                assert_eq!(ends(client, &answer), (1, 0), "{model} {odd}: {}", answer.text());
                assert!(!answer.text().contains("data: :"), "{}", answer.text());
            }
        }
    }
    until("all are settled", || bed.metric("trestle_in_flight") == 0.0).await;
}

/// After the first content nothing may be forged: the client hears an error in its dialect and no end.
#[tokio::test]
async fn a_stream_that_breaks_ends_in_an_error_and_never_in_a_forged_end() {
    let bed = bed("settings: { require_keys: false, retries: { max: 0 }, timeouts: { idle_ms: 300 } }");
    let failures = [
        "reset_mid=2",
        "cut_mid=2",
        "close_mid=2",
        "silent_mid=2",
        "error_event_mid=2",
        "error_event_mid=2+cause=overloaded",
    ];
    for model in MODELS {
        for client in CLIENTS {
            for failure in failures {
                let model = format!("{model}+tokens=20+gap_ms=1+{failure}");
                let answer = bed.ask(client, &[], asks(client, &model, "x").to_string()).await;
                assert_eq!(answer.status, 200, "{model}: {}", answer.text());
                assert_eq!(text_of(client, &answer), "word0 word1 ", "{model}: {}", answer.text());
                assert_eq!(ends(client, &answer), (0, 1), "{model}: {}", answer.text());
            }
        }
    }
    until("all are settled", || bed.metric("trestle_in_flight") == 0.0).await;
}

/// Errors in a stream and silence before the first content: the next target answers, and nothing of the first is seen.
#[tokio::test]
async fn what_fails_before_its_content_moves_on() {
    for failing in ["error_event", "error_event+cause=overloaded", "silent", "keepalive+gap_ms=10"] {
        let target = |model: &str| {
            format!("{{ model: '{model}', retries: {{ max: 0 }}, timeouts: {{ first_token_ms: 300 }} }}")
        };
        let groups: Vec<_> = MODELS
            .iter()
            .zip(MODELS.iter().rev())
            .map(|(bad, good)| {
                let (first, second) = (target(&format!("{bad}+{failing}")), target(good));
                let both = target(&format!("{good}+{failing}"));
                let name = &bad[..1];
                format!(
                    "  {name}-first: {{ strategy: ordered, targets: [{first}, {second}] }}\n  \
                     {name}-both: {{ strategy: ordered, targets: [{first}, {both}] }}\n"
                )
            })
            .collect();
        let bed = bed(&format!("models:\n{}", groups.concat()));
        for (name, other) in [("r", "c"), ("c", "r")] {
            for client in CLIENTS {
                let answer =
                    bed.ask(client, &[], asks(client, &format!("{name}-first"), "hi").to_string()).await;
                assert_eq!(answer.header("x-trestle-provider"), other, "{failing}: {}", answer.text());
                assert_eq!((text_of(client, &answer).as_str(), ends(client, &answer)), ("hi", (1, 0)));
            }
        }
        // The lifecycle events of the first were held back, so both failures are an honest status.
        let answer = bed.ask(RESPONSES, &[], asks(RESPONSES, "r-both", "hi").to_string()).await;
        assert!(answer.status.as_u16() >= 500, "{failing}: {}", answer.text());
        assert!(!answer.text().contains("response.created"), "{}", answer.text());
    }
}

#[tokio::test]
async fn events_go_on_as_they_come() {
    let bed = bed("");
    for (model, mock) in MODELS.into_iter().zip([&bed.a, &bed.b]) {
        for client in CLIENTS {
            let body = asks(client, &format!("{model}+tokens=100000+gap_ms=20"), "x").to_string();
            let mut answer = bed.send(client, &[], body).await;
            let mut seen = String::new();
            while !seen.contains("word0") {
                seen += &String::from_utf8_lossy(&answer.chunk().await.unwrap().unwrap());
            }
            assert_eq!(mock.in_flight(), 1, "the first word is here before the last was sent");
            // Who leaves ends the call.
            drop(answer);
            until("the upstream call is aborted", || {
                mock.in_flight() == 0 && mock.requests().iter().all(|request| request.aborted)
            })
            .await;
        }
    }
    until("the slots are free", || bed.metric("trestle_provider_in_flight") == 0.0).await;
}

/// The tool that requests offer, in the client's form.
fn tools(client: Endpoint) -> Value {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    match client {
        RESPONSES => json!([{ "type": "function", "name": "weather", "parameters": schema }]),
        MESSAGES => json!([{ "name": "weather", "input_schema": schema }]),
        _ => json!([{ "type": "function", "function": { "name": "weather", "parameters": schema } }]),
    }
}

#[tokio::test]
async fn each_piece_of_arguments_goes_on_as_it_comes() {
    let bed = bed("");
    let city = format!("call tool {}", "x".repeat(4000));
    for (model, mock) in MODELS.into_iter().zip([&bed.a, &bed.b]) {
        for client in CLIENTS {
            let mut body = asks(client, &format!("{model}+gap_ms=5"), &city);
            body["tools"] = tools(client);
            let mut answer = bed.send(client, &[], body.to_string()).await;
            let (mut seen, mut pieces) = (String::new(), 0);
            while pieces < 3 {
                seen += &String::from_utf8_lossy(&answer.chunk().await.unwrap().unwrap());
                let deltas = ["\"arguments\":\"", "\"partial_json\":\"", "function_call_arguments.delta\n"];
                pieces = deltas.iter().map(|delta| seen.matches(delta).count()).max().unwrap();
            }
            assert_eq!(mock.in_flight(), 1, "pieces are here before the last was sent: {seen}");
            drop(answer);
            until("the upstream call has ended", || mock.in_flight() == 0).await;
        }
    }
}

/// One state machine a stream: numbers without gaps, indexes in order, whatever is opened is closed.
#[tokio::test]
async fn blocks_are_opened_and_closed_in_order() {
    let bed = bed("");
    for model in MODELS {
        let mut body = asks(RESPONSES, model, "call two tools with text");
        body["tools"] = tools(RESPONSES);
        let answer = bed.ask(RESPONSES, &[], body.to_string()).await;
        let mut open = Vec::new();
        for (number, event) in events(&answer).iter().enumerate() {
            assert_eq!(event["sequence_number"], number, "{event}");
            let at = &event["output_index"];
            match event["type"].as_str().unwrap() {
                "response.output_item.added" => open.push(at.clone()),
                "response.output_item.done" => assert!(open.contains(at), "{event}"),
                _ => assert!(at.is_null() || open.last() == Some(at), "{event}"),
            }
        }
        assert_eq!(open, [0, 1, 2], "{}", answer.text());

        let mut body = asks(COHERE, model, "call two tools with text");
        body["tools"] = tools(COHERE);
        let answer = bed.ask(COHERE, &[], body.to_string()).await;
        let kinds: Vec<_> =
            events(&answer).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
        let count = |kind: &str| kinds.iter().filter(|own| *own == kind).count();
        assert_eq!(["message-start", "message-end"].map(count), [1, 1], "{}", answer.text());
        assert_eq!(["content-start", "content-end"].map(count), [1, 1], "{}", answer.text());
        assert_eq!(["tool-call-start", "tool-call-end"].map(count), [2, 2], "{}", answer.text());
        let starts = events(&answer).into_iter().filter(|event| event["type"] == "tool-call-start");
        assert_eq!(starts.map(|event| event["index"].clone()).collect::<Vec<_>>(), [0, 1]);
    }
}
