//! Cohere's other endpoints: embed, rerank.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::super::vendor::{Reply, VendorError, fresh_id, token_count};
use super::check::{Members, model, only};
use super::endpoints::parse;
use super::error::{invalid, wrong_type};

/// Most texts in one call.
const TEXTS_MAX: usize = 96;

const INPUT_TYPES: &[&str] = &["search_document", "search_query", "classification", "clustering", "image"];
const EMBEDDING_TYPES: &[&str] = &["float", "int8", "uint8", "binary", "ubinary", "base64"];

/// `POST /v2/embed`.
pub(crate) fn embed(body: &[u8]) -> Result<Reply, VendorError> {
    let body = parse(body)?;
    let members = members(&body)?;
    let known = [
        "model",
        "input_type",
        "texts",
        "images",
        "inputs",
        "max_tokens",
        "output_dimension",
        "embedding_types",
        "truncate",
        "priority",
    ];
    only(members, &known, "embed")?;
    model(members)?;
    let input_type = members.get("input_type").and_then(Value::as_str).unwrap_or_default();
    if !INPUT_TYPES.contains(&input_type) {
        return Err(invalid("valid input_type must be provided with the provided model"));
    }
    let texts = strings(members, "texts")?;
    let images = strings(members, "images")?;
    let count = texts.len() + images.len();
    if count == 0 && !members.contains_key("inputs") {
        return Err(invalid("one of texts, images or inputs must be provided"));
    }
    if count > TEXTS_MAX {
        return Err(invalid(format!("total number of texts must be at most {TEXTS_MAX} - received {count}")));
    }
    let types = strings(members, "embedding_types")?;
    if let Some(unknown) = types.iter().find(|kind| !EMBEDDING_TYPES.contains(kind)) {
        return Err(invalid(format!("embedding type '{unknown}' is not valid")));
    }
    let size = members.get("output_dimension").and_then(Value::as_u64).unwrap_or(8).clamp(1, 1536);
    let floats: Vec<_> = texts.iter().chain(&images).map(|text| vector(text, size)).collect();
    let embeddings: serde_json::Map<_, _> = if types.is_empty() { vec!["float"] } else { types }
        .into_iter()
        .map(|kind| (kind.to_owned(), of_type(kind, &floats)))
        .collect();
    let tokens: usize = texts.iter().map(|text| token_count(text)).sum();
    Ok(Reply::Whole(
        json!({
            "id": fresh_id("e0ffee00-"), "texts": texts, "embeddings": embeddings,
            "meta": { "api_version": { "version": "2" }, "billed_units": { "input_tokens": tokens } },
            "response_type": "embeddings_by_type",
        })
        .to_string(),
    ))
}

fn of_type(kind: &str, floats: &[Vec<f32>]) -> Value {
    if kind == "float" {
        return json!(floats);
    }
    let sign = |number: &f32| if *number < 0.0 { 0 } else { 1 };
    json!(floats.iter().map(|vector| vector.iter().map(sign).collect::<Vec<_>>()).collect::<Vec<_>>())
}

/// A vector that depends on the text alone.
fn vector(text: &str, size: u64) -> Vec<f32> {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().cycle().zip(0..size).map(|(byte, _)| (f32::from(*byte) - 127.5) / 1024.0).collect()
}

/// `POST /v1/rerank` and `/v2/rerank`: the more of the words of the query a document has, the better.
pub(crate) fn rerank(body: &[u8], version: &'static str) -> Result<Reply, VendorError> {
    let body = parse(body)?;
    let members = members(&body)?;
    let known: &[&str] = match version {
        "1" => {
            &["model", "query", "documents", "top_n", "rank_fields", "return_documents", "max_chunks_per_doc"]
        }
        _ => &["model", "query", "documents", "top_n", "max_tokens_per_doc", "priority", "relevant_spans"],
    };
    only(members, known, "rerank")?;
    model(members)?;
    let query = members.get("query").and_then(Value::as_str).unwrap_or_default();
    if query.trim().is_empty() {
        return Err(invalid("query must not be empty or be only whitespace"));
    }
    let documents = members.get("documents").and_then(Value::as_array).filter(|list| !list.is_empty());
    let documents = documents.ok_or_else(|| invalid("list of documents must not be empty"))?;
    let mut results = Vec::with_capacity(documents.len());
    for (at, document) in documents.iter().enumerate() {
        let text = match document {
            Value::String(text) => text.as_str(),
            Value::Object(object) if version == "1" => {
                object.get("text").and_then(Value::as_str).unwrap_or_default()
            }
            other => return Err(wrong_type(&format!("documents[{at}]"), "string", other)),
        };
        results.push((at, score(query, text), text));
    }
    results.sort_by(|a, b| b.1.total_cmp(&a.1));
    let top = members.get("top_n").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let with_documents = members.get("return_documents") == Some(&Value::Bool(true));
    let results: Vec<_> = results
        .into_iter()
        .take(top.unwrap_or(usize::MAX))
        .map(|(at, score, text)| {
            let mut result = json!({ "index": at, "relevance_score": score });
            if with_documents {
                result["document"] = json!({ "text": text });
            }
            result
        })
        .collect();
    Ok(Reply::Whole(
        json!({
            "id": fresh_id("a0ffee00-"), "results": results,
            "meta": { "api_version": { "version": version }, "billed_units": { "search_units": 1 } },
        })
        .to_string(),
    ))
}

fn score(query: &str, text: &str) -> f64 {
    let text = text.to_lowercase();
    let words: Vec<_> = query.split_whitespace().map(str::to_lowercase).collect();
    let found = words.iter().filter(|word| text.contains(word.as_str())).count();
    let count = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    count(found) / count(words.len().max(1))
}

fn members(body: &Value) -> Result<&Members, VendorError> {
    body.as_object().ok_or_else(|| wrong_type("body", "object", body))
}

fn strings<'a>(members: &'a Members, name: &str) -> Result<Vec<&'a str>, VendorError> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) if list.iter().all(Value::is_string) => {
            Ok(list.iter().filter_map(Value::as_str).collect())
        }
        Some(other) => Err(wrong_type(name, "array of strings", other)),
    }
}
