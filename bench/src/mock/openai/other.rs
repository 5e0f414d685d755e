//! OpenAI's other endpoints: completions, embeddings, models.

use base64::Engine as _;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::super::behaviour::Behaviour;
use super::super::compose::{Answer, Ask, Part, Stop, compose};
use super::super::vendor::{Event, Events, Reply, VendorError, fresh_id, quoted, token_count, unix_seconds};
use super::check::{known_members, missing, model as check_model, stream as check_stream, wrong_type};

const COMPLETION_MEMBERS: &[&str] = &[
    "best_of",
    "echo",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "max_tokens",
    "model",
    "n",
    "presence_penalty",
    "prompt",
    "seed",
    "stop",
    "stream",
    "stream_options",
    "suffix",
    "temperature",
    "top_p",
    "user",
];

/// `POST /v1/completions`.
pub(crate) fn completions(body: &[u8], behaviour: &Behaviour) -> Result<Reply, VendorError> {
    let body = super::chat::parse(body)?;
    let members = members(&body)?;
    known_members(members, COMPLETION_MEMBERS)?;
    check_model(members)?;
    check_stream(members)?;
    let prompt = match members.get("prompt") {
        Some(Value::String(prompt)) => prompt.clone(),
        Some(Value::Array(prompts)) => {
            prompts.iter().map(|prompt| prompt.as_str().unwrap_or_default()).collect()
        }
        None => return Err(missing("prompt")),
        Some(other) => return Err(wrong_type("prompt", "one of a string or array", other)),
    };
    let ask = Ask {
        input_tokens: token_count(&prompt),
        text: prompt,
        stops: super::ask::stops(members.get("stop")),
        max_tokens: members.get("max_tokens").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok()),
        ..Ask::default()
    };
    Ok(completion(&compose(&ask, behaviour), &body))
}

fn completion(answer: &Answer, body: &Value) -> Reply {
    let id = fresh_id("cmpl-");
    let created = unix_seconds();
    let model = body.get("model").map(Value::to_string).unwrap_or_default();
    let finish = if answer.stop == Stop::Length { "length" } else { "stop" };
    let pieces: Vec<&String> = answer
        .parts
        .iter()
        .flat_map(|part| match part {
            Part::Text(pieces) => pieces.as_slice(),
            _ => &[],
        })
        .collect();
    let (input, output) = (answer.input_tokens, answer.output_tokens);
    let usage = format!(
        r#""usage":{{"prompt_tokens":{input},"completion_tokens":{output},"total_tokens":{}}}"#,
        input + output
    );
    let object = |choices: &str, rest: &str| {
        format!(
            r#"{{"id":"{id}","object":"text_completion","created":{created},"model":{model},"choices":[{choices}]{rest}}}"#
        )
    };
    let choice = |text: &str, finish: &str| {
        format!(r#"{{"text":{},"index":0,"logprobs":null,"finish_reason":{finish}}}"#, quoted(text))
    };
    if body.get("stream") != Some(&json!(true)) {
        let text: String = pieces.into_iter().map(String::as_str).collect();
        return Reply::Whole(object(&choice(&text, &quoted(finish)), &format!(",{usage}")));
    }
    let mut events = Events { keepalive: ": keep-alive\n\n", ..Events::default() };
    events.content = pieces.iter().map(|piece| Event::data(object(&choice(piece, "null"), ""))).collect();
    events.end.push(Event::data(object(&choice("", &quoted(finish)), "")));
    if body.pointer("/stream_options/include_usage") == Some(&json!(true)) {
        events.end.push(Event::data(object("", &format!(",{usage}"))));
    }
    events.end.push(Event::data("[DONE]"));
    events.error = vec![
        Event::data(super::error::render(&super::error::forced_error(None, Some(500), ""))),
        Event::data("[DONE]"),
    ];
    Reply::Stream(events)
}

pub(super) fn members(body: &Value) -> Result<&Map<String, Value>, VendorError> {
    body.as_object().ok_or_else(|| VendorError::invalid("The body must be an object."))
}

/// `POST /v1/embeddings`.
pub(crate) fn embeddings(body: &[u8]) -> Result<Reply, VendorError> {
    let body = super::chat::parse(body)?;
    let members = members(&body)?;
    known_members(members, &["model", "input", "encoding_format", "dimensions", "user"])?;
    check_model(members)?;
    let inputs = inputs(members)?;
    let base64 = match members.get("encoding_format").and_then(Value::as_str) {
        None | Some("float") => false,
        Some("base64") => true,
        Some(other) => {
            return Err(VendorError::invalid(format!(
                "Invalid value for 'encoding_format' = {other}. Must be one of ['float', 'base64']."
            )));
        }
    };
    let size = members.get("dimensions").and_then(Value::as_u64).unwrap_or(1536).clamp(1, 3072);
    let data: Vec<_> = inputs
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let numbers = vector(text, size);
            let embedding = if base64 {
                let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
                quoted(&base64::engine::general_purpose::STANDARD.encode(bytes))
            } else {
                json!(numbers).to_string()
            };
            format!(r#"{{"object":"embedding","index":{index},"embedding":{embedding}}}"#)
        })
        .collect();
    let model = members.get("model").map(Value::to_string).unwrap_or_default();
    let tokens: usize = inputs.iter().map(|text| token_count(text)).sum();
    Ok(Reply::Whole(format!(
        r#"{{"object":"list","data":[{}],"model":{model},"usage":{{"prompt_tokens":{tokens},"total_tokens":{tokens}}}}}"#,
        data.join(",")
    )))
}

/// What is to be embedded: a text, a list of texts, or token numbers.
fn inputs(members: &Map<String, Value>) -> Result<Vec<String>, VendorError> {
    Ok(match members.get("input") {
        Some(Value::String(text)) if !text.is_empty() => vec![text.clone()],
        Some(Value::Array(items)) if items.iter().all(Value::is_number) && !items.is_empty() => {
            vec![Value::Array(items.clone()).to_string()]
        }
        Some(Value::Array(items)) if !items.is_empty() => {
            items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned)).collect()
        }
        None => return Err(missing("input")),
        Some(_) => {
            return Err(VendorError::invalid(
                "'$.input' is invalid. Please check the API reference: \
                 https://platform.openai.com/docs/api-reference.",
            ));
        }
    })
}

/// A vector that depends on the text alone.
fn vector(text: &str, size: u64) -> Vec<f32> {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().cycle().zip(0..size).map(|(byte, _)| (f32::from(*byte) - 127.5) / 1024.0).collect()
}

/// The models that the mock lists.
pub(crate) const MODELS: [&str; 4] =
    ["gpt-4o-mini", "gpt-5-mini", "text-embedding-3-small", "claude-sonnet-4-5"];

/// `GET /v1/models`.
pub(crate) fn models() -> String {
    let list: Vec<_> = MODELS.iter().map(|id| model(id)).collect();
    format!(r#"{{"object":"list","data":[{}]}}"#, list.join(","))
}

/// `GET /v1/models/{id}`.
pub(crate) fn model(id: &str) -> String {
    format!(r#"{{"id":{},"object":"model","created":1721172741,"owned_by":"system"}}"#, quoted(id))
}

/// `DELETE /v1/models/{id}`.
pub(crate) fn delete_model(id: &str) -> String {
    format!(r#"{{"id":{},"object":"model","deleted":true}}"#, quoted(id))
}
