//! The built-in provider: answers made here, with no network. `mock/echo` repeats the last user message, `mock/lorem`
//! writes `max_tokens` words.

use crate::upstream::{Head, Keep, Source};
use bytes::Bytes;
use http::StatusCode;
use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    task::{Context, Poll},
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::time::{Sleep, sleep};
use trestle_config::MockSettings;
use trestle_dialect::{
    Category, Dialect, Failure, StreamContext, inbound,
    ir::{
        Block, BlockKind, BlockStart, Delta, Event, Media, MediaSource, Request, Response, Role, StopReason,
        Text, ToolKind, Usage,
    },
};

const WORDS: [&str; 19] = [
    "lorem",
    "ipsum",
    "dolor",
    "sit",
    "amet",
    "consectetur",
    "adipiscing",
    "elit",
    "sed",
    "do",
    "eiusmod",
    "tempor",
    "incididunt",
    "ut",
    "labore",
    "et",
    "dolore",
    "magna",
    "aliqua",
];
const DEFAULT_WORDS: u64 = 64;
const WORDS_MAX: u64 = 100_000;
/// A mock that waits forever would be a leak.
const WAIT_MAX: Duration = Duration::from_secs(600);

/// The body of a mock's answer.
pub(crate) struct Body {
    chunks: VecDeque<Bytes>,
    gap: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
    sent: u32,
    break_after: Option<u32>,
    panic_after: Option<u32>,
}

impl Body {
    fn new(chunks: VecDeque<Bytes>, settings: &MockSettings) -> Self {
        let gap = Duration::from_millis(settings.gap_ms).min(WAIT_MAX);
        let (break_after, panic_after) = (settings.break_after, settings.panic_after);
        Self { chunks, gap, sleep: None, sent: 0, break_after, panic_after }
    }

    /// The next bytes; `Some(None)` is a broken connection.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Option<Bytes>>> {
        if self.break_after.is_some_and(|n| self.sent >= n) {
            return Poll::Ready(Some(None));
        }
        if self.panic_after.is_some_and(|n| self.sent >= n) {
            injected_panic();
        }
        if self.sent > 0 && !self.gap.is_zero() && !self.chunks.is_empty() {
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep(self.gap)));
            std::task::ready!(sleep.as_mut().poll(cx));
            self.sleep = None;
        }
        self.sent += 1;
        Poll::Ready(self.chunks.pop_front().map(Some))
    }
}

/// What `panic_after` asks for, so that isolation can be seen to work.
#[allow(clippy::panic)]
fn injected_panic() {
    panic!("the mock was told to panic");
}

/// Answers a request in a dialect, with the delays and faults of the settings.
pub(crate) async fn answer(
    settings: &MockSettings,
    asked: &Request,
    (model, dialect): (&str, Dialect),
) -> (Head, Source) {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    if settings.delay_ms > 0 {
        sleep(Duration::from_millis(settings.delay_ms).min(WAIT_MAX)).await;
    }
    let call = CALLS.fetch_add(1, Relaxed);
    let due = call.is_multiple_of(settings.every.unwrap_or(1).max(1));
    let fault = match settings.status.filter(|_| due) {
        Some(status) => Some((status, category(status), format!("the mock was told to answer {status}"))),
        None if !matches!(model, "echo" | "lorem") => Some((
            404,
            Category::NotFound,
            format!("the mock has the models `echo` and `lorem`, not `{model}`"),
        )),
        None => None,
    };
    if let Some((status, category, message)) = fault {
        let failure = Failure {
            status,
            category,
            message: &message,
            code: None,
            param: None,
            attempts: &[],
            request_id: "mock",
        };
        let body = inbound(dialect).encode_failure(&failure);
        let mut head = Head::new(
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            Keep::Needed,
        );
        head.retry_after = settings.retry_after.map(Duration::from_secs);
        return (head, source(vec![body], &MockSettings::default()));
    }
    let response = compose(settings, asked, model);
    let context = StreamContext {
        request_id: "mock".to_owned(),
        model: model.to_owned(),
        created: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        include_usage: true,
        echo: None,
    };
    let mut head = Head::new(StatusCode::OK, Keep::Needed);
    head.is_events = asked.stream;
    let chunks = if asked.stream {
        events(&response, &context, dialect)
    } else {
        vec![inbound(dialect).encode_response(&response, &context).body]
    };
    (head, source(chunks, settings))
}

fn source(chunks: Vec<Vec<u8>>, settings: &MockSettings) -> Source {
    Source::Mock(Box::new(Body::new(chunks.into_iter().map(Bytes::from).collect(), settings)))
}

const fn category(status: u16) -> Category {
    match status {
        401 => Category::Authentication,
        402 => Category::Quota,
        403 => Category::Permission,
        404 => Category::NotFound,
        413 => Category::TooLarge,
        429 => Category::RateLimit,
        503 | 529 => Category::Overloaded,
        408 | 504 => Category::Timeout,
        400..=499 => Category::InvalidRequest,
        _ => Category::Api,
    }
}

fn compose(settings: &MockSettings, asked: &Request, model: &str) -> Response {
    let tool = asked.tools.iter().find_map(|tool| match &tool.kind {
        ToolKind::Function { name, .. } if settings.call_tool => Some(name.clone()),
        _ => None,
    });
    let answered = matches!(asked.messages.last(), Some(last) if last.blocks.iter().any(|b| matches!(b.kind, BlockKind::ToolResult { .. })));
    let (kind, stop, words) = match tool {
        Some(name) if !answered => {
            let id = Text::new("call_mock_0");
            (BlockKind::ToolUse { id, name, input: Text::new("{}") }, StopReason::ToolUse, 1)
        }
        _ => {
            let (text, stop) =
                if model == "lorem" { lorem(asked.max_tokens) } else { (echo(asked), StopReason::EndTurn) };
            let words = text.plain().split_whitespace().count() as u64;
            (BlockKind::Text(text), stop, words)
        }
    };
    let input = asked.messages.iter().flat_map(|m| &m.blocks).map(words_of).sum();
    Response {
        id: Text::new("mock-0"),
        model: Text::new(model),
        created: None,
        blocks: vec![Block::from(kind)],
        stop,
        stop_sequence: None,
        logprobs: Vec::new(),
        usage: Some(Usage { input, output: words, ..Usage::default() }),
        attachments: Vec::new(),
    }
}

fn words_of(block: &Block) -> u64 {
    match &block.kind {
        BlockKind::Text(text) => text.plain().split_whitespace().count() as u64,
        BlockKind::ToolResult { content, .. } => content.iter().map(words_of).sum(),
        _ => 1,
    }
}

/// The text of the last user message; results of tools count as text.
fn echo(asked: &Request) -> Text {
    let Some(last) = asked.messages.iter().rfind(|message| message.role == Role::User) else {
        return Text::default();
    };
    let mut texts = Vec::new();
    collect_texts(&last.blocks, &mut texts);
    Text::join(texts, "")
}

fn collect_texts<'a>(blocks: &'a [Block], texts: &mut Vec<&'a Text>) {
    for block in blocks {
        match &block.kind {
            BlockKind::Text(text) => texts.push(text),
            BlockKind::ToolResult { content, .. } => {
                collect_texts(content, texts);
                // Clients of Cohere give results as documents.
                texts.extend(content.iter().filter_map(document));
            }
            _ => {}
        }
    }
}

fn document(block: &Block) -> Option<&Text> {
    match &block.kind {
        BlockKind::Document(Media { source: MediaSource::Plain(text), .. }) => Some(text),
        _ => None,
    }
}

fn lorem(max_tokens: Option<u64>) -> (Text, StopReason) {
    let count = max_tokens.unwrap_or(DEFAULT_WORDS).min(WORDS_MAX) as usize;
    let words: Vec<_> = WORDS.iter().cycle().take(count).copied().collect();
    let stop = if max_tokens.is_some() { StopReason::MaxTokens } else { StopReason::EndTurn };
    (Text::new(&words.join(" ")), stop)
}

/// The answer as events, one for each word.
fn events(response: &Response, context: &StreamContext, dialect: Dialect) -> Vec<Vec<u8>> {
    let mut all =
        vec![Event::Start { id: response.id.clone(), model: response.model.clone(), created: None }];
    // Some dialects tell the input first.
    all.extend(response.usage.map(|usage| Event::Usage(Usage { output: 0, ..usage })));
    for (index, block) in (0..).zip(&response.blocks) {
        match &block.kind {
            BlockKind::ToolUse { id, name, input } => {
                all.push(Event::BlockStart {
                    index,
                    block: BlockStart::ToolUse { id: id.clone(), name: name.clone() },
                });
                all.push(Event::Delta { index, delta: Delta::ToolInput(input.clone()) });
            }
            BlockKind::Text(text) => {
                all.push(Event::BlockStart { index, block: BlockStart::Text });
                let plain = text.plain();
                all.extend(
                    plain
                        .split_inclusive(' ')
                        .map(|w| Event::Delta { index, delta: Delta::Text(Text::new(w)) }),
                );
            }
            _ => continue,
        }
        all.push(Event::BlockStop { index });
    }
    all.push(Event::Stop { reason: response.stop.clone(), sequence: None });
    all.extend(response.usage.map(Event::Usage));
    all.push(Event::End);
    let (mut encoder, mut dropped) = (inbound(dialect).encode_events(context), Vec::new());
    let chunks = all.iter().map(|event| {
        let mut out = Vec::new();
        encoder.encode(event, &mut out, &mut dropped);
        out
    });
    chunks.filter(|chunk| !chunk.is_empty()).collect()
}
