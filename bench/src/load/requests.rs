//! The requests, as an SDK sends them: 16 headers, a chat of the size wanted, many keys in turn.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;

use super::reader::Answer;

/// Keys that requests use in turn.
pub const KEYS: usize = 256;

/// The key of an application.
pub fn key(number: usize) -> String {
    format!("sk-trestle-{:064x}", (number + 1) * 37)
}

/// Whose API is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
    /// Gemini.
    Gemini,
    /// Bedrock Converse.
    Bedrock,
    /// Cohere Chat.
    Cohere,
}

/// What to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// In whose words. Streams are asked for in Chat alone.
    pub api: Api,
    /// The model that is asked for.
    pub model: &'static str,
    /// Bytes of the prompt's text.
    pub bytes: usize,
    /// Ask for a stream.
    pub stream: bool,
    /// Microseconds between the events of a stream; 0 for bursts of ten.
    pub gap_us: u32,
}

/// What a good answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// A JSON object of some hundred bytes.
    Json,
    /// A stream that ends in the end mark.
    Stream,
}

/// Answers shorter than this are not what the mock sent.
const JSON_BYTES_MIN: usize = 600;
/// 100 events of about 240 bytes.
const STREAM_BYTES_MIN: usize = 15_000;

impl Expect {
    /// Says what is wrong with an answer.
    pub(super) fn check(self, answer: &Answer) -> Result<(), String> {
        if answer.status != 200 {
            return Err(format!("status {}", answer.status));
        }
        let (end, least): (&[u8], _) = match self {
            Self::Json => (b"}", JSON_BYTES_MIN),
            Self::Stream => (b"data: [DONE]", STREAM_BYTES_MIN),
        };
        if answer.bytes < least {
            return Err(format!("{} bytes, at least {least} were sent", answer.bytes));
        }
        if !answer.tail().trim_ascii_end().ends_with(end) {
            return Err(format!("ends in {:?}", String::from_utf8_lossy(answer.tail())));
        }
        Ok(())
    }
}

/// Where requests go and what must come back.
#[derive(Clone, Debug)]
pub struct Target {
    /// The address.
    pub addr: SocketAddr,
    /// Requests to send in turn, complete with their heads.
    pub requests: Arc<Vec<Bytes>>,
    /// What a good answer is.
    pub expect: Expect,
}

/// Builds the requests for a prompt, one for each key (16 for large ones, one for very large ones).
pub fn requests(prompt: Prompt) -> Arc<Vec<Bytes>> {
    let body = body(prompt);
    let count = match prompt.bytes {
        0..=10_000 => KEYS,
        10_001..=500_000 => 16,
        _ => 1,
    };
    Arc::new((0..count).map(|number| request(prompt, &key(number), &body)).collect())
}

const SYSTEM: &str = "You are a helpful assistant that answers briefly.";
const SCHEMA: &str = r#"{"type":"object","properties":{"city":{"type":"string"}}}"#;

fn body(prompt: Prompt) -> String {
    let line = r#"The quick brown fox jumps over the lazy dog, she said: \"go\".\n"#;
    let text = line.repeat(prompt.bytes.div_ceil(line.len()));
    let (model, stream) = (prompt.model, prompt.stream);
    match prompt.api {
        Api::Chat => {
            let user =
                if prompt.gap_us > 0 { format!("gap_us={}", prompt.gap_us) } else { "user-1234".into() };
            format!(
                r#"{{"model":"{model}","messages":[{{"role":"system","content":"{SYSTEM}"}},{{"role":"user","content":"{text}"}}],"temperature":0.7,"max_tokens":256,"stream":{stream},"user":"{user}","tools":[{{"type":"function","function":{{"name":"get_weather","parameters":{SCHEMA}}}}}]}}"#
            )
        }
        Api::Responses => format!(
            r#"{{"model":"{model}","instructions":"{SYSTEM}","input":[{{"role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}],"temperature":0.7,"max_output_tokens":256,"stream":false,"store":false,"tools":[{{"type":"function","name":"get_weather","parameters":{SCHEMA},"strict":false}}]}}"#
        ),
        Api::Messages => format!(
            r#"{{"model":"{model}","system":"{SYSTEM}","messages":[{{"role":"user","content":[{{"type":"text","text":"{text}"}}]}}],"temperature":0.7,"max_tokens":256,"stream":false,"tools":[{{"name":"get_weather","input_schema":{SCHEMA}}}]}}"#
        ),
        Api::Gemini => format!(
            r#"{{"systemInstruction":{{"parts":[{{"text":"{SYSTEM}"}}]}},"contents":[{{"role":"user","parts":[{{"text":"{text}"}}]}}],"generationConfig":{{"temperature":0.7,"maxOutputTokens":256}},"tools":[{{"functionDeclarations":[{{"name":"get_weather","parametersJsonSchema":{SCHEMA}}}]}}]}}"#
        ),
        Api::Bedrock => format!(
            r#"{{"system":[{{"text":"{SYSTEM}"}}],"messages":[{{"role":"user","content":[{{"text":"{text}"}}]}}],"inferenceConfig":{{"temperature":0.7,"maxTokens":256}},"toolConfig":{{"tools":[{{"toolSpec":{{"name":"get_weather","inputSchema":{{"json":{SCHEMA}}}}}}}]}}}}"#
        ),
        Api::Cohere => format!(
            r#"{{"model":"{model}","messages":[{{"role":"system","content":"{SYSTEM}"}},{{"role":"user","content":"{text}"}}],"temperature":0.7,"max_tokens":256,"stream":false,"tools":[{{"type":"function","function":{{"name":"get_weather","parameters":{SCHEMA}}}}}]}}"#
        ),
    }
}

fn request(prompt: Prompt, key: &str, body: &str) -> Bytes {
    let (model, length) = (prompt.model, body.len());
    let (path, presented) = match prompt.api {
        Api::Chat => ("/v1/chat/completions".to_owned(), "Authorization: Bearer"),
        Api::Responses => ("/v1/responses".to_owned(), "Authorization: Bearer"),
        Api::Messages => ("/v1/messages".to_owned(), "x-api-key:"),
        Api::Gemini => (format!("/v1beta/models/{model}:generateContent"), "x-goog-api-key:"),
        Api::Bedrock => (format!("/model/{model}/converse"), "Authorization: Bearer"),
        Api::Cohere => ("/v2/chat".to_owned(), "Authorization: Bearer"),
    };
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: \
         application/json\r\nAccept-Encoding: gzip, deflate\r\nUser-Agent: OpenAI/Python 2.8.1\r\n{presented} \
         {key}\r\nX-Stainless-Lang: python\r\nX-Stainless-Package-Version: 2.8.1\r\nX-Stainless-OS: \
         Linux\r\nX-Stainless-Arch: x64\r\nX-Stainless-Runtime: CPython\r\nX-Stainless-Runtime-Version: \
         3.12.3\r\nX-Stainless-Async: false\r\nx-stainless-retry-count: 0\r\nx-stainless-read-timeout: \
         600\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_complete_and_differ_in_their_key() {
        let prompt = Prompt { api: Api::Chat, model: "chat", bytes: 600, stream: true, gap_us: 1000 };
        let all = requests(prompt);
        let text = std::str::from_utf8(&all[0]).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert_eq!(head.lines().count(), 17);
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())));
        let json: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!((json["stream"].as_bool(), json["user"].as_str()), (Some(true), Some("gap_us=1000")));
        assert_ne!(all[0], all[1]);
    }

    #[test]
    fn bodies_are_json_in_every_api() {
        for api in [Api::Chat, Api::Responses, Api::Messages, Api::Gemini, Api::Bedrock, Api::Cohere] {
            let prompt = Prompt { api, model: "m", bytes: 600, stream: false, gap_us: 0 };
            let json: serde_json::Value = serde_json::from_str(&body(prompt)).unwrap();
            assert!(json.is_object(), "{api:?}");
        }
    }
}
