//! Requests that a dialect can express without loss.

use super::{
    json::{closed_schema, mark, number, schema, text, word},
    sources,
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use trestle_dialect::{
    Dialect,
    ir::{
        Attachment, Block, BlockKind, Json, Media, MediaSource, Message, OutputFormat, Reasoning, Request,
        Role, Sampling, Sealed, Text, Tool, ToolChoice, ToolKind,
    },
};

pub(crate) fn block(kind: impl Strategy<Value: Into<Block>>) -> impl Strategy<Value = Block> {
    (kind, mark()).prop_map(|(kind, cache)| Block { cache, ..kind.into() })
}

pub(crate) fn bare(kind: BlockKind) -> Block {
    kind.into()
}

pub(crate) fn message(role: Role, blocks: Vec<Block>) -> Message {
    Message { role, blocks, name: None, attachments: Vec::new() }
}

pub(crate) fn attachment(dialect: Dialect, name: &'static str) -> impl Strategy<Value = Vec<Attachment>> {
    let one = Attachment { dialect, name: Text::fixed(name), value: Json::fixed(r#"{"a": [1, "b"]}"#) };
    vec(Just(one), 0..2)
}

pub(crate) fn image() -> impl Strategy<Value = Media> {
    prop_oneof![
        Just(Media::new(MediaSource::Url(Text::fixed("https://example.com/a.png")), None)),
        Just(Media::new(MediaSource::Base64(Text::fixed("iVBORw0=")), Some(Text::fixed("image/png")))),
    ]
}

pub(crate) fn document() -> impl Strategy<Value = Media> {
    option::of(text()).prop_map(|title| Media {
        title,
        ..Media::new(MediaSource::Base64(Text::fixed("JVBERi0=")), Some(Text::fixed("application/pdf")))
    })
}

fn thinking() -> impl Strategy<Value = Block> {
    let sealed = || word().prop_map(|data| Sealed { dialect: Dialect::AnthropicMessages, data });
    prop_oneof![
        (text(), sealed())
            .prop_map(|(text, sealed)| Block { signature: Some(sealed), ..bare(BlockKind::Thinking(text)) }),
        sealed().prop_map(|sealed| bare(BlockKind::RedactedThinking(sealed))),
    ]
}

pub(crate) fn call() -> impl Strategy<Value = BlockKind> {
    let input =
        select(vec!["{}", r#"{"city":"Oslo \"x\""}"#, "{ \"a\" : [1] }", "{\"a\":", "[1]", "nonsense"]);
    (word(), word(), input).prop_map(|(id, name, input)| BlockKind::ToolUse {
        id,
        name,
        input: Text::new(input),
    })
}

pub(crate) fn function() -> impl Strategy<Value = Tool> {
    (word(), option::of(text()), schema(), option::of(any::<bool>()), mark()).prop_map(
        |(name, description, parameters, strict, cache)| Tool {
            kind: ToolKind::Function { name, description, parameters: Some(parameters), strict },
            cache,
            attachments: Vec::new(),
        },
    )
}

fn choice() -> impl Strategy<Value = ToolChoice> {
    prop_oneof![
        Just(ToolChoice::Auto),
        Just(ToolChoice::None),
        Just(ToolChoice::Required),
        word().prop_map(ToolChoice::Named),
    ]
}

/// What both dialects share: tools, choice, limit, stop texts, user.
pub(crate) fn base() -> impl Strategy<Value = Request> {
    let tools = (vec(function(), 1..3), option::of(choice()), option::of(any::<bool>()));
    let limits = (any::<bool>(), 20_000..100_000_u64, vec(text(), 0..3), option::of(text()));
    (tools, limits).prop_map(|((tools, choice, parallel), (stream, tokens, stop, user))| {
        let parallel_tools =
            parallel.filter(|_| choice.as_ref().is_some_and(|choice| *choice != ToolChoice::None));
        Request {
            model: Text::fixed("m"),
            stream,
            tools,
            tool_choice: choice,
            parallel_tools,
            max_tokens: Some(tokens),
            stop,
            user,
            ..Request::default()
        }
    })
}

/// For OpenAI Chat, where a provider takes all that its extensions offer.
pub(crate) fn openai() -> impl Strategy<Value = Request> {
    let reasoning = option::of(select(vec!["low", "high"]).prop_map(|effort| Reasoning {
        enabled: true,
        effort: Some(Text::fixed(effort)),
        ..Reasoning::default()
    }));
    let output = option::of(prop_oneof![
        Just(OutputFormat::Text),
        Just(OutputFormat::JsonObject),
        (word(), option::of(text()), schema(), option::of(any::<bool>())).prop_map(
            |(name, description, schema, strict)| OutputFormat::JsonSchema {
                name: Some(name),
                description,
                schema,
                strict
            }
        ),
    ]);
    let sampling = (number(&["0.5", "2", "1e0"]), number(&["0.9"]), number(&["-1.5"]), number(&["7"]));
    let attachments = attachment(Dialect::OpenAiChat, "logit_bias");
    let rest = (reasoning, output, sampling, attachments, option::of(0..21_u64));
    (base(), openai_messages(), rest).prop_map(
        |(base, messages, (reasoning, output, numbers, attachments, logprobs))| {
            let (temperature, top_p, frequency_penalty, seed) = numbers;
            let sampling =
                Sampling { temperature, top_p, frequency_penalty, seed, top_k: None, presence_penalty: None };
            let mut request =
                Request { messages, reasoning, output, sampling, logprobs, attachments, ..base };
            request.collect_needs();
            request
        },
    )
}

fn openai_messages() -> impl Strategy<Value = Vec<Message>> {
    let system =
        (select(vec![Role::System, Role::Developer]), vec(block(text().prop_map(BlockKind::Text)), 1..3))
            .prop_map(|(role, blocks)| message(role, blocks));
    let turns = vec((option::of(system), openai_user(), openai_assistant()), 1..4);
    turns.prop_map(|turns| {
        turns
            .into_iter()
            .flat_map(|(system, user, assistant)| system.into_iter().chain([user, assistant]))
            .collect()
    })
}

fn openai_user() -> impl Strategy<Value = Message> {
    let result = (word(), option::of(text())).prop_map(|(id, text)| {
        let content = text.map(|text| bare(BlockKind::Text(text))).into_iter().collect();
        BlockKind::ToolResult { id, content, is_error: false }
    });
    let audio = Media::new(MediaSource::Base64(Text::fixed("UklG")), Some(Text::fixed("audio/wav")));
    let said = prop_oneof![
        text().prop_map(BlockKind::Text),
        (image(), option::of(Just(Text::fixed("high"))))
            .prop_map(|(media, detail)| BlockKind::Image(Media { detail, ..media })),
        document().prop_map(BlockKind::Document),
        Just(BlockKind::Audio(audio)),
    ];
    (vec(block(result), 0..3), vec(block(said), 1..4), option::of(word()))
        .prop_map(|(results, said, name)| Message { name, ..message(Role::User, [results, said].concat()) })
}

fn openai_assistant() -> impl Strategy<Value = Message> {
    let thoughts =
        prop_oneof![text().prop_map(|text| vec![bare(BlockKind::Thinking(text))]), vec(thinking(), 0..3),];
    let proof = || option::of(word().prop_map(|data| Sealed { dialect: Dialect::Gemini, data }));
    let said =
        (text(), vec(sources::annotation(), 0..3), proof()).prop_map(|(text, citations, signature)| Block {
            citations,
            signature,
            ..bare(BlockKind::Text(text))
        });
    let call = (block(call()), proof()).prop_map(|(call, signature)| Block { signature, ..call });
    let parts = (thoughts, option::of(said), option::of(text()), vec(call, 0..3));
    parts.prop_map(|(thoughts, said, refusal, calls)| {
        let mut blocks: Vec<Block> = thoughts;
        blocks.extend(said);
        blocks.extend(refusal.map(|text| bare(BlockKind::Refusal(text))));
        blocks.extend(calls);
        message(Role::Assistant, blocks)
    })
}

/// For Anthropic Messages, and a model that is told an effort.
pub(crate) fn anthropic() -> impl Strategy<Value = Request> {
    let on = Reasoning { enabled: true, ..Reasoning::default() };
    let reasoning = option::of(prop_oneof![
        Just(Reasoning::default()),
        (1024..20_000_u64).prop_map({
            let on = on.clone();
            move |tokens| Reasoning { budget_tokens: Some(tokens), ..on.clone() }
        }),
        Just(Reasoning { effort: Some(Text::fixed("low")), ..on.clone() }),
        attachment(Dialect::AnthropicMessages, "display")
            .prop_map(move |attachments| Reasoning { attachments, ..on.clone() }),
    ]);
    let output = option::of(closed_schema().prop_map(|schema| OutputFormat::JsonSchema {
        name: None,
        description: None,
        schema,
        strict: None,
    }));
    let numbers = (number(&["0.5", "1.0"]), number(&["40"]));
    let rest = (reasoning, output, numbers, attachment(Dialect::AnthropicMessages, "context_management"));
    (base(), anthropic_messages(), rest).prop_map(
        |(base, messages, (reasoning, output, numbers, attachments))| {
            let mut request = Request { messages, reasoning, output, attachments, ..base };
            if request.reasoning.as_ref().is_some_and(|reasoning| reasoning.enabled) {
                // A thinking model takes no other choice and no sampling.
                request.tool_choice = request.tool_choice.map(|_| ToolChoice::Auto);
            } else {
                (request.sampling.temperature, request.sampling.top_k) = numbers;
            }
            request.collect_needs();
            request
        },
    )
}

fn anthropic_messages() -> impl Strategy<Value = Vec<Message>> {
    let said = || text().prop_map(BlockKind::Text);
    let system = vec(block(said()), 1..3).prop_map(|blocks| message(Role::System, blocks));
    let user = vec(anthropic_user_block(), 1..4).prop_map(|blocks| message(Role::User, blocks));
    let opaque = BlockKind::Opaque {
        dialect: Dialect::AnthropicMessages,
        json: Json::fixed(r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#),
    };
    let proof = option::of(word().prop_map(|data| Sealed { dialect: Dialect::AnthropicMessages, data }));
    let cited = (block(said()), vec(sources::location(), 0..3))
        .prop_map(|(block, citations)| Block { citations, ..block });
    let call = (block(call()), proof).prop_map(|(call, signature)| Block { signature, ..call });
    let own = prop_oneof![6 => prop_oneof![cited, call], 3 => block(thinking()), 1 => Just(bare(opaque))];
    let assistant = vec(own, 1..4).prop_map(|blocks| message(Role::Assistant, blocks));
    let last = said().prop_map(|kind| message(Role::User, vec![bare(kind)]));
    (option::of(system), vec((user, assistant), 0..3), last).prop_map(|(system, turns, last)| {
        let turns = turns.into_iter().flat_map(|(user, assistant)| [user, assistant]);
        system.into_iter().chain(turns).chain([last]).collect()
    })
}

fn anthropic_user_block() -> impl Strategy<Value = Block> {
    let plain = Media::new(MediaSource::Plain(Text::fixed("Plain.")), Some(Text::fixed("text/plain")));
    let file = Media::new(MediaSource::File(Dialect::AnthropicMessages, Text::fixed("file_1")), None);
    let seen = prop_oneof![
        text().prop_map(BlockKind::Text),
        image().prop_map(BlockKind::Image),
        document().prop_map(BlockKind::Document),
        Just(BlockKind::Document(plain)),
        Just(BlockKind::Image(file)),
    ]
    .boxed();
    let result = (word(), vec(block(seen.clone()), 0..3), any::<bool>())
        .prop_map(|(id, content, is_error)| BlockKind::ToolResult { id, content, is_error });
    let kind = prop_oneof![seen, result];
    (block(kind), attachment(Dialect::AnthropicMessages, "context"))
        .prop_map(|(block, attachments)| Block { attachments, ..block })
}
