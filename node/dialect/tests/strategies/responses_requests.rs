//! Requests that OpenAI Responses can express without loss.

use super::{
    json::{number, schema, text, word},
    requests::{attachment, bare, base, block, call, document, image, message},
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use trestle_dialect::{
    Dialect,
    ir::{
        Attachment, Block, BlockKind, Citation, Json, Media, MediaSource, Message, OutputFormat, Reasoning,
        Request, Role, Sampling, Sealed, Text, Tool, ToolKind,
    },
};

const SELF: Dialect = Dialect::OpenAiResponses;

/// Requests.
pub(crate) fn responses() -> impl Strategy<Value = Request> {
    let reasoning = option::of((select(vec!["low", "high"]), attachment(SELF, "summary")).prop_map(
        |(effort, attachments)| Reasoning {
            enabled: true,
            effort: Some(Text::fixed(effort)),
            budget_tokens: None,
            attachments,
        },
    ));
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
    let numbers = (number(&["0.5", "2", "1e0"]), number(&["0.9"]), option::of(0..20_u64));
    let rest = (reasoning, output, numbers, attachments());
    (base(), messages(), rest).prop_map(|(base, messages, (reasoning, output, numbers, attachments))| {
        let (temperature, top_p, logprobs) = numbers;
        let sampling = Sampling { temperature, top_p, ..Sampling::default() };
        let tools = base.tools.into_iter().map(strict).collect();
        let mut request = Request {
            messages,
            tools,
            reasoning,
            output,
            sampling,
            logprobs,
            attachments,
            stop: Vec::new(),
            ..base
        };
        request.collect_needs();
        request
    })
}

/// Where nothing is said, a function is strict here.
fn strict(tool: Tool) -> Tool {
    match tool.kind {
        ToolKind::Function { name, description, parameters, strict } => {
            let strict = Some(strict.unwrap_or(false));
            Tool { kind: ToolKind::Function { name, description, parameters, strict }, ..tool }
        }
        ToolKind::Opaque { .. } => tool,
    }
}

/// In the order in which they are read: those of `text` first, as it is written before them, `include` last.
fn attachments() -> impl Strategy<Value = Vec<Attachment>> {
    let all = [
        ("text.verbosity", r#""low""#),
        ("store", "true"),
        ("metadata", r#"{"a": "b"}"#),
        ("previous_response_id", r#""resp_1""#),
        ("include", r#"["file_search_call.results"]"#),
    ];
    proptest::sample::subsequence(all.to_vec(), 0..=all.len()).prop_map(|list| {
        let attachment =
            |(name, value)| Attachment { dialect: SELF, name: Text::fixed(name), value: Json::fixed(value) };
        list.into_iter().map(attachment).collect()
    })
}

fn messages() -> impl Strategy<Value = Vec<Message>> {
    let said = || text().prop_map(BlockKind::Text);
    let system = (select(vec![Role::System, Role::Developer]), vec(block(said()), 1..3))
        .prop_map(|(role, blocks)| message(role, blocks));
    let instructions = said().prop_map(|kind| message(Role::System, vec![bare(kind)]));
    let turns = vec((option::of(system), user(), assistant()), 1..4);
    (option::of(instructions), turns).prop_map(|(instructions, turns)| {
        let turns = turns
            .into_iter()
            .flat_map(|(system, user, assistant)| system.into_iter().chain([user, assistant]));
        instructions.into_iter().chain(turns).collect()
    })
}

fn opaque(json: &'static str) -> Block {
    bare(BlockKind::Opaque { dialect: SELF, json: Json::fixed(json) })
}

fn user() -> impl Strategy<Value = Message> {
    let file = Media::new(MediaSource::File(SELF, Text::fixed("file-1")), None);
    let url = Media::new(MediaSource::Url(Text::fixed("https://example.com/a.pdf")), None);
    let named =
        document().prop_map(|media| Media { title: media.title.or(Some(Text::fixed("a.pdf"))), ..media });
    let seen = prop_oneof![
        text().prop_map(BlockKind::Text),
        (image(), option::of(Just(Text::fixed("high"))))
            .prop_map(|(media, detail)| BlockKind::Image(Media { detail, ..media })),
        named.prop_map(BlockKind::Document),
        Just(BlockKind::Document(url)),
        Just(BlockKind::Image(file.clone())),
        Just(BlockKind::Document(file)),
    ]
    .boxed();
    let result = (word(), vec(block(seen.clone()), 0..3)).prop_map(|(id, content)| BlockKind::ToolResult {
        id,
        content,
        is_error: false,
    });
    let results = prop_oneof![
        6 => block(result),
        1 => Just(opaque(r#"{"type":"custom_tool_call_output","call_id":"c","output":"x"}"#)),
        1 => Just(opaque(r#"{"type":"item_reference","id":"msg_1"}"#)),
    ];
    let said = (block(seen), attachment(SELF, "x_new"))
        .prop_map(|(block, attachments)| Block { attachments, ..block });
    (vec(results, 0..3), vec(said, 1..4))
        .prop_map(|(results, said)| message(Role::User, [results, said].concat()))
}

/// The two things that the vendor wants back.
pub(crate) fn own_proof() -> impl Strategy<Value = Sealed> {
    (word(), word()).prop_map(|(id, data)| Sealed {
        dialect: SELF,
        data: Text::new(&format!("rs_{}:{}", id.plain(), data.plain())),
    })
}

fn assistant() -> impl Strategy<Value = Message> {
    let thinking = prop_oneof![
        (text(), option::of(own_proof()))
            .prop_map(|(text, signature)| Block { signature, ..bare(BlockKind::Thinking(text)) }),
        own_proof().prop_map(|sealed| bare(BlockKind::RedactedThinking(sealed))),
    ];
    let phase =
        Attachment { dialect: SELF, name: Text::fixed("phase"), value: Json::fixed(r#""commentary""#) };
    let said = (block(text().prop_map(BlockKind::Text)), vec(citation(), 0..2), option::of(Just(phase)))
        .prop_map(|(block, citations, phase)| Block {
            citations,
            attachments: phase.into_iter().collect(),
            ..block
        });
    let blocks = prop_oneof![
        3 => thinking,
        4 => said,
        1 => text().prop_map(|text| bare(BlockKind::Refusal(text))),
        3 => block(call()),
        1 => Just(opaque(r#"{"type":"web_search_call","id":"ws_1","status":"completed"}"#)),
    ];
    vec(blocks, 1..5).prop_map(|blocks| message(Role::Assistant, blocks))
}

/// Where a text of this dialect comes from.
pub(crate) fn citation() -> impl Strategy<Value = Citation> {
    let json = r#"{"type":"url_citation","start_index":1,"end_index":3,"url":"https://a","title":"A"}"#;
    Just(Citation {
        dialect: SELF,
        json: Json::fixed(json),
        span: Some((1, 3)),
        url: Some(Text::fixed("https://a")),
        title: Some(Text::fixed("A")),
        cited_text: None,
    })
}
