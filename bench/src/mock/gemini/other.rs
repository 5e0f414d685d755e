//! Gemini's other endpoints: embeddings and models.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::super::vendor::{Reply, VendorError};
use super::ask::parts;
use super::contents::check_content;
use super::{generate::parse, shapes};

/// `POST /v1beta/models/{model}:embedContent`.
pub(crate) fn embed(model: &str, body: &[u8]) -> Result<Reply, VendorError> {
    let request = parse(body, &shapes::EMBED)?;
    Ok(Reply::Whole(json!({ "embedding": embedding(model, &request)? }).to_string()))
}

/// `POST /v1beta/models/{model}:batchEmbedContents`. Each of the requests names the model of the path.
pub(crate) fn batch_embed(model: &str, body: &[u8]) -> Result<Reply, VendorError> {
    let batch = parse(body, &shapes::BATCH_EMBED)?;
    let requests = batch.get("requests").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (at, request) in requests.iter().enumerate() {
        let named = request.get("model").and_then(Value::as_str).unwrap_or_default();
        if named != format!("models/{model}") {
            return Err(super::error::invalid(format!(
                "* BatchEmbedContentsRequest.requests[{at}].model: unexpected model name format: {named}, expected \
                 models/{model}\n"
            )));
        }
    }
    let embeddings =
        requests.iter().map(|request| embedding(model, request)).collect::<Result<Vec<_>, _>>()?;
    Ok(Reply::Whole(json!({ "embeddings": embeddings }).to_string()))
}

/// A vector that depends on the text alone.
fn embedding(model: &str, request: &Value) -> Result<Value, VendorError> {
    let content = request.get("content").unwrap_or(&Value::Null);
    check_content(model, content, "content")?;
    let text: String = parts(content).iter().filter_map(|part| part.get("text")?.as_str()).collect();
    let size = request.get("outputDimensionality").and_then(Value::as_u64).unwrap_or(3072);
    let digest = Sha256::digest(text.as_bytes());
    let bytes = digest.iter().cycle().zip(0..size);
    let values: Vec<f32> = bytes.map(|(byte, _)| (f32::from(*byte) - 127.5) / 1024.0).collect();
    Ok(json!({ "values": values }))
}

/// The models that the mock lists.
const MODELS: [&str; 3] = ["gemini-2.5-flash", "gemini-3-pro-preview", "gemini-embedding-001"];

/// `GET /v1beta/models`.
pub(crate) fn models() -> String {
    let models: Vec<_> = MODELS.into_iter().map(described).collect();
    json!({ "models": models }).to_string()
}

/// `GET /v1beta/models/{id}`.
pub(crate) fn model(id: &str) -> String {
    described(id).to_string()
}

fn described(id: &str) -> Value {
    let methods = if id.contains("embedding") {
        json!(["embedContent", "batchEmbedContents"])
    } else {
        json!(["generateContent", "countTokens"])
    };
    json!({
        "name": format!("models/{id}"),
        "version": "001",
        "displayName": id,
        "inputTokenLimit": 1_048_576,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": methods,
        "temperature": 1,
        "topP": 0.95,
        "topK": 64,
        "maxTemperature": 2,
    })
}
