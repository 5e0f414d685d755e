//! Requests that Gemini can express without loss.

use super::json::{number, schema, text, word};
use proptest::{collection::vec, option, prelude::*, sample::select};
use trestle_dialect::{
    Dialect,
    ir::{
        Attachment, Block, BlockKind, Json, Media, MediaSource, Message, OutputFormat, Reasoning, Request,
        Role, Sampling, Sealed, Text, Tool, ToolChoice, ToolKind,
    },
};

const SELF: Dialect = Dialect::Gemini;

fn attachment(name: &'static str) -> impl Strategy<Value = Vec<Attachment>> {
    let one = Attachment { dialect: SELF, name: Text::fixed(name), value: Json::fixed(r#"[{"a": 1}]"#) };
    vec(Just(one), 0..2)
}

fn sealed() -> impl Strategy<Value = Sealed> {
    word().prop_map(|data| Sealed { dialect: SELF, data })
}

/// A block with a signature, or none.
fn signed(kind: impl Strategy<Value = BlockKind>) -> impl Strategy<Value = Block> {
    (kind, option::of(sealed())).prop_map(|(kind, signature)| Block { signature, ..kind.into() })
}

fn media() -> impl Strategy<Value = Block> {
    let of = |source, media_type| Media::new(source, Some(Text::fixed(media_type)));
    let base64 = |data| MediaSource::Base64(Text::fixed(data));
    let url = MediaSource::Url(Text::fixed("https://example.com/a.png"));
    let file = MediaSource::File(SELF, Text::fixed("gs://bucket/film"));
    let kinds = vec![
        BlockKind::Image(of(base64("iVBORw0="), "image/png")),
        BlockKind::Image(of(url, "image/png")),
        BlockKind::Document(of(base64("JVBERi0="), "application/pdf")),
        BlockKind::Audio(of(base64("UklG"), "audio/wav")),
        BlockKind::Video(of(file, "video/mp4")),
    ];
    (select(kinds), attachment("videoMetadata"))
        .prop_map(|(kind, attachments)| Block { attachments, ..kind.into() })
}

fn call() -> impl Strategy<Value = BlockKind> {
    let input = select(vec!["{}", r#"{"city":"Oslo \"x\""}"#, "{ \"a\" : [1] }", "{\"a\":", "[1]"]);
    (word(), input).prop_map(|(name, input)| BlockKind::ToolUse {
        id: Text::default(),
        name,
        input: Text::new(input),
    })
}

fn model_block() -> impl Strategy<Value = Block> {
    let code = BlockKind::Opaque { dialect: SELF, json: Json::fixed(r#"{"executableCode":{"code":"x"}}"#) };
    prop_oneof![
        signed(text().prop_map(BlockKind::Text)),
        signed(text().prop_map(BlockKind::Thinking)),
        signed(call()),
        sealed().prop_map(|sealed| BlockKind::RedactedThinking(sealed).into()),
        Just(code.into()),
    ]
}

type Result = (Option<Text>, bool);

/// A turn of the user and one of the model, and what the tools will say.
fn turn() -> impl Strategy<Value = (Vec<Block>, Vec<Block>, Vec<Result>)> {
    let said = prop_oneof![text().prop_map(|text| BlockKind::Text(text).into()), media()];
    (vec(said, 1..3), vec(model_block(), 1..4), vec((option::of(text()), any::<bool>()), 4))
}

fn messages() -> impl Strategy<Value = Vec<Message>> {
    let system = vec(text().prop_map(|text| Block::from(BlockKind::Text(text))), 1..3);
    (option::of(system), vec(turn(), 1..4)).prop_map(|(system, turns)| {
        let message = |role, blocks| Message { role, blocks, name: None, attachments: Vec::new() };
        let mut messages: Vec<Message> =
            system.map(|blocks| message(Role::System, blocks)).into_iter().collect();
        let mut pending: Vec<Block> = Vec::new();
        // Pieces of one thought, on this wire.
        let same = |one: &Block, before: &Block| {
            let thought = |block: &Block| matches!(block.kind, BlockKind::Thinking(_));
            thought(one) && thought(before) && before.signature.is_none()
        };
        for (i, (said, mut answer, results)) in turns.into_iter().enumerate() {
            answer.dedup_by(|one, before| same(one, before));
            let mut blocks = std::mem::take(&mut pending);
            blocks.extend(said);
            messages.push(message(Role::User, blocks));
            for (n, (block, (content, is_error))) in answer.iter_mut().zip(results).enumerate() {
                if let BlockKind::ToolUse { id, .. } = &mut block.kind {
                    *id = Text::new(&format!("c{i}_{n}"));
                    let content = content.map(|text| BlockKind::Text(text).into()).into_iter().collect();
                    pending.push(BlockKind::ToolResult { id: id.clone(), content, is_error }.into());
                }
            }
            messages.push(message(Role::Assistant, answer));
        }
        messages
    })
}

fn tools() -> impl Strategy<Value = Vec<Tool>> {
    let function = (word(), option::of(text()), option::of(schema()), attachment("behavior")).prop_map(
        |(name, description, parameters, attachments)| Tool {
            kind: ToolKind::Function { name, description, parameters, strict: None },
            cache: None,
            attachments,
        },
    );
    let search = ToolKind::Opaque { dialect: SELF, json: Json::fixed(r#"{"googleSearch":{}}"#) };
    let search = Tool { kind: search, cache: None, attachments: Vec::new() };
    (vec(function, 1..3), vec(Just(search), 0..2)).prop_map(|(functions, own)| [functions, own].concat())
}

fn output() -> impl Strategy<Value = OutputFormat> {
    let (name, description, strict) = (None, None, None);
    prop_oneof![
        Just(OutputFormat::Text),
        Just(OutputFormat::JsonObject),
        schema().prop_map(move |schema| OutputFormat::JsonSchema {
            name: name.clone(),
            description: Option::clone(&description),
            schema,
            strict
        }),
    ]
}

/// How much to think, for a model that is told a budget.
fn reasoning() -> impl Strategy<Value = Reasoning> {
    let hidden =
        Attachment { dialect: SELF, name: Text::fixed("includeThoughts"), value: Json::fixed("false") };
    prop_oneof![
        Just(Reasoning::default()),
        Just(Reasoning { enabled: true, ..Reasoning::default() }),
        (1..50_000_u64, vec(Just(hidden), 0..2)).prop_map(|(tokens, attachments)| Reasoning {
            enabled: true,
            effort: None,
            budget_tokens: Some(tokens),
            attachments: attachments.into_iter().take(1).collect(),
        }),
    ]
}

/// For Gemini.
pub(crate) fn gemini() -> impl Strategy<Value = Request> {
    let choice = prop_oneof![
        Just(ToolChoice::Auto),
        Just(ToolChoice::None),
        Just(ToolChoice::Required),
        word().prop_map(ToolChoice::Named),
    ];
    let said = (messages(), tools(), option::of(choice));
    let numbers =
        (number(&["0.5", "2"]), number(&["0.9"]), number(&["40"]), number(&["-1.5"]), number(&["7"]));
    let limits = (option::of(1..9000_u64), vec(text(), 0..3), option::of(0..20_u64));
    let rest = (option::of(output()), option::of(reasoning()));
    let attachments = (
        attachment("toolConfig.retrievalConfig"),
        attachment("generationConfig.mediaResolution"),
        attachment("safetySettings"),
    );
    (said, numbers, limits, rest, attachments).prop_map(
        |((messages, tools, tool_choice), numbers, limits, (output, reasoning), attachments)| {
            let (temperature, top_p, top_k, frequency_penalty, seed) = numbers;
            let (max_tokens, stop, logprobs) = limits;
            let presence_penalty = None;
            let sampling = Sampling { temperature, top_p, top_k, frequency_penalty, presence_penalty, seed };
            let mut attachments = [attachments.0, attachments.1, attachments.2].concat();
            attachments.dedup();
            let mut request = Request {
                messages,
                tools,
                tool_choice,
                max_tokens,
                stop,
                logprobs,
                output,
                reasoning,
                sampling,
                attachments,
                ..Request::default()
            };
            request.collect_needs();
            request
        },
    )
}
