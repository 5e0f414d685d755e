//! The features of answers.

use trestle_dialect::{
    Dialect,
    ir::{
        Block, BlockKind, Citation, Json, Likelihood, Media, MediaSource, Response, Sealed, StopReason, Text,
        TokenLogprob, Usage,
    },
};

/// A feature.
pub(crate) struct Feature {
    pub(crate) name: &'static str,
    /// The answer, as a provider of the dialect may give it; `None` where there is no such thing.
    pub(crate) response: fn(Dialect) -> Option<Response>,
    /// What of an answer the feature is.
    pub(crate) probe: fn(&Response) -> String,
    /// Whether its meaning is there in other words.
    pub(crate) kept: fn(&Response) -> bool,
}

fn feature(
    name: &'static str,
    response: fn(Dialect) -> Option<Response>,
    probe: fn(&Response) -> String,
) -> Feature {
    Feature { name, response, probe, kept: |_| false }
}

impl Feature {
    fn or(self, kept: fn(&Response) -> bool) -> Self {
        Self { kept, ..self }
    }
}

fn answer(blocks: Vec<Block>) -> Response {
    Response {
        id: Text::fixed("id-1"),
        model: Text::fixed("m"),
        created: None,
        blocks,
        stop: StopReason::EndTurn,
        stop_sequence: None,
        logprobs: Vec::new(),
        usage: Some(Usage { input: 10, output: 5, ..Usage::default() }),
        attachments: Vec::new(),
    }
}

fn text(text: &str) -> Block {
    BlockKind::Text(Text::new(text)).into()
}

fn stopped(stop: StopReason) -> Option<Response> {
    Some(Response { stop, ..answer(vec![text("Hi")]) })
}

fn cost(usage: Usage) -> Option<Response> {
    Some(Response { usage: Some(usage), ..answer(vec![text("Hi")]) })
}

fn call(id: &'static str, input: &str) -> Block {
    BlockKind::ToolUse { id: Text::fixed(id), name: Text::fixed("weather"), input: Text::new(input) }.into()
}

fn calls(blocks: Vec<Block>) -> Option<Response> {
    Some(Response { stop: StopReason::ToolUse, ..answer(blocks) })
}

fn sealed(dialect: Dialect) -> Sealed {
    let data = if dialect == Dialect::OpenAiResponses { "rs_1:c2VhbGVk" } else { "c2VhbGVk" };
    Sealed { dialect, data: Text::fixed(data) }
}

fn words(response: &Response) -> String {
    let all = response.blocks.iter().filter_map(|block| match &block.kind {
        BlockKind::Text(text) => Some(text.plain().into_owned()),
        _ => None,
    });
    format!("{:?}", all.collect::<Vec<_>>())
}

fn kinds(response: &Response) -> String {
    let show = |block: &Block| match &block.kind {
        BlockKind::Text(text) => format!("text {}", text.plain()),
        BlockKind::Refusal(text) => format!("refusal {}", text.plain()),
        BlockKind::Thinking(text) => format!("thinking {} {:?}", text.plain(), block.signature),
        BlockKind::RedactedThinking(sealed) => format!("redacted {sealed:?}"),
        BlockKind::ToolUse { id, name, input } => format!("call {id:?} {name:?} {}", input.plain()),
        other => format!("{other:?}"),
    };
    format!("{:?}", response.blocks.iter().map(show).collect::<Vec<_>>())
}

fn stop(response: &Response) -> String {
    format!("{:?} {:?}", response.stop, response.stop_sequence)
}

fn usage(response: &Response) -> String {
    format!("{:?}", response.usage)
}

fn cited(response: &Response) -> String {
    let all = response.blocks.iter().flat_map(|block| &block.citations);
    format!("{:?}", all.map(|citation| (&citation.url, &citation.title)).collect::<Vec<_>>())
}

fn citation(dialect: Dialect) -> Option<Response> {
    let json = match dialect {
        Dialect::OpenAiChat => {
            r#"{"type":"url_citation","url_citation":{"url":"https://example.com","title":"Example","start_index":0,"end_index":4}}"#
        }
        Dialect::OpenAiResponses => {
            r#"{"type":"url_citation","url":"https://example.com","title":"Example","start_index":0,"end_index":4}"#
        }
        Dialect::AnthropicMessages => {
            r#"{"type":"web_search_result_location","url":"https://example.com","title":"Example","encrypted_index":"eA==","cited_text":"So"}"#
        }
        Dialect::BedrockConverse => {
            r#"{"title":"Example","sourceContent":[{"text":"So"}],"location":{"web":{"url":"https://example.com","domain":"example.com"}}}"#
        }
        Dialect::Gemini | Dialect::CohereChat => return None,
    };
    let web = !matches!(dialect, Dialect::CohereChat);
    let citation = Citation {
        dialect,
        json: Json::fixed(json),
        span: None,
        url: web.then(|| Text::fixed("https://example.com")),
        title: Some(Text::fixed("Example")),
        cited_text: None,
    };
    Some(answer(vec![Block { citations: vec![citation], ..text("So it is.") }]))
}

fn probable() -> Vec<TokenLogprob> {
    let likely = |token: &'static str, logprob: &'static str| Likelihood {
        token: Text::fixed(token),
        logprob: Json::fixed(logprob),
        bytes: None,
    };
    vec![TokenLogprob { chosen: likely("Hi", "-0.1"), top: vec![likely("Hi", "-0.1"), likely("Ho", "-2.5")] }]
}

/// All of them, in the order of the page.
pub(crate) fn features() -> Vec<Feature> {
    [content(), ends(), counts()].into_iter().flatten().collect()
}

fn content() -> Vec<Feature> {
    vec![
        feature("text", |_| Some(answer(vec![text("Grüße \"x\" \u{1F600}\n")])), words),
        feature("several texts", |_| Some(answer(vec![text("One"), text("Two")])), words)
            .or(|r| words(r).contains("OneTwo")),
        feature("call", |_| calls(vec![call("call_1", r#"{"city":"Oslo \"x\""}"#)]), kinds)
            .or(|r| kinds(r).contains("Oslo")),
        feature("call without arguments", |_| calls(vec![call("call_1", "{}")]), kinds)
            .or(|r| kinds(r).contains("{}")),
        feature(
            "parallel calls",
            |_| calls(vec![call("call_1", "{}"), call("call_2", r#"{"city":"Bern"}"#)]),
            kinds,
        )
        .or(|r| kinds(r).contains("Bern")),
        feature("text and call", |_| calls(vec![text("I look."), call("call_1", "{}")]), kinds)
            .or(|r| kinds(r).contains("I look.")),
        feature(
            "refusal",
            |_| {
                Some(Response {
                    stop: StopReason::Refusal,
                    ..answer(vec![BlockKind::Refusal(Text::fixed("No.")).into()])
                })
            },
            kinds,
        )
        .or(|r| words(r).contains("No.")),
        feature(
            "reasoning",
            |_| Some(answer(vec![BlockKind::Thinking(Text::fixed("Hm")).into(), text("So")])),
            kinds,
        ),
        feature(
            "signed reasoning",
            |dialect| {
                let thought = Block {
                    signature: Some(sealed(dialect)),
                    ..BlockKind::Thinking(Text::fixed("Hm")).into()
                };
                Some(answer(vec![thought, text("So")]))
            },
            kinds,
        )
        .or(|r| kinds(r).contains("thinking Hm")),
        feature(
            "sealed reasoning",
            |dialect| Some(answer(vec![BlockKind::RedactedThinking(sealed(dialect)).into(), text("So")])),
            kinds,
        ),
        feature("citations of pages", citation, cited),
        feature(
            "log probabilities",
            |_| Some(Response { logprobs: probable(), ..answer(vec![text("Hi")]) }),
            |r| format!("{:?}", r.logprobs),
        )
        .or(|r| !r.logprobs.is_empty()),
        feature(
            "picture",
            |_| {
                let png = Media::new(
                    MediaSource::Base64(Text::fixed("iVBORw0KGgo=")),
                    Some(Text::fixed("image/png")),
                );
                Some(answer(vec![BlockKind::Image(png).into()]))
            },
            kinds,
        ),
    ]
}

fn ends() -> Vec<Feature> {
    vec![
        feature("end: complete", |_| stopped(StopReason::EndTurn), stop),
        feature("end: output limit", |_| stopped(StopReason::MaxTokens), stop),
        feature(
            "end: stop text",
            |_| {
                Some(Response {
                    stop_sequence: Some(Text::fixed("END")),
                    ..stopped(StopReason::StopSequence)?
                })
            },
            stop,
        )
        .or(|r| matches!(r.stop, StopReason::EndTurn | StopReason::StopSequence)),
        feature("end: calls", |_| calls(vec![call("call_1", "{}")]), stop),
        feature("end: filter", |_| stopped(StopReason::ContentFilter), stop)
            .or(|r| r.stop == StopReason::Refusal),
        feature("end: declined", |_| stopped(StopReason::Refusal), stop)
            .or(|r| r.stop == StopReason::ContentFilter),
        feature("end: paused", |_| stopped(StopReason::Pause), stop),
    ]
}

fn counts() -> Vec<Feature> {
    vec![
        feature("usage", |_| cost(Usage { input: 100, output: 20, ..Usage::default() }), usage),
        feature(
            "usage: read from a cache",
            |_| cost(Usage { input: 100, cache_read: 60, output: 20, ..Usage::default() }),
            usage,
        ),
        feature(
            "usage: written to a cache",
            |_| cost(Usage { input: 100, cache_write: 60, output: 20, ..Usage::default() }),
            usage,
        )
        .or(|r| r.usage.is_some_and(|usage| usage.input == 100)),
        feature(
            "usage: written for an hour",
            |_| {
                cost(Usage {
                    input: 100,
                    cache_write: 60,
                    cache_write_1h: 40,
                    output: 20,
                    ..Usage::default()
                })
            },
            usage,
        )
        .or(|r| r.usage.is_some_and(|usage| usage.input == 100)),
        feature(
            "usage: reasoning",
            |_| cost(Usage { input: 100, output: 20, reasoning: 8, ..Usage::default() }),
            usage,
        )
        .or(|r| r.usage.is_some_and(|usage| usage.output == 20)),
        feature(
            "usage: audio",
            |_| cost(Usage { input: 100, audio_input: 30, output: 20, audio_output: 10, ..Usage::default() }),
            usage,
        )
        .or(|r| r.usage.is_some_and(|usage| usage.total() == 120)),
    ]
}
