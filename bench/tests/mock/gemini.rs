//! Gemini's shapes.

use serde_json::{Value, json};
use trestle_bench::mock::{Mock, Options};

use crate::http::{Answer, send};

const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const OLD: &str = "gemini-2.5-flash";
const NEW: &str = "gemini-3-pro-preview";

fn start() -> Mock {
    Mock::start(Options::default()).unwrap()
}

fn call(mock: &Mock, operation: &str, settings: &str, body: &Value) -> Answer {
    let headers = [("x-goog-api-key", "k"), ("x-mock", settings)];
    send(mock, &format!("POST /v1beta/models/{operation}"), &headers, &body.to_string())
}

fn generate(mock: &Mock, model: &str, body: &Value) -> Answer {
    call(mock, &format!("{model}:generateContent"), "", body)
}

fn say(text: &str) -> Value {
    json!({"contents": [{"role": "user", "parts": [{"text": text}]}]})
}

fn with(mut body: Value, more: Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn tools() -> Value {
    let city = json!({"type": "OBJECT", "properties": {"city": {"type": "STRING"}}});
    json!({"tools": [{"functionDeclarations": [{"name": "weather", "parameters": city}, {"name": "now"}]}]})
}

#[test]
fn a_content_is_echoed_with_usage() {
    let answer = call(&start(), &format!("{OLD}:generateContent"), "cached=2", &say("hello 🎉"));
    assert_eq!((answer.status, answer.complete), (200, true));
    let body = answer.json();
    let candidate = json!({"content": {"parts": [{"text": "hello 🎉"}], "role": "model"}, "finishReason": "STOP", "index": 0});
    assert_eq!(body["candidates"], json!([candidate]));
    assert_eq!((&body["modelVersion"], body["responseId"].is_string()), (&json!(OLD), true));
    let usage = &body["usageMetadata"];
    assert_eq!((&usage["promptTokenCount"], &usage["cachedContentTokenCount"]), (&json!(7), &json!(2)));
    assert_eq!(usage["totalTokenCount"], 7 + 2);
}

#[test]
fn names_and_words_are_read_as_the_vendor_does() {
    let body = json!({"contents": {"parts": {"text": "one two three"}}, "system_instruction": {"parts": [{"text": "s"}]},
        "generation_config": {"max_output_tokens": "1", "thinking_config": null}});
    let answer = generate(&start(), OLD, &body).json();
    assert_eq!(answer["candidates"][0]["content"]["parts"][0]["text"], "one ", "{answer}");
    assert_eq!(answer["candidates"][0]["finishReason"], "MAX_TOKENS");
}

#[test]
fn a_stream_comes_as_events_or_as_an_array() {
    let mock = start();
    let texts = |chunks: &[Value]| -> String {
        let text = |chunk: &Value| chunk["candidates"][0]["content"]["parts"][0]["text"].clone();
        chunks.iter().map(|chunk| text(chunk).as_str().unwrap().to_owned()).collect()
    };
    let events = call(&mock, &format!("{OLD}:streamGenerateContent?alt=sse"), "", &say("one two"));
    assert_eq!(events.header("content-type"), Some("text/event-stream; charset=utf-8"));
    let chunks: Vec<Value> = events.events().iter().map(|data| serde_json::from_str(data).unwrap()).collect();
    assert_eq!((texts(&chunks).as_str(), chunks.len()), ("one two", 3));
    assert_eq!(chunks[2]["candidates"][0]["finishReason"], "STOP");
    let array =
        |settings: &str| call(&mock, &format!("{OLD}:streamGenerateContent"), settings, &say("one two"));
    let whole = array("burst=2");
    assert!(whole.header("content-type").unwrap().starts_with("application/json"));
    assert_eq!(texts(whole.json().as_array().unwrap()), "one two");
    assert_eq!(array("error_event").json()[0]["error"]["status"], "UNAVAILABLE");
    assert_eq!(array("error_event_mid=1").json().as_array().unwrap().len(), 2);
    let cut = array("close_mid=1");
    assert!(cut.complete && serde_json::from_slice::<Value>(&cut.body).is_err());
}

#[test]
fn calls_of_newer_models_are_signed_and_must_come_back_so() {
    let mock = start();
    let first = |model: &str| generate(&mock, model, &with(say("call two tools"), tools())).json();
    let content = first(NEW)["candidates"][0]["content"].clone();
    let parts = content["parts"].as_array().unwrap();
    assert!(parts[0]["thoughtSignature"].is_string() && parts[1].get("thoughtSignature").is_none());
    assert!(parts[0]["functionCall"]["id"].is_string());
    assert!(first(OLD)["candidates"][0]["content"]["parts"][0].get("thoughtSignature").is_none());
    let history = |content: &Value, names: &[&str]| {
        let response =
            |name: &&str| json!({"functionResponse": {"name": name, "response": {"result": "noon"}}});
        let parts: Vec<_> = names.iter().map(response).collect();
        let asked = json!({"role": "user", "parts": [{"text": "call two tools"}]});
        with(json!({"contents": [asked, content, {"role": "user", "parts": parts}]}), tools())
    };
    let check = |content: &Value, names: &[&str], message: &str| {
        let answer = generate(&mock, NEW, &history(content, names));
        assert!(answer.text().contains(message), "{}", answer.text());
    };
    check(&content, &["weather", "now"], "The tool said: noon and noon");
    check(&content, &["weather"], "number of function response parts is equal");
    check(&content, &["weather", "clock"], "clock was not called");
    let mut unsigned = content.clone();
    unsigned["parts"][0].as_object_mut().unwrap().remove("thoughtSignature");
    check(&unsigned, &["weather", "now"], "missing a thought_signature");
    let mut other = content.clone();
    other["parts"][0]["functionCall"]["args"] = json!({"city": "another"});
    check(&other, &["weather", "now"], "Corrupted thought signature");
    unsigned["parts"][0]["thoughtSignature"] = json!("skip_thought_signature_validator");
    check(&unsigned, &["weather", "now"], "The tool said");
}

#[test]
fn what_gemini_refuses_is_refused() {
    let mock = start();
    let check = |body: Value, message: &str| {
        let answer = generate(&mock, OLD, &body);
        let error = &answer.json()["error"];
        assert_eq!(
            (answer.status, &error["code"], &error["status"]),
            (400, &json!(400), &json!("INVALID_ARGUMENT"))
        );
        assert!(error["message"].as_str().unwrap().contains(message), "{body}: {error}");
    };
    check(json!({}), "contents is not specified");
    check(with(say("x"), json!({"stream": true})), "Unknown name \"stream\": Cannot find field.");
    let part = |part: Value| json!({"contents": [{"role": "user", "parts": [part]}]});
    check(part(json!({"txt": "x"})), "Unknown name \"txt\" at 'contents[0].parts[0]': Cannot find field.");
    check(part(json!({"text": 7})), "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 7");
    check(part(json!({})), "contents[0].parts[0].data: required oneof field");
    check(part(json!({"text": "x", "functionCall": {"name": "f"}})), "oneof field 'data' is already set");
    check(json!({"contents": [{"role": "user", "parts": []}]}), "parts must not be empty");
    check(json!({"contents": [{"role": "king", "parts": [{"text": "x"}]}]}), "valid role: user, model");
    let image = |kind: &str, data: &str| part(json!({"inlineData": {"mimeType": kind, "data": data}}));
    check(image("image/jpeg", PNG), "Unable to process input image");
    check(image("image/png", "%"), "Base64 decoding failed");
    let answered = json!({"functionResponse": {"name": "f", "response": {}}});
    check(part(answered), "function response turn comes immediately after a function call turn");
    let function = |function: Value| with(say("x"), json!({"tools": [{"functionDeclarations": [function]}]}));
    check(function(json!({"name": "1"})), "Invalid function name");
    let parameters = |schema: Value| function(json!({"name": "f", "parameters": schema}));
    check(parameters(json!({"type": "OBJECT", "properties": {}})), "should be non-empty for OBJECT type");
    check(
        parameters(
            json!({"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "additionalProperties": false}),
        ),
        "Unknown name \"additionalProperties\" at 'tools[0].functionDeclarations[0].parameters'",
    );
    check(
        function(json!({"name": "f", "parametersJsonSchema": {"type": "object", "$schema": "x"}})),
        "Unknown name \"$schema\"",
    );
    let config = |config: Value| with(say("x"), json!({ "generationConfig": config }));
    check(config(json!({"temperature": 3})), "generationConfig.temperature");
    check(config(json!({"responseSchema": {"type": "STRING"}})), "only allowed when response_mime_type");
    check(config(json!({"stopSequences": ["a", "b", "c", "d", "e", "f"]})), "at most 5");
    check(config(json!({"thinkingConfig": {"thinkingLevel": "LOW"}})), "Thinking level is not supported");
    check(config(json!({"thinkingConfig": {"thinkingBudget": 99999}})), "between 0 and 24576");
    let json_with_tools =
        with(tools(), json!({"generationConfig": {"responseMimeType": "application/json"}}));
    check(with(say("x"), json_with_tools), "is unsupported");
    let chosen =
        json!({"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}});
    check(with(with(say("x"), tools()), chosen), "not in function_declarations");
}

#[test]
fn errors_and_keys_are_the_vendors() {
    let mock = start();
    let check = |settings: &str, status: u16, word: &str, detail: &str| {
        let answer = call(&mock, &format!("{OLD}:generateContent"), settings, &say("x"));
        let error = &answer.json()["error"];
        assert_eq!((answer.status, error["status"].as_str().unwrap()), (status, word), "{settings}");
        assert!(answer.text().contains(detail), "{}", answer.text());
    };
    check("status=500", 500, "INTERNAL", "");
    check("status=503", 503, "UNAVAILABLE", "overloaded");
    check("status=429", 429, "RESOURCE_EXHAUSTED", "PerMinute");
    check("cause=quota", 429, "RESOURCE_EXHAUSTED", "PerDay");
    check("cause=invalid_key", 400, "INVALID_ARGUMENT", "API_KEY_INVALID");
    check("cause=model_not_found", 404, "NOT_FOUND", "models/gemini-2.5-flash is not found");
    let body = say("x").to_string();
    let path = format!("POST /v1beta/models/{OLD}:generateContent");
    assert_eq!(send(&mock, &path, &[], &body).status, 403);
    assert_eq!(send(&mock, &path, &[("x-api-key", "k")], &body).status, 403);
    assert_eq!(send(&mock, &format!("{path}?key=k"), &[], &body).status, 200);
    let limited = format!("{path}?key=mock:status=429");
    assert_eq!(send(&mock, &limited, &[], &body).status, 429);
    assert_eq!(
        send(&mock, &format!("POST /v1beta/models/{OLD}+status=500:generateContent?key=k"), &[], &body)
            .status,
        500
    );
}

#[test]
fn tokens_are_counted_and_texts_embedded() {
    let mock = start();
    let counted = call(&mock, &format!("{OLD}:countTokens"), "", &say("hello"));
    assert_eq!(counted.json()["totalTokens"], 6);
    let request = |model: &str| json!({"model": model, "content": {"parts": [{"text": "a"}]}, "outputDimensionality": 8});
    let one = call(&mock, "e:embedContent", "", &request("models/e")).json();
    let batch = |model: &str| call(&mock, "e:batchEmbedContents", "", &json!({"requests": [request(model)]}));
    assert_eq!(batch("models/e").json()["embeddings"][0], one["embedding"]);
    assert_eq!(one["embedding"]["values"].as_array().unwrap().len(), 8);
    assert!(batch("models/other").text().contains("unexpected model name format"));
    let key = [("x-goog-api-key", "k")];
    let listed = send(&mock, "GET /v1beta/models?pageSize=50", &key, "").json();
    assert_eq!(listed["models"][0]["name"], "models/gemini-2.5-flash");
    assert_eq!(send(&mock, "GET /v1beta/models/x", &key, "").json()["name"], "models/x");
}
