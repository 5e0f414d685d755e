//! The fast path for benchmarks: prebuilt answers on raw sockets, nothing parsed but what is needed.
//!
//! A body with `"stream":true` near its start or end gets 100 events of a chat stream: ten to a write, or one every
//! N microseconds where the body holds `gap_us=N` (as in `"user":"gap_us=1000"`). Anything else gets the answer of
//! about 1 KB of the vendor whose path it is, after that time where there is one.

use std::sync::LazyLock;
use std::time::Duration;

use memchr::memmem;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, sleep_until};

use crate::wire;

/// Content events of a stream.
const EVENTS: usize = 100;
/// Events to a write where they are not spaced.
const BURST: usize = 10;
/// Request bytes that are accepted.
const REQUEST_BYTES_MAX: usize = 64 << 20;
/// Bytes at either end of a body that are searched for members.
const WINDOW: usize = 1024;

struct Answers {
    openai: Vec<u8>,
    anthropic: Vec<u8>,
    responses: Vec<u8>,
    gemini: Vec<u8>,
    bedrock: Vec<u8>,
    cohere: Vec<u8>,
    health: Vec<u8>,
    stream_head: Vec<u8>,
    /// Chunks, the last with the end mark.
    events: Vec<Vec<u8>>,
    /// The usage event and the end mark, for whom asked for usage.
    usage_end: Vec<u8>,
    end: Vec<u8>,
}

static ANSWERS: LazyLock<Answers> = LazyLock::new(Answers::build);

const TEXT: &str = "The image shows a wooden boardwalk path running through a lush green field. ";

impl Answers {
    fn build() -> Self {
        let text = TEXT.repeat(6);
        let openai = format!(
            r#"{{"id":"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG","object":"chat.completion","created":1741570283,"model":"gpt-4o-mini-2024-07-18","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}","refusal":null,"annotations":[]}},"logprobs":null,"finish_reason":"stop"}}],"usage":{{"prompt_tokens":1117,"completion_tokens":46,"total_tokens":1163,"prompt_tokens_details":{{"cached_tokens":0,"audio_tokens":0}},"completion_tokens_details":{{"reasoning_tokens":0,"audio_tokens":0}}}},"service_tier":"default","system_fingerprint":"fp_fc9f1d7035"}}"#
        );
        let anthropic = format!(
            r#"{{"id":"msg_01XFDUDYJgAACzvnptvVoYEL","type":"message","role":"assistant","model":"claude-sonnet-4-5-20250929","content":[{{"type":"text","text":"{text}"}}],"stop_reason":"end_turn","stop_sequence":null,"usage":{{"input_tokens":1117,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":{{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0}},"output_tokens":46,"service_tier":"standard"}}}}"#
        );
        let responses = format!(
            r#"{{"id":"resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b","object":"response","created_at":1741476542,"status":"completed","error":null,"incomplete_details":null,"instructions":null,"max_output_tokens":256,"model":"gpt-4o-mini-2024-07-18","output":[{{"type":"message","id":"msg_67ccd2bf17f0819081ff3bb2cf6508e6","status":"completed","role":"assistant","content":[{{"type":"output_text","text":"{text}","annotations":[]}}]}}],"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{{"effort":null,"summary":null}},"store":false,"temperature":0.7,"text":{{"format":{{"type":"text"}}}},"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled","usage":{{"input_tokens":1117,"input_tokens_details":{{"cached_tokens":0}},"output_tokens":46,"output_tokens_details":{{"reasoning_tokens":0}},"total_tokens":1163}},"user":null,"metadata":{{}}}}"#
        );
        let gemini = format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{text}"}}],"role":"model"}},"finishReason":"STOP","index":0}}],"usageMetadata":{{"promptTokenCount":1117,"candidatesTokenCount":46,"totalTokenCount":1163,"promptTokensDetails":[{{"modality":"TEXT","tokenCount":1117}}]}},"modelVersion":"gemini-2.5-flash","responseId":"mAitaLmkHPPlz7IPvtfUqQ4"}}"#
        );
        let bedrock = format!(
            r#"{{"metrics":{{"latencyMs":412}},"output":{{"message":{{"content":[{{"text":"{text}"}}],"role":"assistant"}}}},"stopReason":"end_turn","usage":{{"inputTokens":1117,"outputTokens":46,"totalTokens":1163,"cacheReadInputTokens":0,"cacheWriteInputTokens":0}}}}"#
        );
        let cohere = format!(
            r#"{{"id":"c14c80c3-18eb-4519-9460-6c92edd8cfb4","message":{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}},"finish_reason":"COMPLETE","usage":{{"billed_units":{{"input_tokens":1117,"output_tokens":46}},"tokens":{{"input_tokens":1180,"output_tokens":48}}}}}}"#
        );
        let chunk = |rest: &str| {
            format!(
                "data: {{\"id\":\"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG\",\"object\":\"chat.completion.chunk\",\"created\":1741570283,\"model\":\"gpt-4o-mini-2024-07-18\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_fc9f1d7035\",{rest}}}\n\n"
            )
        };
        let choice = |delta: &str, finish: &str| {
            chunk(&format!(
                r#""choices":[{{"index":0,"delta":{{{delta}}},"logprobs":null,"finish_reason":{finish}}}]"#
            ))
        };
        let mut events: Vec<_> =
            (1..EVENTS - 1).map(|i| choice(&format!(r#""content":" word{i}""#), "null")).collect();
        events.insert(0, choice(r#""role":"assistant","content":"","refusal":null"#, "null"));
        events.push(choice("", r#""stop""#));
        let usage = chunk(
            r#""choices":[],"usage":{"prompt_tokens":1117,"completion_tokens":98,"total_tokens":1215}"#,
        );
        let done = "data: [DONE]\n\n";
        Self {
            openai: whole(&openai, "x-request-id: req_0123456789abcdef\r\nopenai-processing-ms: 412\r\nopenai-version: 2020-10-01\r\nx-ratelimit-limit-requests: 10000\r\nx-ratelimit-remaining-requests: 9999\r\n"),
            anthropic: whole(&anthropic, "request-id: req_0123456789abcdef\r\nanthropic-organization-id: org-mock\r\nanthropic-ratelimit-requests-limit: 4000\r\nanthropic-ratelimit-requests-remaining: 3999\r\n"),
            responses: whole(&responses, "x-request-id: req_0123456789abcdef\r\nopenai-processing-ms: 412\r\nopenai-version: 2020-10-01\r\nx-ratelimit-limit-requests: 10000\r\nx-ratelimit-remaining-requests: 9999\r\n"),
            gemini: whole(&gemini, "server: scaffolding on HTTPServer2\r\nserver-timing: gfet4t7; dur=412\r\nx-content-type-options: nosniff\r\n"),
            bedrock: whole(&bedrock, "x-amzn-requestid: 0b94bde5-2f1f-4f0c-9a7a-3b0c5a2b9d5e\r\n"),
            cohere: whole(&cohere, "x-debug-trace-id: 0123456789abcdef\r\nnum_chars: 800\r\nnum_tokens: 1163\r\n"),
            health: whole("{}", ""),
            stream_head: b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\nx-request-id: req_0123456789abcdef\r\ntransfer-encoding: chunked\r\n\r\n".to_vec(),
            events: events.iter().map(|event| chunked(event)).collect(),
            usage_end: [chunked(&format!("{usage}{done}")), b"0\r\n\r\n".to_vec()].concat(),
            end: [chunked(done), b"0\r\n\r\n".to_vec()].concat(),
        }
    }
}

fn whole(body: &str, headers: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{headers}date: Sat, 28 Nov 2026 10:00:00 GMT\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes()
}

fn chunked(text: &str) -> Vec<u8> {
    format!("{:x}\r\n{text}\r\n", text.len()).into_bytes()
}

/// Serves one connection to its end.
pub(super) async fn serve(mut stream: TcpStream) {
    let mut buffer = Vec::with_capacity(1 << 17);
    while let Ok(Some(length)) = read_request(&mut stream, &mut buffer).await {
        let written = answer(&mut stream, &buffer[..length]).await;
        let last = memmem::find(&buffer[..length], b"\r\nconnection: close\r\n").is_some();
        buffer.drain(..length);
        if written.is_err() || last {
            return;
        }
    }
}

/// Reads until one whole request is in the buffer; returns its length.
async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<Option<usize>> {
    let mut framing = None;
    loop {
        if framing.is_none() {
            framing = wire::Head::find(buffer);
        }
        if let Some(head) = &framing
            && let Some(length) = head.message_end(buffer)
        {
            return Ok(Some(length));
        }
        if buffer.len() > REQUEST_BYTES_MAX || stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

fn near_the_ends(body: &[u8], wanted: &[u8]) -> Option<usize> {
    let tail = body.len().saturating_sub(WINDOW);
    let found = memmem::find(&body[tail..], wanted).map(|at| tail + at);
    found.or_else(|| memmem::find(&body[..body.len().min(WINDOW)], wanted))
}

async fn answer(stream: &mut TcpStream, request: &[u8]) -> std::io::Result<()> {
    let answers = &*ANSWERS;
    let line = &request[..request.len().min(120)];
    let body = memmem::find(request, b"\r\n\r\n").map_or(request, |at| &request[at + 4..]);
    let asked = |path: &[u8]| memmem::find(line, path).is_some();
    let (chat, whole) = match () {
        () if asked(b"/chat/completions ") => (true, &answers.openai),
        () if asked(b"/messages ") => (false, &answers.anthropic),
        () if asked(b"/responses ") => (false, &answers.responses),
        () if asked(b":generateContent ") => (false, &answers.gemini),
        () if asked(b"/converse ") => (false, &answers.bedrock),
        () if asked(b"/v2/chat ") => (false, &answers.cohere),
        () => return stream.write_all(&answers.health).await,
    };
    let gap = near_the_ends(body, b"gap_us=").map(|at| wire::number(&body[at + 7..]));
    let gap = gap.filter(|gap| *gap > 0).map(Duration::from_micros);
    if !chat || near_the_ends(body, b"\"stream\":true").is_none() {
        if let Some(delay) = gap {
            sleep(delay).await;
        }
        return stream.write_all(whole).await;
    }
    stream.write_all(&answers.stream_head).await?;
    match gap {
        Some(gap) => spaced(stream, gap).await?,
        None => {
            for burst in answers.events.chunks(BURST) {
                stream.write_all(&burst.concat()).await?;
                tokio::task::yield_now().await;
            }
        }
    }
    let usage = near_the_ends(body, b"\"include_usage\":true").is_some();
    stream.write_all(if usage { &answers.usage_end } else { &answers.end }).await
}

/// One event each `gap`, by the clock, so that a late timer does not slow the stream down.
async fn spaced(stream: &mut TcpStream, gap: Duration) -> std::io::Result<()> {
    let mut next = Instant::now();
    for event in &ANSWERS.events {
        next += gap;
        sleep_until(next).await;
        stream.write_all(event).await?;
    }
    Ok(())
}
