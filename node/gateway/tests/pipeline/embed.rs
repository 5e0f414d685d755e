//! Embeddings: a client of any vendor, a provider of any vendor.

use crate::{
    embedder::Embedder,
    support::{Bed, Whole, only, whole},
};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use trestle_dialect::embed::Api;
use trestle_gateway::{Endpoint, Form, Named, RequestLine};

const OPENAI: Endpoint = Endpoint::Embed(Api::OpenAi);
const TITAN: &str = "aws/amazon.titan-embed-text-v2:0";
const NOVA: &str = "aws/amazon.nova-2-multimodal-embeddings-v1:0";
const COHERE_ON_BEDROCK: &str = "aws/cohere.embed-english-v3";

/// A gateway with the mock of OpenAI as `a`, and the embedder as `g`, `c` and `aws`.
fn bed(more: &str) -> (Bed, Embedder) {
    let embedder = Embedder::start();
    let document = format!(
        "
providers:
  a: {{ base_url: '$A/v1', dialects: [openai-chat], keys: [{{ name: main, value: sk }}] }}
  b: {{ base_url: '$B/v1', like: anthropic, keys: [{{ name: main, value: sk }}] }}
  g: {{ base_url: '$E/v1beta', dialects: [gemini], keys: [{{ name: main, value: sk }}], retries: {{ max: 0 }} }}
  c: {{ base_url: '$E/v2', dialects: [cohere-chat], keys: [{{ name: main, value: sk }}] }}
  aws: {{ base_url: '$E', dialects: [bedrock-converse], keys: [{{ name: main, value: sk }}] }}
{more}"
    );
    (Bed::new(&document.replace("$E", embedder.url())), embedder)
}

async fn named(bed: &Bed, api: Api, model: &str, body: &Value) -> Whole {
    let named = Some(Named { model: model.into(), stream: Some(false) });
    let line = RequestLine { named, form: Form::Array, ..Endpoint::Embed(api).into() };
    whole(bed.client.send(line, HeaderMap::new(), body.to_string().into()).await.unwrap()).await
}

async fn openai(bed: &Bed, body: Value) -> Whole {
    bed.ask(OPENAI, &[], body.to_string()).await
}

fn vectors(answer: &Whole) -> Value {
    let body = answer.json();
    assert_eq!(answer.status, 200, "{body}");
    body["data"].as_array().unwrap().iter().map(|item| item["embedding"].clone()).collect()
}

#[tokio::test]
async fn a_client_of_openai_is_served_by_every_vendor() {
    let (bed, embedder) = bed("");
    let mut tokens = 0.0;
    for (model, path, calls, cost) in [
        ("g/gemini-embedding-001", "/v1beta/models/gemini-embedding-001:batchEmbedContents", 1, 6),
        ("c/embed-v4.0", "/v2/embed", 1, 5),
        (TITAN, "/model/amazon.titan-embed-text-v2%3A0/invoke", 2, 4),
        (NOVA, "/model/amazon.nova-2-multimodal-embeddings-v1%3A0/invoke", 2, 8),
        (COHERE_ON_BEDROCK, "/model/cohere.embed-english-v3/invoke", 1, 4),
    ] {
        let answer =
            openai(&bed, json!({ "model": model, "input": ["abc", "x"], "encoding_format": "float" })).await;
        assert_eq!(vectors(&answer), json!([[3, 97], [1, 120]]), "{model}");
        let body = answer.json();
        assert_eq!((&body["object"], &body["model"]), (&json!("list"), &json!(model)));
        assert_eq!(body["usage"], json!({ "prompt_tokens": cost, "total_tokens": cost }), "{model}");
        let seen = embedder.seen();
        assert_eq!(seen.len(), calls, "{model}");
        assert!(seen.iter().all(|(at, _)| at == path), "{seen:?}");
        tokens += f64::from(cost);
        assert_eq!(bed.tokens(), tokens, "{model}");
    }
    // As the vendor's own client asks by default.
    let answer = openai(&bed, json!({ "model": "g/m", "input": "abc", "encoding_format": "base64" })).await;
    assert_eq!(vectors(&answer), json!(["AABAQAAAwkI="]));
}

#[tokio::test]
async fn clients_of_every_vendor_are_served_by_openai() {
    let (bed, _embedder) = bed("models: { embed: { targets: [{ model: a/text-embedding-3-small }] } }");
    let content = |text: &str| json!({ "parts": [{ "text": text }] });
    let one = json!({ "content": content("abc"), "taskType": "RETRIEVAL_QUERY", "outputDimensionality": 2 });
    let answer = named(&bed, Api::Gemini, "embed", &one).await;
    assert_eq!(answer.json()["embedding"]["values"].as_array().unwrap().len(), 2, "{}", answer.text());
    assert!(answer.json()["usageMetadata"]["promptTokenCount"].as_u64().unwrap() > 0);
    assert_eq!(answer.header("x-trestle-dropped"), "taskType");
    assert_eq!(
        only(&bed.a).json(),
        json!({ "model": "text-embedding-3-small", "input": "abc", "dimensions": 2 })
    );
    bed.a.clear();

    let batch = json!({ "requests": [{ "model": "models/embed", "content": content("a") }, { "model": "models/embed", "content": content("b") }] });
    let answer = named(&bed, Api::GeminiBatch, "embed", &batch).await;
    assert_eq!(answer.json()["embeddings"].as_array().unwrap().len(), 2, "{}", answer.text());

    let cohere = json!({ "model": "embed", "texts": ["a", "b"], "input_type": "search_query", "embedding_types": ["base64"], "output_dimension": 2 });
    let answer = bed.ask(Endpoint::Embed(Api::Cohere), &[], cohere.to_string()).await;
    let body = answer.json();
    assert_eq!(
        (body["embeddings"]["base64"].as_array().unwrap().len(), &body["texts"]),
        (2, &json!(["a", "b"]))
    );
    assert!(body["meta"]["billed_units"]["input_tokens"].as_u64().unwrap() > 0);

    let titan = json!({ "inputText": "abc", "dimensions": 2, "normalize": true });
    let answer = named(&bed, Api::Bedrock, "embed", &titan).await;
    assert_eq!(answer.json()["embedding"].as_array().unwrap().len(), 2, "{}", answer.text());
    assert!(answer.json()["inputTextTokenCount"].as_u64().unwrap() > 0);
    assert_eq!(answer.header("x-trestle-dropped"), "");

    let nova = json!({ "taskType": "SINGLE_EMBEDDING", "singleEmbeddingParams": {
        "embeddingPurpose": "GENERIC_INDEX", "embeddingDimension": 2, "text": { "truncationMode": "NONE", "value": "abc" } } });
    let answer = named(&bed, Api::Bedrock, "embed", &nova).await;
    assert_eq!(answer.json()["embeddings"][0]["embedding"].as_array().unwrap().len(), 2, "{}", answer.text());

    let on_bedrock = json!({ "texts": ["a"], "input_type": "search_document" });
    let answer = named(&bed, Api::Bedrock, "embed", &on_bedrock).await;
    assert_eq!(answer.json()["response_type"], "embeddings_floats", "{}", answer.text());
    // There the count stands beside the body.
    assert!(answer.header("x-amzn-bedrock-input-token-count").parse::<u64>().unwrap() > 0);
}

#[tokio::test]
async fn the_same_vendor_gets_the_bytes_but_for_the_model() {
    let (bed, embedder) = bed(
        "models: { e: { targets: [{ model: g/gemini-embedding-001 }] }, t: { targets: [{ model: 'aws/amazon.titan-embed-text-v2:0' }] } }",
    );
    let send = async |api, model: &str, body: &str| {
        let named = Some(Named { model: model.into(), stream: Some(false) });
        let line = RequestLine { named, ..Endpoint::Embed(api).into() };
        let answer =
            whole(bed.client.send(line, HeaderMap::new(), body.to_owned().into()).await.unwrap()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let (path, body) = embedder.seen().remove(0);
        (path, String::from_utf8(body).unwrap())
    };
    let batch = r#"{"requests": [ {"content":{"parts":[{"text":"caf\u00e9"}]}, "model":"models/e"} ] }"#;
    let (path, sent) = send(Api::GeminiBatch, "e", batch).await;
    assert_eq!(path, "/v1beta/models/gemini-embedding-001:batchEmbedContents");
    assert_eq!(sent, batch.replace("models/e", "models/gemini-embedding-001"));
    let one = r#"{"content":{"parts":[{"text":"a"}]},"x":1.0}"#;
    assert_eq!(
        send(Api::Gemini, "e", one).await,
        ("/v1beta/models/gemini-embedding-001:embedContent".into(), one.into())
    );
    let titan = r#"{ "inputText" : "a" , "x":1.0}"#;
    assert_eq!(send(Api::Bedrock, "t", titan).await.1, titan);
    assert_eq!(bed.tokens(), 8.0);
    // The name tells nothing, and the client knows what it asks.
    let unknown = r#"{"texts":["a"],"input_type":"search_query"}"#;
    assert_eq!(send(Api::Bedrock, "aws/my-profile", unknown).await.1, unknown);
    // Another family of the same vendor.
    let (path, sent) = send(Api::Bedrock, NOVA, titan).await;
    assert!(path.contains("nova") && sent.contains("singleEmbeddingParams"), "{path} {sent}");
}

#[tokio::test]
async fn many_inputs_take_several_calls_within_a_bound() {
    let (bed, embedder) = bed("");
    let many: Vec<String> = (0..100).map(|i| "x".repeat(i + 1)).collect();
    for (model, calls) in [("c/embed-v4.0", 2), ("g/m", 1), (TITAN, 100)] {
        let answer = openai(&bed, json!({ "model": model, "input": many, "encoding_format": "float" })).await;
        let vectors = vectors(&answer);
        let lengths: Vec<_> =
            vectors.as_array().unwrap().iter().map(|vector| vector[0].as_u64().unwrap()).collect();
        assert_eq!(lengths, (1..=100).collect::<Vec<_>>(), "{model}");
        assert_eq!(embedder.seen().len(), calls, "{model}");
        assert_eq!(answer.header("x-trestle-attempts"), "1");
    }
    let answer = openai(&bed, json!({ "model": TITAN, "input": vec!["x"; 129] })).await;
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("129 of them would take too many calls"), "{}", answer.text());
    assert_eq!(answer.json()["error"]["param"], "input");
    assert!(embedder.seen().is_empty());
}

#[tokio::test]
async fn what_a_target_cannot_be_told_goes_to_the_next_or_is_refused() {
    let (bed, embedder) = bed(
        "models: { any: { strategy: ordered, targets: [{ model: c/embed-v4.0 }, { model: a/text-embedding-3-small }] } }",
    );
    let tokens = json!([[1, 2], [3]]);
    let answer = openai(&bed, json!({ "model": "any", "input": tokens, "encoding_format": "float" })).await;
    assert_eq!(vectors(&answer).as_array().unwrap().len(), 2);
    assert_eq!(answer.header("x-trestle-model"), "text-embedding-3-small");
    assert_eq!(only(&bed.a).json()["input"], tokens);
    let answer = openai(&bed, json!({ "model": "c/embed-v4.0", "input": tokens })).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["error"]["param"]), (400, &json!("input")));
    assert!(answer.text().contains("numbers of tokens"), "{}", answer.text());
    for (model, what) in [
        ("b/claude-sonnet-4-5", "does not offer embeddings"),
        ("mock/echo", "does not offer embeddings"),
        ("aws/anthropic.claude-sonnet-4-5", "does not tell which model"),
    ] {
        let answer = openai(&bed, json!({ "model": model, "input": "a" })).await;
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(answer.text().contains(what), "{}", answer.text());
    }
    assert!(embedder.seen().is_empty());
}

#[tokio::test]
async fn a_strict_request_is_told_whole_or_not_at_all() {
    let (bed, embedder) = bed(
        "models: { any: { strategy: ordered, targets: [{ model: c/embed-v4.0 }, { model: a/text-embedding-3-small }] } }",
    );
    let body = json!({ "model": "any", "input": "a", "user": "u" }).to_string();
    let answer = bed.ask(OPENAI, &[], body.clone()).await;
    assert_eq!(
        (answer.header("x-trestle-model"), answer.header("x-trestle-dropped")),
        ("embed-v4.0", "user")
    );
    let answer = bed.ask(OPENAI, &[("x-trestle-strict", "true")], body.clone()).await;
    assert_eq!(answer.header("x-trestle-model"), "text-embedding-3-small", "{}", answer.text());
    let answer = bed.ask(OPENAI, &[("x-trestle-strict", "true")], body.replace("any", "c/x")).await;
    assert!(answer.status == 400 && answer.text().contains("cannot be told user"), "{}", answer.text());
    // What every vendor needs is said in its own words.
    assert_eq!(
        embedder.bodies()[0],
        json!({ "model": "embed-v4.0", "texts": ["a"], "input_type": "search_document", "embedding_types": ["float"] })
    );
}

#[tokio::test]
async fn errors_are_told_in_the_shape_of_the_client() {
    let (bed, _embedder) = bed("");
    // What makes no sense to us.
    let answer = named(&bed, Api::Bedrock, "aws/x", &json!({ "messages": [] })).await;
    assert_eq!(answer.json()["__type"], "ValidationException", "{}", answer.text());
    let answer = named(&bed, Api::GeminiBatch, "a/x", &json!({ "requests": [{}] })).await;
    assert_eq!(answer.json()["error"]["status"], "INVALID_ARGUMENT", "{}", answer.text());
    assert!(answer.text().contains("requests[0].content"), "{}", answer.text());
    let answer =
        bed.ask(Endpoint::Embed(Api::Cohere), &[], json!({ "model": "a/x", "texts": 1 }).to_string()).await;
    assert!(
        answer.json()["message"].as_str().unwrap().contains("`texts` must be an array"),
        "{}",
        answer.text()
    );
    // What the upstream says, in its own shape and in another's.
    let empty = json!({ "model": "c/embed-v4.0", "images": ["data:,"] }).to_string();
    let own = bed.ask(Endpoint::Embed(Api::Cohere), &[], empty).await;
    assert_eq!((own.status.as_u16(), own.json()["id"].as_str()), (400, Some("e-1")), "{}", own.text());
    let wrong = json!({ "requests": [{ "content": { "parts": [{ "text": "a" }] } }] });
    let own = named(&bed, Api::GeminiBatch, "g/m", &wrong).await;
    assert_eq!(own.json()["error"]["message"], "model does not match", "{}", own.text());
    let titan = json!({ "inputText": "a" });
    let answer = named(&bed, Api::Bedrock, "a/m+status=400", &titan).await;
    assert!(answer.status == 400 && answer.json()["__type"].is_string(), "{}", answer.text());
    // An answer without a vector for each input is none.
    let answer = openai(&bed, json!({ "model": "g/broken", "input": ["a", "b"] })).await;
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert!(answer.text().contains("a vector for each input"), "{}", answer.text());
}

#[tokio::test]
async fn a_large_answer_of_the_same_vendor_goes_on_in_parts_and_is_metered() {
    let (bed, _embedder) = bed("");
    let body = json!({ "model": "c/large", "texts": ["a"], "input_type": "search_query", "embedding_types": ["float"] });
    let answer = bed.ask(Endpoint::Embed(Api::Cohere), &[], body.to_string()).await;
    assert!(answer.body.len() > 1 << 20 && answer.json()["id"] == "c-1");
    assert_eq!(bed.tokens(), 5.0);
    let answer = openai(&bed, json!({ "model": "c/large", "input": "a", "encoding_format": "float" })).await;
    assert_eq!(vectors(&answer)[0].as_array().unwrap().len(), 150_000);
}

#[tokio::test]
async fn embeddings_are_never_streamed() {
    let (bed, _embedder) = bed("");
    let mut headers = HeaderMap::new();
    headers.insert(HeaderName::from_static("accept"), HeaderValue::from_static("text/event-stream"));
    let answer = openai(&bed, json!({ "model": "c/embed-v4.0", "input": "a", "stream": true })).await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/json"));
    assert_eq!(answer.header("x-trestle-dropped"), "stream");
}
