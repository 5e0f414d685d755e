//! A small upstream that embeds as Gemini, Cohere and Bedrock do, as far as these tests ask; shares no code with the
//! gateway. The vector of a text is its length and its first byte.

use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

/// What came in: the path, and the body as it was.
pub(crate) type Seen = (String, Vec<u8>);

/// The upstream. Its threads end with the test's process.
pub(crate) struct Embedder {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Embedder {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let log = Arc::clone(&log);
                std::thread::spawn(move || serve(stream.unwrap(), &log));
            }
        });
        Self { url, seen }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What came in since the last look.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }

    /// The bodies of it.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.seen().iter().map(|(_, body)| serde_json::from_slice(body).unwrap()).collect()
    }
}

fn serve(mut stream: TcpStream, log: &Mutex<Vec<Seen>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let (mut path, mut length) = (None, 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            match line.split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.parse().unwrap();
                }
                Some(_) => {}
                None => path = line.split(' ').nth(1).map(str::to_owned),
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let path = path.unwrap();
        let (status, header, answer) = match serde_json::from_slice(&body) {
            Ok(asked) => answer(&path, &asked),
            Err(_) => (400, "", json!({ "message": "not JSON" })),
        };
        log.lock().unwrap().push((path, body));
        let answer = answer.to_string();
        // In one piece: the second of two would wait for the client's acknowledgement of the first.
        let whole = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{header}content-length: {}\r\n\r\n{answer}",
            answer.len()
        );
        if stream.write_all(whole.as_bytes()).is_err() {
            return;
        }
    }
}

type Answer = (u16, &'static str, Value);

fn vector(text: &str) -> Value {
    json!([text.len(), text.bytes().next().unwrap_or(0)])
}

fn answer(path: &str, asked: &Value) -> Answer {
    if path.contains("broken") {
        return (200, "", json!({ "embeddings": [{ "values": [1] }], "usageMetadata": {} }));
    }
    let model = |path: &str| path.rsplit('/').nth(1).unwrap_or_default().to_owned();
    match path.rsplit(['/', ':']).next() {
        Some("batchEmbedContents") => gemini(path, asked),
        Some("embedContent") => {
            (200, "", json!({ "embedding": one_gemini(asked), "usageMetadata": { "promptTokenCount": 3 } }))
        }
        Some("embed") => cohere(asked),
        Some("invoke") => bedrock(&model(path), asked),
        _ => (404, "", json!({ "message": "no such path" })),
    }
}

fn one_gemini(asked: &Value) -> Value {
    json!({ "values": vector(asked["content"]["parts"][0]["text"].as_str().unwrap()) })
}

/// Every request must name the model of the path.
fn gemini(path: &str, asked: &Value) -> Answer {
    let name = path.rsplit_once('/').unwrap().1.split(':').next().unwrap();
    let requests = asked["requests"].as_array().unwrap();
    if requests.iter().any(|request| request["model"] != format!("models/{name}")) {
        let error = json!({ "code": 400, "message": "model does not match", "status": "INVALID_ARGUMENT" });
        return (400, "", json!({ "error": error }));
    }
    let list: Vec<_> = requests.iter().map(one_gemini).collect();
    (200, "", json!({ "embeddings": list, "usageMetadata": { "promptTokenCount": 3 * list.len() } }))
}

fn texts(asked: &Value) -> Vec<Value> {
    asked["texts"].as_array().unwrap().iter().map(|text| vector(text.as_str().unwrap())).collect()
}

fn cohere(asked: &Value) -> Answer {
    for needed in ["model", "texts", "input_type", "embedding_types"] {
        if asked.get(needed).is_none() {
            return (
                400,
                "",
                json!({ "id": "e-1", "message": format!("invalid request: {needed} is required") }),
            );
        }
    }
    let mut list = texts(asked);
    if list.len() > 96 {
        return (400, "", json!({ "id": "e-1", "message": "invalid request: too many texts" }));
    }
    if asked["model"] == "large" {
        list = vec![json!(vec![0.123_456_789; 150_000])];
    }
    let answer = json!({
        "id": "c-1", "embeddings": { "float": list }, "response_type": "embeddings_by_type",
        "meta": { "api_version": { "version": "2" }, "billed_units": { "input_tokens": 5 } },
    });
    (200, "", answer)
}

fn bedrock(model: &str, asked: &Value) -> Answer {
    const COUNT: &str = "X-Amzn-Bedrock-Input-Token-Count: 4\r\n";
    if model.contains("titan") {
        let Some(text) = asked["inputText"].as_str() else {
            return (
                400,
                "",
                json!({ "message": "Malformed input request: #: required key [inputText] not found" }),
            );
        };
        return (200, "", json!({ "embedding": vector(text), "inputTextTokenCount": 2 }));
    }
    if model.contains("nova") {
        let text = &asked["singleEmbeddingParams"]["text"];
        assert!(text["truncationMode"].is_string() && asked["taskType"] == "SINGLE_EMBEDDING");
        let vector = vector(text["value"].as_str().unwrap());
        return (200, COUNT, json!({ "embeddings": [{ "embeddingType": "TEXT", "embedding": vector }] }));
    }
    let list = texts(asked);
    let (list, kind) = match asked.get("embedding_types") {
        None => (json!(list), "embeddings_floats"),
        Some(_) => (json!({ "float": list }), "embeddings_by_type"),
    };
    (200, COUNT, json!({ "id": "b-1", "texts": asked["texts"], "embeddings": list, "response_type": kind }))
}
