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

/// What to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prompt {
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

/// Builds the requests for a prompt, one for each key (16 for large ones).
pub fn requests(prompt: Prompt) -> Arc<Vec<Bytes>> {
    let body = body(prompt);
    let count = if prompt.bytes > 10_000 { 16 } else { KEYS };
    Arc::new((0..count).map(|number| request(&key(number), &body)).collect())
}

fn body(prompt: Prompt) -> String {
    let line = r#"The quick brown fox jumps over the lazy dog, she said: \"go\".\n"#;
    let text = line.repeat(prompt.bytes.div_ceil(line.len()));
    let (model, stream) = (prompt.model, prompt.stream);
    let user = if prompt.gap_us > 0 { format!("gap_us={}", prompt.gap_us) } else { "user-1234".into() };
    format!(
        r#"{{"model":"{model}","messages":[{{"role":"system","content":"You are a helpful assistant that answers briefly."}},{{"role":"user","content":"{text}"}}],"temperature":0.7,"max_tokens":256,"stream":{stream},"user":"{user}","tools":[{{"type":"function","function":{{"name":"get_weather","parameters":{{"type":"object","properties":{{"city":{{"type":"string"}}}}}}}}}}]}}"#
    )
}

fn request(key: &str, body: &str) -> Bytes {
    let length = body.len();
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: \
         application/json\r\nAccept-Encoding: gzip, deflate\r\nUser-Agent: OpenAI/Python 2.8.1\r\nAuthorization: \
         Bearer {key}\r\nX-Stainless-Lang: python\r\nX-Stainless-Package-Version: 2.8.1\r\nX-Stainless-OS: \
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
        let prompt = Prompt { model: "chat", bytes: 600, stream: true, gap_us: 1000 };
        let all = requests(prompt);
        let text = std::str::from_utf8(&all[0]).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert_eq!(head.lines().count(), 17);
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())));
        let json: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!((json["stream"].as_bool(), json["user"].as_str()), (Some(true), Some("gap_us=1000")));
        assert_ne!(all[0], all[1]);
    }
}
