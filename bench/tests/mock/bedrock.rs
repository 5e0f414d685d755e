//! Bedrock's shapes.

use aws_smithy_eventstream::frame::{DecodedFrame, MessageFrameDecoder};
use serde_json::{Value, json};
use trestle_bench::mock::{Mock, Options};

use crate::http::{Answer, send};

const MODEL: &str = "anthropic.claude-sonnet-4-5";
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn start() -> Mock {
    Mock::start(Options::default()).unwrap()
}

fn call(mock: &Mock, operation: &str, settings: &str, body: &Value) -> Answer {
    let headers = [("authorization", "Bearer k"), ("x-mock", settings)];
    send(mock, &format!("POST /model/{MODEL}/{operation}"), &headers, &body.to_string())
}

fn converse(mock: &Mock, settings: &str, body: &Value) -> Answer {
    call(mock, "converse", settings, body)
}

fn say(text: &str) -> Value {
    turns(json!([{"role": "user", "content": [{"text": text}]}]))
}

fn turns(messages: Value) -> Value {
    json!({ "messages": messages })
}

fn with(mut body: Value, more: Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn tools() -> Value {
    let spec =
        |name: &str, schema: Value| json!({"toolSpec": {"name": name, "inputSchema": {"json": schema}}});
    let weather = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    json!({"toolConfig": {"tools": [
        spec("weather", weather), spec("now", json!({"type": "object", "properties": {}})),
    ]}})
}

/// The messages of a stream: the names of their events or exceptions, and what they say.
fn events(answer: &Answer) -> Vec<(String, Value)> {
    let (mut decoder, mut bytes) = (MessageFrameDecoder::new(), &answer.body[..]);
    let mut found = Vec::new();
    while let DecodedFrame::Complete(message) = decoder.decode_frame(&mut bytes).unwrap() {
        let header = |name: &str| {
            let header = message.headers().iter().find(|header| header.name().as_str() == name);
            header.map(|header| header.value().as_string().unwrap().as_str().to_owned())
        };
        let name = header(":event-type").or_else(|| header(":exception-type")).unwrap();
        found.push((name, serde_json::from_slice(message.payload()).unwrap()));
    }
    assert!(bytes.is_empty(), "a message that is cut");
    found
}

#[test]
fn a_message_is_echoed_with_usage() {
    let answer = converse(&start(), "cached=2", &say("hello 🎉"));
    assert_eq!((answer.status, answer.complete), (200, true));
    assert!(answer.header("x-amzn-requestid").is_some());
    let body = answer.json();
    assert_eq!(body["output"]["message"], json!({"role": "assistant", "content": [{"text": "hello 🎉"}]}));
    assert_eq!(body["stopReason"], "end_turn");
    let usage = &body["usage"];
    assert_eq!((&usage["inputTokens"], &usage["cacheReadInputTokens"]), (&json!(5), &json!(2)));
    assert_eq!(usage["totalTokens"], 5 + 2 + 2);
}

#[test]
fn a_stream_has_the_lifecycle_of_the_vendor() {
    let mock = start();
    let names = |settings: &str, body: &Value| {
        let answer = call(&mock, "converse-stream", settings, body);
        assert_eq!(answer.header("content-type"), Some("application/vnd.amazon.eventstream"));
        events(&answer).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    let (first, start, delta, stop) =
        ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop");
    let (last, end) = ("messageStop", "metadata");
    assert_eq!(names("", &say("one two")), [first, delta, delta, stop, last, end]);
    // A tool without arguments gets one empty delta and nothing else.
    let empty = with(say("call empty tool"), tools());
    assert_eq!(names("", &empty), [first, start, delta, stop, last, end]);
    assert_eq!(names("error_event", &say("x")), [first, "serviceUnavailableException"]);
    assert_eq!(names("error_event_mid=1,status=429", &say("x y")), [first, delta, "throttlingException"]);
    assert_eq!(names("close_mid=1", &say("x y")), [first, delta]);
}

#[test]
fn tools_are_called_and_answered() {
    let mock = start();
    let first = converse(&mock, "", &with(say("call two tools"), tools())).json();
    assert_eq!(first["stopReason"], "tool_use");
    let message = &first["output"]["message"];
    let id = |at: usize| message["content"][at]["toolUse"]["toolUseId"].clone();
    let result =
        |id: Value, text: &str| json!({"toolResult": {"toolUseId": id, "content": [{"text": text}]}});
    let history = |results: Value| {
        let asked = json!({"role": "user", "content": [{"text": "call two tools"}]});
        with(turns(json!([asked, message, {"role": "user", "content": results}])), tools())
    };
    let both = history(json!([result(id(0), "sunny"), result(id(1), "noon")]));
    let body = converse(&mock, "", &both).json();
    assert_eq!(body["output"]["message"]["content"][0]["text"], "The tool said: sunny and noon", "{body}");
    let one = converse(&mock, "", &history(json!([result(id(0), "sunny")])));
    assert_eq!(one.status, 400);
    assert!(one.text().contains("Expected toolResult blocks at messages.2.content"), "{}", one.text());
}

#[test]
fn signatures_must_come_back_as_they_were() {
    let mock = start();
    let thinking =
        json!({"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}}});
    let first = converse(&mock, "", &with(say("think redacted"), thinking.clone())).json();
    let content = &first["output"]["message"]["content"];
    let again = |content: &Value| {
        let history = json!([
            {"role": "user", "content": [{"text": "x"}]},
            {"role": "assistant", "content": content},
            {"role": "user", "content": [{"text": "more"}]},
        ]);
        converse(&mock, "", &with(turns(history), thinking.clone()))
    };
    assert_eq!(again(content).status, 200);
    let mut changed = content.clone();
    changed[0]["reasoningContent"]["reasoningText"]["text"] = json!("another");
    assert!(again(&changed).text().contains("Invalid `signature`"), "{}", again(&changed).text());
    let mut changed = content.clone();
    changed[1]["reasoningContent"]["redactedContent"] = json!("QUJD");
    assert!(again(&changed).text().contains("Invalid `data`"), "{}", again(&changed).text());
}

#[test]
fn what_bedrock_refuses_is_refused() {
    let mock = start();
    let check = |body: Value, message: &str| {
        let answer = converse(&mock, "", &body);
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.header("x-amzn-errortype").unwrap().contains("Exception:http"), "{body}");
        let told = answer.json();
        assert!(told["message"].as_str().unwrap().contains(message), "{body}: {told}");
    };
    let block = |block: Value| turns(json!([{"role": "user", "content": [block]}]));
    check(json!({}), "must start with a user message");
    check(with(say("x"), json!({"stream": true})), "extraneous key [stream]");
    check(turns(json!([{"role": "king", "content": []}])), "enum value set");
    check(turns(json!([{"role": "user", "content": []}])), "is empty");
    check(turns(json!([{"role": "user"}])), "'messages.0.content'");
    check(block(json!({})), "must set one of the following keys: text");
    check(block(json!({"text": " "})), "is blank");
    check(block(json!({"text": 7})), "can not be converted");
    check(
        block(json!({"toolUse": {"toolUseId": "a", "name": "f", "input": {}}})),
        "only allowed in assistant",
    );
    let user = json!({"role": "user", "content": [{"text": "x"}]});
    check(turns(json!([user, user])), "must alternate");
    let image =
        |format: &str, bytes: &str| block(json!({"image": {"format": format, "source": {"bytes": bytes}}}));
    check(image("tiff", PNG), "enum value set");
    check(image("jpeg", PNG), "appears to be a image/png image");
    check(image("png", "AAAA"), "Could not process image");
    check(image("png", "%"), "Provide a base64-encoded string");
    let document =
        |name: &str| json!({"document": {"format": "txt", "name": name, "source": {"bytes": "YQ=="}}});
    let beside = |blocks: Value| turns(json!([{"role": "user", "content": blocks}]));
    check(beside(json!([document("a")])), "Include a text block");
    check(beside(json!([{"text": "x"}, document("a.b")])), "can only contain alphanumeric");
    check(beside(json!([{"text": "x"}, document("a"), document("a")])), "same name");
    let used = json!([user, {"role": "assistant", "content":
        [{"toolUse": {"toolUseId": "a", "name": "weather", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": "x"}]}}]}]);
    check(turns(used), "toolConfig field must be defined");
    check(with(say("x"), json!({"toolConfig": {"tools": []}})), "greater than or equal to 1");
    check(with(say("x"), json!({"inferenceConfig": {"temperature": 1.5}})), "less than or equal to 1");
    check(
        with(say("x"), json!({"additionalModelRequestFields": {"thinkng": {}}})),
        "thinkng: Extra inputs are not permitted",
    );
    let format = |schema: &str| {
        let structure = json!({"jsonSchema": {"schema": schema}});
        with(
            say("x"),
            json!({"outputConfig": {"textFormat": {"type": "json_schema", "structure": structure}}}),
        )
    };
    check(format("{\"type\":\"object\"}"), "'additionalProperties' must be explicitly set to false");
    check(format("{"), "not valid JSON");
}

#[test]
fn errors_and_keys_are_the_vendors() {
    let mock = start();
    let check = |settings: &str, status: u16, kind: &str| {
        let answer = converse(&mock, settings, &say("x"));
        let told = answer.header("x-amzn-errortype").unwrap().split(':').next().unwrap().to_owned();
        assert_eq!((answer.status, told.as_str()), (status, kind), "{settings}");
    };
    check("status=500", 500, "InternalServerException");
    check("status=429", 429, "ThrottlingException");
    check("status=503", 503, "ServiceUnavailableException");
    check("cause=quota", 400, "ServiceQuotaExceededException");
    check("cause=model_not_found", 404, "ResourceNotFoundException");
    check("cause=invalid_key", 403, "AccessDeniedException");
    let body = say("x").to_string();
    let status = |headers: &[(&str, &str)]| send(&mock, "POST /model/m/converse", headers, &body).status;
    let signed = "AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=ab";
    assert_eq!(status(&[]), 403);
    assert_eq!(status(&[("x-api-key", "k")]), 403);
    assert_eq!(status(&[("authorization", signed)]), 403);
    assert_eq!(status(&[("authorization", signed), ("x-amz-date", "20260101T000000Z")]), 200);
    assert_eq!(send(&mock, "POST /model/m/invoke", &[("authorization", "Bearer k")], &body).status, 404);
}
