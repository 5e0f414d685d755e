//! Requests and answers that Cohere v2 Chat can express without loss.

use super::{
    answers::sealed,
    json::{number, schema, text, word},
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use trestle_dialect::{
    Dialect,
    ir::{
        Attachment, Block, BlockKind, Citation, Json, Likelihood, Media, MediaSource, Message, OutputFormat,
        Reasoning, Request, Response, Role, Sampling, StopReason, Text, TokenLogprob, Tool, ToolChoice,
        ToolKind, Usage,
    },
};

const SELF: Dialect = Dialect::CohereChat;

fn message(role: Role, blocks: Vec<Block>) -> Message {
    Message { role, blocks, name: None, attachments: Vec::new() }
}

fn own(name: &'static str, value: &'static str) -> Attachment {
    Attachment { dialect: SELF, name: Text::fixed(name), value: Json::fixed(value) }
}

fn call() -> impl Strategy<Value = Block> {
    let input =
        select(vec!["{}", r#"{"city":"Oslo \"x\" }"}"#, "{ \"a\" : [1, {}] }", "nul", "{\"a\":", "nonsense"]);
    (word(), word(), input)
        .prop_map(|(id, name, input)| BlockKind::ToolUse { id, name, input: Text::new(input) }.into())
}

fn document() -> impl Strategy<Value = Block> {
    let titled = |(text, title)| {
        let media = Media::new(MediaSource::Plain(text), Some(Text::fixed("text/plain")));
        Media { title, ..media }
    };
    let json = Text::new(r#"{"snippet": "a \"b\"", "n": [1]}"#);
    let media = prop_oneof![
        (text(), option::of(text())).prop_map(titled),
        Just(Media::new(MediaSource::Plain(json), Some(Text::fixed("application/json")))),
    ];
    (media, vec(Just(own("id", r#""doc-1""#)), 0..2))
        .prop_map(|(media, attachments)| Block { attachments, ..BlockKind::Document(media).into() })
}

fn user() -> impl Strategy<Value = Message> {
    let inner = prop_oneof![text().prop_map(|text| BlockKind::Text(text).into()), document()];
    let result = (word(), vec(inner, 0..3))
        .prop_map(|(id, content)| Block::from(BlockKind::ToolResult { id, content, is_error: false }));
    let detail = option::of(Just(Text::fixed("low")));
    let media = select(vec![
        Media::new(MediaSource::Url(Text::fixed("https://example.com/a.png")), None),
        Media::new(MediaSource::Base64(Text::fixed("iVBORw0=")), Some(Text::fixed("image/png"))),
    ]);
    let image = (media, detail).prop_map(|(media, detail)| BlockKind::Image(Media { detail, ..media }));
    let said = prop_oneof![text().prop_map(BlockKind::Text), image].prop_map(Block::from);
    (vec(result, 0..3), vec(said, 1..3))
        .prop_map(|(results, said)| message(Role::User, [results, said].concat()))
}

fn assistant() -> impl Strategy<Value = Message> {
    let part = prop_oneof![text().prop_map(BlockKind::Text), text().prop_map(BlockKind::Thinking)];
    let content = vec(part.prop_map(Block::from), 1..3);
    let calls = (option::of(text()), vec(call(), 1..3)).prop_map(|(plan, calls)| {
        plan.map(|plan| Block::from(BlockKind::Thinking(plan))).into_iter().chain(calls).collect()
    });
    let both =
        (content.clone(), any::<bool>(), calls).prop_map(|(content, says, calls): (Vec<_>, _, Vec<_>)| {
            if says { [content, calls].concat() } else { calls }
        });
    prop_oneof![content, both].prop_map(|blocks| message(Role::Assistant, cited(blocks)))
}

/// With a citation for each text of the content.
fn cited(mut blocks: Vec<Block>) -> Vec<Block> {
    for (index, block) in blocks.iter_mut().enumerate() {
        if matches!(block.kind, BlockKind::Text(_)) {
            block.citations.push(citation(index));
        }
    }
    blocks
}

fn citation(index: usize) -> Citation {
    let json = format!(
        r#"{{"start":0,"end":1,"text":"x","sources":[{{"type":"document","id":"d","document":{{"id":"d","title":"T","text":"xy"}}}}],"content_index":{index},"type":"TEXT_CONTENT"}}"#
    );
    Citation {
        dialect: SELF,
        json: Json::parse(&json).unwrap(),
        span: Some((0, 1)),
        url: None,
        title: Some(Text::fixed("T")),
        cited_text: Some(Text::fixed("xy")),
    }
}

fn tools() -> impl Strategy<Value = Vec<Tool>> {
    let tool = (word(), option::of(text()), schema());
    (vec(tool, 0..3), option::of(any::<bool>())).prop_map(|(tools, strict)| {
        let tool = |(name, description, schema)| Tool {
            kind: ToolKind::Function { name, description, parameters: Some(schema), strict },
            cache: None,
            attachments: Vec::new(),
        };
        tools.into_iter().map(tool).collect()
    })
}

/// A request that says all that the dialect can say.
pub(crate) fn request() -> impl Strategy<Value = Request> {
    let thinking = prop_oneof![
        Just(Reasoning::default()),
        option::of(1..9000_u64).prop_map(|budget_tokens| Reasoning {
            enabled: true,
            budget_tokens,
            ..Reasoning::default()
        }),
    ];
    let output = prop_oneof![
        Just(OutputFormat::Text),
        Just(OutputFormat::JsonObject),
        schema().prop_map(|schema| {
            OutputFormat::JsonSchema { name: None, description: None, schema, strict: None }
        }),
    ];
    let choice = option::of(select(vec![ToolChoice::None, ToolChoice::Required]));
    let numbers =
        (number(&["0.5", "1e0"]), number(&["0.75"]), number(&["40"]), number(&["0.3"]), number(&["7"]));
    let limits = (any::<bool>(), option::of(1..9000_u64), vec(text(), 0..3), option::of(Just(0)));
    let rest = vec(Just(own("safety_mode", r#""STRICT""#)), 0..2);
    let form = (option::of(thinking), option::of(output), tools(), choice);
    (messages(), numbers, limits, form, rest).prop_map(|(messages, numbers, limits, form, attachments)| {
        let ((stream, max_tokens, stop, logprobs), (reasoning, output, tools, choice)) = (limits, form);
        let (temperature, top_p, top_k, frequency_penalty, seed) = numbers;
        let sampling =
            Sampling { temperature, top_p, top_k, frequency_penalty, seed, presence_penalty: None };
        let is_json = output.as_ref().is_some_and(|output| *output != OutputFormat::Text);
        let tools = if is_json { Vec::new() } else { tools };
        let tool_choice = choice.filter(|_| !tools.is_empty());
        let (model, user, parallel_tools) = (Text::fixed("m"), None, None);
        let mut request = Request {
            model,
            stream,
            messages: if is_json { without_documents(messages) } else { messages },
            tools,
            tool_choice,
            parallel_tools,
            max_tokens,
            sampling,
            stop,
            output,
            reasoning,
            logprobs,
            user,
            attachments,
            ..Request::default()
        };
        request.collect_needs();
        request
    })
}

/// The documents stand before the last thing that the user says.
fn messages() -> impl Strategy<Value = Vec<Message>> {
    let system = vec(text().prop_map(|text| BlockKind::Text(text).into()), 1..3)
        .prop_map(|blocks| message(Role::System, blocks));
    let turns = vec((user(), assistant()), 0..3);
    (option::of(system), turns, user(), vec(document(), 0..3)).prop_map(
        |(system, turns, mut last, documents)| {
            let is_result = |block: &Block| matches!(block.kind, BlockKind::ToolResult { .. });
            let at = last.blocks.iter().position(|block| !is_result(block)).unwrap();
            last.blocks.splice(at..at, documents);
            let turns = turns.into_iter().flat_map(|(user, assistant)| [user, assistant]);
            system.into_iter().chain(turns).chain([last]).collect()
        },
    )
}

fn without_documents(mut messages: Vec<Message>) -> Vec<Message> {
    for message in &mut messages {
        message.blocks.retain(|block| !matches!(block.kind, BlockKind::Document(_)));
    }
    messages
}

/// An answer that the dialect can express.
pub(crate) fn answer() -> impl Strategy<Value = Response> {
    let part = prop_oneof![
        text().prop_map(|text| BlockKind::Text(text).into()),
        text().prop_map(|text| BlockKind::Thinking(text).into()),
        (text(), sealed())
            .prop_map(|(text, seal)| Block { signature: Some(seal), ..BlockKind::Thinking(text).into() }),
        sealed().prop_map(|sealed| BlockKind::RedactedThinking(sealed).into()),
    ];
    let signed = (call(), option::of(sealed())).prop_map(|(call, signature)| Block { signature, ..call });
    let usage = (0..1000_u64, 0..1000_u64, 0..1000_u64).prop_map(|(uncached, cache_read, output)| Usage {
        input: uncached + cache_read,
        cache_read,
        output,
        ..Usage::default()
    });
    let token = text().prop_map(|token| TokenLogprob {
        chosen: Likelihood { token, logprob: Json::fixed("-0.25"), bytes: None },
        top: Vec::new(),
    });
    let stop = select(vec![StopReason::EndTurn, StopReason::StopSequence, StopReason::MaxTokens]);
    (vec(part, 0..4), vec(signed, 0..3), stop, option::of(usage), vec(token, 0..3)).prop_map(
        |(content, calls, stop, usage, logprobs)| Response {
            id: Text::fixed("id-1"),
            model: Text::default(),
            created: None,
            stop: if stop == StopReason::EndTurn && !calls.is_empty() { StopReason::ToolUse } else { stop },
            blocks: cited(content).into_iter().chain(calls).collect(),
            stop_sequence: None,
            logprobs,
            usage,
            attachments: Vec::new(),
        },
    )
}
