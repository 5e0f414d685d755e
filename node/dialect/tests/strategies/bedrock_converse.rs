//! What Bedrock Converse can express, and bodies to start from.

use super::{
    answers::{self, has_call, redacted, response, signed, usage},
    json::{closed_schema, number, text, word},
    requests::{attachment, bare, block, call, function, message},
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};
use trestle_dialect::{
    Dialect,
    ir::{
        Attachment, Block, BlockKind, Citation, Json, Media, MediaSource, Message, OutputFormat, Reasoning,
        Request, Response, Role, Sealed, StopReason, Text, ToolChoice,
    },
};

const SELF: Dialect = Dialect::BedrockConverse;

fn media(data: &'static str, media_type: &'static str) -> Media {
    Media::new(MediaSource::Base64(Text::fixed(data)), Some(Text::fixed(media_type)))
}

/// Images, and what else a user shows.
fn seen() -> impl Strategy<Value = BlockKind> {
    let title = "[a-zA-Z0-9]{1,8}( [a-z]{1,8}|-[0-9]|\\([a-z]\\)|\\[[0-9]\\]){0,2}";
    let stored =
        Media::new(MediaSource::File(SELF, Text::fixed("s3://bucket/a.png")), Some(Text::fixed("image/png")));
    let plain = Media::new(MediaSource::Plain(Text::fixed("Plain.")), Some(Text::fixed("text/plain")));
    let document = select(vec![plain, media("JVBERi0=", "application/pdf"), media("YQ==", "text/markdown")]);
    prop_oneof![
        4 => text().prop_map(BlockKind::Text),
        1 => Just(BlockKind::Image(media("iVBORw0=", "image/png"))),
        1 => Just(BlockKind::Image(stored)),
        1 => Just(BlockKind::Video(media("AAAA", "video/mp4"))),
        1 => (document, title).prop_map(|(media, title)| {
            BlockKind::Document(Media { title: Some(Text::new(&title)), ..media })
        }),
    ]
}

/// The titles of documents differ in one request, and a text stands beside them.
fn settled(mut messages: Vec<Message>) -> Vec<Message> {
    let mut count = 0;
    let mut settle = |block: &mut Block| {
        if let BlockKind::Document(media) = &mut block.kind {
            count += 1;
            let title = media.title.as_ref().map(|title| title.plain().into_owned()).unwrap_or_default();
            media.title = Some(Text::new(&format!("{count} {title}")));
        }
    };
    for block in messages.iter_mut().flat_map(|message| &mut message.blocks) {
        settle(block);
        if let BlockKind::ToolResult { content, .. } = &mut block.kind {
            content.iter_mut().for_each(&mut settle);
        }
    }
    messages
}

fn user() -> impl Strategy<Value = Message> {
    let result = (word(), vec(seen().prop_map(bare), 1..3), any::<bool>())
        .prop_map(|(id, content, is_error)| BlockKind::ToolResult { id, content, is_error });
    let guarded = Attachment {
        dialect: SELF,
        name: Text::fixed("guardContent"),
        value: Json::fixed(r#"{"text":{"text":"g","qualifiers":["query"]}}"#),
    };
    let guarded = Block { attachments: vec![guarded], ..bare(BlockKind::Text(Text::fixed("g"))) };
    let opaque = BlockKind::Opaque { dialect: SELF, json: Json::fixed(r#"{"brandNew":{"a":1}}"#) };
    let shown = prop_oneof![4 => block(seen()), 1 => Just(guarded), 1 => Just(bare(opaque))];
    let said = block(text().prop_map(BlockKind::Text));
    (vec(block(result), 0..3), vec(shown, 0..3), said)
        .prop_map(|(results, shown, said)| message(Role::User, [results, shown, vec![said]].concat()))
}

fn assistant() -> impl Strategy<Value = Message> {
    let sealed = || word().prop_map(|data| Sealed { dialect: SELF, data });
    let thought = prop_oneof![
        (text(), sealed())
            .prop_map(|(text, sealed)| Block { signature: Some(sealed), ..bare(BlockKind::Thinking(text)) }),
        sealed().prop_map(|sealed| bare(BlockKind::RedactedThinking(sealed))),
    ];
    let own = prop_oneof![text().prop_map(BlockKind::Text), call()];
    let own = prop_oneof![4 => block(own), 2 => thought, 1 => cited()];
    vec(own, 1..4).prop_map(|blocks| message(Role::Assistant, blocks))
}

fn cited() -> impl Strategy<Value = Block> {
    let web = Citation {
        dialect: SELF,
        json: Json::fixed(
            r#"{"title":"t","sourceContent":[{"text":"q"}],"location":{"web":{"url":"https:\/\/x"}}}"#,
        ),
        span: None,
        url: Some(Text::from_escaped(r"https:\/\/x".into())),
        title: Some(Text::fixed("t")),
        cited_text: Some(Text::fixed("q")),
    };
    (text(), vec(Just(web), 1..3))
        .prop_map(|(text, citations)| Block { citations, ..bare(BlockKind::Text(text)) })
}

fn reasoning() -> impl Strategy<Value = Option<Reasoning>> {
    let on = Reasoning { enabled: true, ..Reasoning::default() };
    let effort = || select(vec!["low", "max"]).prop_map(|effort| Some(Text::fixed(effort)));
    option::of(prop_oneof![
        Just(Reasoning::default()),
        (1024..20_000_u64).prop_map({
            let on = on.clone();
            move |tokens| Reasoning { budget_tokens: Some(tokens), ..on.clone() }
        }),
        (effort(), attachment(SELF, "display")).prop_map(move |(effort, attachments)| Reasoning {
            effort,
            attachments,
            ..on.clone()
        }),
    ])
}

/// For a model of Anthropic that is told an effort.
pub(crate) fn requests() -> impl Strategy<Value = Request> {
    let system = vec(block(text().prop_map(BlockKind::Text)), 1..3);
    let system = option::of(system.prop_map(|blocks| message(Role::System, blocks)));
    let turns = (system, vec((user(), assistant()), 0..3), user());
    let choice = prop_oneof![
        Just(ToolChoice::Auto),
        Just(ToolChoice::None),
        Just(ToolChoice::Required),
        word().prop_map(ToolChoice::Named),
    ];
    let tools = (vec(function(), 1..3), option::of(choice), any::<bool>());
    let output = option::of((option::of(word()), option::of(text()), closed_schema()).prop_map(
        |(name, description, schema)| OutputFormat::JsonSchema { name, description, schema, strict: None },
    ));
    let numbers = (number(&["0.5", "1.0"]), number(&["40"]), option::of(20_000..100_000_u64));
    let rest = (
        vec(text(), 0..3),
        attachment(SELF, "requestMetadata"),
        attachment(SELF, "additionalModelRequestFields.anthropic_beta"),
    );
    (turns, tools, reasoning(), output, (numbers, rest)).prop_map(
        |((system, turns, last), (tools, choice, single), reasoning, output, (numbers, rest))| {
            let turns = turns.into_iter().flat_map(|(user, assistant)| [user, assistant]);
            let messages = settled(system.into_iter().chain(turns).chain([last]).collect());
            let (stop, config, beta) = rest;
            let attachments = [beta, config].concat();
            let mut request =
                Request { messages, tools, reasoning, output, stop, attachments, ..Request::default() };
            request.tool_choice = choice;
            request.max_tokens = numbers.2;
            if request.reasoning.as_ref().is_some_and(|reasoning| reasoning.enabled) {
                request.tool_choice = request.tool_choice.map(|_| ToolChoice::Auto);
                // Calls without reasoning before them forbid a budget.
                request.messages.iter_mut().for_each(without_results);
            } else {
                (request.sampling.temperature, request.sampling.top_k) = (numbers.0, numbers.1);
            }
            let calls = request.tool_choice.as_ref().is_some_and(|choice| *choice != ToolChoice::None);
            request.parallel_tools = (single && calls).then_some(false);
            request.collect_needs();
            request
        },
    )
}

fn without_results(message: &mut Message) {
    message.blocks.retain(|block| !matches!(block.kind, BlockKind::ToolResult { .. }));
}

/// An answer that it can express.
pub(crate) fn answers() -> impl Strategy<Value = Response> {
    let opaque = BlockKind::Opaque {
        dialect: SELF,
        json: Json::fixed(
            r#"{"toolUse":{"toolUseId":"s","name":"nova_grounding","type":"server_tool_use"}}"#,
        ),
    };
    let kind = prop_oneof![
        text().prop_map(|text| BlockKind::Text(text).into()),
        cited(),
        signed(),
        redacted(),
        answers::call(),
        Just(opaque.into())
    ];
    let stop = select(vec![
        StopReason::EndTurn,
        StopReason::MaxTokens,
        StopReason::StopSequence,
        StopReason::ContentFilter,
        StopReason::Other(Text::fixed("model_context_window_exceeded")),
    ]);
    (vec(kind, 0..5), stop, usage(), option::of(text())).prop_map(|(blocks, stop, usage, sequence)| {
        let stop = match stop {
            StopReason::EndTurn if has_call(&blocks) => StopReason::ToolUse,
            stop => stop,
        };
        let stop_sequence = sequence.filter(|_| stop == StopReason::StopSequence);
        let response = response(blocks, stop, Some(usage));
        Response { id: Text::default(), model: Text::default(), stop_sequence, ..response }
    })
}

/// A request to mutate.
pub(crate) fn request() -> Value {
    json!({"system": [{"text": "s"}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
        "messages": [
            {"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": "AA=="}}},
                {"document": {"format": "pdf", "name": "d", "source": {"s3Location": {"uri": "s3://a/b"}}}}]},
            {"role": "assistant", "content": [
                {"reasoningContent": {"reasoningText": {"text": "t", "signature": "s"}}},
                {"citationsContent": {"content": [{"text": "x"}], "citations": [{"title": "t"}]}},
                {"toolUse": {"toolUseId": "a.b", "name": "f", "input": {"_malformed_arguments": "x"}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "a.b", "status": "error",
                "content": [{"json": {"a": 1}}, {"text": "ok"}]}}, {"cachePoint": {"type": "default"}}]}],
        "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {}}}}],
            "toolChoice": {"any": {}}},
        "inferenceConfig": {"maxTokens": 5, "temperature": 0.5, "stopSequences": ["a"]},
        "outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": "{}"}}}},
        "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 2000}, "top_k": 1,
            "tool_choice": {"type": "any", "disable_parallel_tool_use": true}}})
}

/// An answer to mutate.
pub(crate) fn answer() -> Value {
    json!({"output": {"message": {"role": "assistant", "content": [{"text": "x"},
        {"reasoningContent": {"redactedContent": "AA=="}},
        {"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}]}}, "stopReason": "end_turn",
        "additionalModelResponseFields": {"stop_sequence": "s"}, "metrics": {"latencyMs": 1},
        "usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3,
            "cacheDetails": [{"ttl": "1h", "inputTokens": 1}]}})
}

/// Events to mutate; `type` tells what the header would.
pub(crate) fn events() -> Vec<Value> {
    let delta = |delta: Value| json!({"type": "contentBlockDelta", "contentBlockIndex": 0, "delta": delta});
    vec![
        json!({"type": "messageStart", "role": "assistant"}),
        json!({"type": "contentBlockStart", "contentBlockIndex": 0,
            "start": {"toolUse": {"toolUseId": "a", "name": "f"}}}),
        delta(json!({"text": "x"})),
        delta(json!({"toolUse": {"input": "{"}})),
        delta(json!({"reasoningContent": {"text": "t"}})),
        delta(json!({"reasoningContent": {"redactedContent": "AA=="}})),
        delta(json!({"citation": {"title": "t", "location": {"web": {"url": "u"}}}})),
        json!({"type": "contentBlockStop", "contentBlockIndex": 0}),
        json!({"type": "messageStop", "stopReason": "end_turn"}),
        json!({"type": "metadata", "usage": {"inputTokens": 1}}),
        json!({"type": "modelStreamErrorException", "originalMessage": "m", "originalStatusCode": 500}),
    ]
}
