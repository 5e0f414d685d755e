//! Answers and streams.

use super::json::{text, word};
use proptest::{collection::vec, option, prelude::*, sample::select};
use trestle_dialect::{
    Dialect,
    ir::{
        Block, BlockKind, BlockStart, Citation, Delta, Event, Json, Likelihood, Response, Sealed, StopReason,
        Text, TokenLogprob, Usage,
    },
};

fn call() -> impl Strategy<Value = Block> {
    let input = select(vec!["{}", r#"{"city":"Oslo \"x\" }"}"#, "{ \"a\" : [1, {}] }"]);
    (word(), word(), input)
        .prop_map(|(id, name, input)| BlockKind::ToolUse { id, name, input: Text::new(input) }.into())
}

/// What a vendor sealed: any of them, because answers carry it to clients of others.
pub(crate) fn sealed() -> impl Strategy<Value = Sealed> {
    (select(Dialect::ALL.to_vec()), word()).prop_map(|(dialect, data)| Sealed { dialect, data })
}

fn signed() -> impl Strategy<Value = Block> {
    (text(), sealed())
        .prop_map(|(text, sealed)| Block { signature: Some(sealed), ..BlockKind::Thinking(text).into() })
}

fn redacted() -> impl Strategy<Value = Block> {
    sealed().prop_map(|sealed| BlockKind::RedactedThinking(sealed).into())
}

fn usage() -> impl Strategy<Value = Usage> {
    (0..1000_u64, 0..1000_u64, 0..1000_u64, 0..1000_u64, 0..1000_u64).prop_map(
        |(uncached, cache_read, short, long, output)| Usage {
            input: uncached + cache_read + short + long,
            cache_read,
            cache_write: short + long,
            cache_write_1h: long,
            output,
            ..Usage::default()
        },
    )
}

fn response(blocks: Vec<Block>, stop: StopReason, usage: Option<Usage>) -> Response {
    Response {
        id: Text::fixed("id-1"),
        model: Text::fixed("m"),
        created: None,
        blocks,
        stop,
        stop_sequence: None,
        logprobs: Vec::new(),
        usage,
        attachments: Vec::new(),
    }
}

fn has_call(blocks: &[Block]) -> bool {
    blocks.iter().any(|block| matches!(block.kind, BlockKind::ToolUse { .. }))
}

/// An answer that OpenAI Chat can express.
pub(crate) fn openai() -> impl Strategy<Value = Response> {
    let thoughts = vec(prop_oneof![signed(), redacted()], 0..3);
    let parts = (thoughts, option::of(text()), option::of(text()), vec(call(), 0..3));
    let stop = select(vec![StopReason::EndTurn, StopReason::MaxTokens, StopReason::ContentFilter]);
    (parts, stop, option::of((usage(), 0..50_u64))).prop_map(
        |((mut blocks, said, refusal, calls), stop, usage)| {
            blocks.extend(said.map(|text| Block::from(BlockKind::Text(text))));
            let refused = refusal.is_some();
            blocks.extend(refusal.map(|text| Block::from(BlockKind::Refusal(text))));
            blocks.extend(calls);
            let stop = match stop {
                StopReason::EndTurn if has_call(&blocks) => StopReason::ToolUse,
                StopReason::EndTurn if refused => StopReason::Refusal,
                stop => stop,
            };
            let usage = usage.map(|(usage, reasoning)| Usage {
                reasoning,
                output: usage.output + reasoning,
                audio_input: reasoning / 2,
                audio_output: reasoning / 3,
                ..usage
            });
            Response { created: Some(1_700_000_000), ..response(blocks, stop, usage) }
        },
    )
}

/// An answer that Anthropic Messages can express.
pub(crate) fn anthropic() -> impl Strategy<Value = Response> {
    let opaque = BlockKind::Opaque {
        dialect: Dialect::AnthropicMessages,
        json: Json::fixed(r#"{"type":"web_search_tool_result","content":[]}"#),
    };
    let kind = prop_oneof![
        text().prop_map(|text| BlockKind::Text(text).into()),
        signed(),
        redacted(),
        call(),
        Just(opaque.into())
    ];
    let stop = select(vec![
        StopReason::EndTurn,
        StopReason::MaxTokens,
        StopReason::ToolUse,
        StopReason::StopSequence,
        StopReason::Refusal,
        StopReason::Pause,
    ]);
    (vec(kind, 0..5), stop, usage(), option::of(text())).prop_map(|(blocks, stop, usage, sequence)| {
        let stop_sequence = sequence.filter(|_| stop == StopReason::StopSequence);
        Response { stop_sequence, ..response(blocks, stop, Some(usage)) }
    })
}

/// The events of an answer, each text cut into pieces between characters.
pub(crate) fn stream(response: &Response) -> Vec<Event> {
    let (id, model) = (response.id.clone(), response.model.clone());
    let mut events = vec![Event::Start { id, model, created: response.created }];
    for (index, block) in (0..).zip(&response.blocks) {
        let (start, deltas): (BlockStart, Vec<Delta>) = match &block.kind {
            BlockKind::Text(text) => (BlockStart::Text, pieces(text).map(Delta::Text).collect()),
            BlockKind::Refusal(text) => (BlockStart::Refusal, pieces(text).map(Delta::Text).collect()),
            BlockKind::Thinking(text) => (BlockStart::Thinking, pieces(text).map(Delta::Thinking).collect()),
            BlockKind::RedactedThinking(sealed) => (BlockStart::RedactedThinking(sealed.clone()), Vec::new()),
            BlockKind::ToolUse { id, name, input } => (
                BlockStart::ToolUse { id: id.clone(), name: name.clone() },
                // No arguments come as no delta.
                pieces(input).filter(|_| !input.is("{}")).map(Delta::ToolInput).collect(),
            ),
            BlockKind::Opaque { dialect, json } => {
                (BlockStart::Opaque { dialect: *dialect, json: json.clone() }, Vec::new())
            }
            other => panic!("{other:?} is in no answer"),
        };
        events.push(Event::BlockStart { index, block: start });
        let citations = block.citations.iter().cloned().map(Delta::Citation);
        let signature = block.signature.clone().map(Delta::Signature);
        let deltas = deltas.into_iter().chain(citations).chain(signature);
        events.extend(deltas.map(|delta| Event::Delta { index, delta }));
        events.push(Event::BlockStop { index });
    }
    if !response.logprobs.is_empty() {
        events.push(Event::Logprobs(response.logprobs.clone()));
    }
    events.push(Event::Stop { reason: response.stop.clone(), sequence: response.stop_sequence.clone() });
    events.extend(response.usage.map(Event::Usage));
    events.push(Event::End);
    events
}

fn pieces(text: &Text) -> impl Iterator<Item = Text> {
    let plain = text.plain().into_owned();
    let chars: Vec<char> = plain.chars().collect();
    let pieces: Vec<Text> =
        chars.chunks(3).map(|piece| Text::new(&piece.iter().collect::<String>())).collect();
    pieces.into_iter()
}

/// The answer that events tell. Fails where they break the rules of the representation.
pub(crate) fn fold(events: &[Event]) -> Result<Response, String> {
    let mut answer = response(Vec::new(), StopReason::Other(Text::fixed("none")), None);
    let (mut started, mut told, mut ended) = (false, false, false);
    let mut open: Vec<u32> = Vec::new();
    for event in events {
        if ended || !(started || matches!(event, Event::Start { .. } | Event::KeepAlive | Event::Fault(_))) {
            return Err(format!("{event:?} out of turn"));
        }
        match event {
            Event::Start { .. } if started => return Err("two starts".to_owned()),
            Event::Start { id, model, created } => {
                started = true;
                (answer.id, answer.model, answer.created) = (id.clone(), model.clone(), *created);
            }
            Event::BlockStart { index, block } => {
                if *index as usize != answer.blocks.len() || told {
                    return Err(format!("{event:?} out of turn"));
                }
                open.push(*index);
                answer.blocks.push(opened(block).into());
            }
            Event::Delta { index, delta } => {
                if !open.contains(index) {
                    return Err(format!("{event:?} for no open block"));
                }
                grow(&mut answer.blocks[*index as usize], delta);
            }
            Event::BlockStop { index } => {
                let at = open.iter().position(|known| known == index).ok_or("a block closes twice")?;
                open.remove(at);
            }
            Event::Stop { reason, sequence } => {
                if told || !open.is_empty() {
                    return Err("a stop out of turn".to_owned());
                }
                told = true;
                (answer.stop, answer.stop_sequence) = (reason.clone(), sequence.clone());
            }
            Event::Usage(usage) => answer.usage = Some(*usage),
            Event::Logprobs(more) => answer.logprobs.extend(more.iter().cloned()),
            Event::End if open.is_empty() => ended = true,
            Event::End => return Err("the end with open blocks".to_owned()),
            Event::Fault(_) | Event::KeepAlive => {}
        }
    }
    for block in &mut answer.blocks {
        if let BlockKind::ToolUse { input, .. } = &mut block.kind
            && input.is_empty()
        {
            *input = Text::fixed("{}");
        }
    }
    Ok(answer)
}

fn opened(block: &BlockStart) -> BlockKind {
    match block {
        BlockStart::Text => BlockKind::Text(Text::default()),
        BlockStart::Refusal => BlockKind::Refusal(Text::default()),
        BlockStart::Thinking => BlockKind::Thinking(Text::default()),
        BlockStart::RedactedThinking(sealed) => BlockKind::RedactedThinking(sealed.clone()),
        BlockStart::ToolUse { id, name } => {
            BlockKind::ToolUse { id: id.clone(), name: name.clone(), input: Text::default() }
        }
        BlockStart::Opaque { dialect, json } => BlockKind::Opaque { dialect: *dialect, json: json.clone() },
    }
}

fn grow(block: &mut Block, delta: &Delta) {
    match (&mut block.kind, delta) {
        (BlockKind::Text(text) | BlockKind::Refusal(text), Delta::Text(more))
        | (BlockKind::Thinking(text), Delta::Thinking(more))
        | (BlockKind::ToolUse { input: text, .. }, Delta::ToolInput(more)) => {
            *text = Text::join([&*text, more], "");
        }
        (_, Delta::Signature(sealed)) => block.signature = Some(sealed.clone()),
        (_, Delta::Citation(citation)) => block.citations.push(citation.clone()),
        _ => {}
    }
}

/// The answer with all texts spelled as the writer would, and neighbouring pieces of one text joined.
pub(crate) fn normal(mut answer: Response) -> Response {
    let respell = |text: &mut Text| *text = Text::new(&text.plain());
    for block in &mut answer.blocks {
        match &mut block.kind {
            BlockKind::Text(text) | BlockKind::Refusal(text) | BlockKind::Thinking(text) => respell(text),
            BlockKind::ToolUse { input, .. } => respell(input),
            _ => {}
        }
    }
    answer.stop_sequence.iter_mut().for_each(respell);
    answer
}

fn citation(dialect: Dialect) -> Citation {
    let json = Json::fixed(r#"{"type":"x"}"#);
    let url = Some(Text::fixed("https://example.com/"));
    Citation { dialect, json, span: None, url, title: None, cited_text: None }
}

/// Any events in any order.
pub(crate) fn any_events() -> impl Strategy<Value = Vec<Event>> {
    let index = || 0..4_u32;
    let opaque = || select(Dialect::ALL.to_vec());
    let start = prop_oneof![
        Just(BlockStart::Text),
        Just(BlockStart::Thinking),
        Just(BlockStart::Refusal),
        sealed().prop_map(BlockStart::RedactedThinking),
        (word(), word()).prop_map(|(id, name)| BlockStart::ToolUse { id, name }),
        opaque().prop_map(|dialect| BlockStart::Opaque { dialect, json: Json::fixed(r#"{"type":"x"}"#) }),
    ];
    let delta = prop_oneof![
        text().prop_map(Delta::Text),
        text().prop_map(Delta::Thinking),
        sealed().prop_map(Delta::Signature),
        text().prop_map(Delta::ToolInput),
        opaque().prop_map(|dialect| Delta::Opaque { dialect, json: Json::fixed(r#"{"annotations":[1]}"#) }),
        opaque().prop_map(|dialect| Delta::Citation(citation(dialect))),
    ];
    let event = prop_oneof![
        1 => Just(Event::Start { id: Text::fixed("i"), model: Text::default(), created: None }),
        4 => (index(), start).prop_map(|(index, block)| Event::BlockStart { index, block }),
        8 => (index(), delta).prop_map(|(index, delta)| Event::Delta { index, delta }),
        4 => index().prop_map(|index| Event::BlockStop { index }),
        1 => Just(Event::Stop { reason: StopReason::EndTurn, sequence: None }),
        1 => usage().prop_map(Event::Usage),
        1 => text().prop_map(|token| Event::Logprobs(vec![TokenLogprob {
            chosen: Likelihood { token, logprob: Json::fixed("-0.5"), bytes: None },
            top: Vec::new(),
        }])),
        1 => Just(Event::KeepAlive),
        1 => Just(Event::End),
    ];
    vec(event, 0..40)
}
