//! What is measured: the requests, the nginx that is the fair baseline, and the target.

use crate::load::{Api, Expect, Prompt};

/// Which of nginx's servers is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Baseline {
    /// `proxy_pass` as it comes.
    Plain,
    /// With a body buffer of 1 MB, so that large prompts do not go through a file.
    BigBody,
    /// With `proxy_buffering off`, so that events pass as they come.
    Unbuffered,
}

/// One case of the ratio to nginx.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) prompt: Prompt,
    pub(super) expect: Expect,
    pub(super) connections: usize,
    /// Units in one answer: events of a stream, else one.
    pub(super) units: u32,
    pub(super) baseline: Baseline,
    /// CPU against nginx, at most.
    pub(super) target: f64,
}

const CHAT: Prompt = Prompt { api: Api::Chat, model: "chat", bytes: 600, stream: false, gap_us: 0 };

/// The cases, in the order in which they are run.
pub(super) const CASES: [Case; 10] = [
    Case {
        name: "chat-1k",
        what: "pass-through chat, 1 KB in and out",
        prompt: CHAT,
        expect: Expect::Json,
        connections: 32,
        units: 1,
        baseline: Baseline::Plain,
        target: 1.25,
    },
    Case {
        name: "chat-100k",
        what: "the same with a prompt of 100 KB",
        prompt: Prompt { bytes: 100_000, ..CHAT },
        expect: Expect::Json,
        connections: 32,
        units: 1,
        baseline: Baseline::BigBody,
        target: 1.5,
    },
    Case {
        name: "stream-spaced",
        what: "per event of a stream, 1 ms apart",
        prompt: Prompt { stream: true, gap_us: 1000, ..CHAT },
        expect: Expect::Stream,
        connections: 48,
        units: 100,
        baseline: Baseline::Unbuffered,
        target: 1.25,
    },
    Case {
        name: "stream-burst",
        what: "per event of a stream, bursts of ten",
        prompt: Prompt { stream: true, ..CHAT },
        expect: Expect::Stream,
        connections: 32,
        units: 100,
        baseline: Baseline::Unbuffered,
        target: 1.25,
    },
    translated("translate", Prompt { model: "claude", ..CHAT }, "chat of 1 KB, OpenAI in, Anthropic out"),
    translated("messages", Prompt { api: Api::Messages, model: "gemini", ..CHAT }, "Messages in, Gemini out"),
    translated("gemini", Prompt { api: Api::Gemini, model: "bedrock", ..CHAT }, "Gemini in, Bedrock out"),
    translated("bedrock", Prompt { api: Api::Bedrock, model: "cohere", ..CHAT }, "Bedrock in, Cohere out"),
    translated("cohere", Prompt { api: Api::Cohere, model: "responses", ..CHAT }, "Cohere in, Responses out"),
    translated("responses", Prompt { api: Api::Responses, model: "chat", ..CHAT }, "Responses in, Chat out"),
];

/// A chat of 1 KB between two dialects; with the others each of the six is read and written once.
const fn translated(name: &'static str, prompt: Prompt, what: &'static str) -> Case {
    Case {
        name,
        what,
        prompt,
        expect: Expect::Json,
        connections: 32,
        units: 1,
        baseline: Baseline::Plain,
        target: 1.8,
    }
}

/// The chat of 1 KB.
pub(super) const fn chat() -> &'static Case {
    &CASES[0]
}
