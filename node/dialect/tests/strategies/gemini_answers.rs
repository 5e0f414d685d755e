//! Answers that Gemini can express.

use super::{
    answers::sealed,
    json::{text, word},
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use trestle_dialect::{
    Dialect,
    ir::{Block, BlockKind, Citation, Json, Likelihood, Response, StopReason, Text, TokenLogprob, Usage},
};

const SELF: Dialect = Dialect::Gemini;

fn block() -> impl Strategy<Value = Block> {
    let input = select(vec!["{}", r#"{"city":"Oslo \"x\" }"}"#, "{ \"a\" : [1, {}] }"]);
    let call = (word(), word(), input).prop_map(|(id, name, input)| BlockKind::ToolUse {
        id,
        name,
        input: Text::new(input),
    });
    let code = BlockKind::Opaque { dialect: SELF, json: Json::fixed(r#"{"executableCode":{"code":"x"}}"#) };
    let kind = prop_oneof![text().prop_map(BlockKind::Text), text().prop_map(BlockKind::Thinking), call];
    prop_oneof![
        6 => (kind, option::of(sealed())).prop_map(|(kind, signature)| Block { signature, ..kind.into() }),
        1 => sealed().prop_map(|sealed| BlockKind::RedactedThinking(sealed).into()),
        1 => Just(code.into()),
    ]
}

/// Texts that follow each other are one text, unless a signature stands between them.
fn apart(blocks: Vec<Block>) -> Vec<Block> {
    let mut out: Vec<Block> = Vec::new();
    for block in blocks {
        let joins = out.last().is_some_and(|last| {
            let same = std::mem::discriminant(&last.kind) == std::mem::discriminant(&block.kind);
            let plain = matches!(block.kind, BlockKind::Text(_) | BlockKind::Thinking(_));
            same && plain && last.signature.is_none()
        });
        if !joins {
            out.push(block);
        }
    }
    out
}

fn likelihood() -> impl Strategy<Value = Likelihood> {
    (text(), select(vec!["-0.5", "0", "-1e-3"])).prop_map(|(token, logprob)| Likelihood {
        token,
        logprob: Json::fixed(logprob),
        bytes: None,
    })
}

fn logprobs() -> impl Strategy<Value = Vec<TokenLogprob>> {
    let one = (likelihood(), vec(likelihood(), 0..3)).prop_map(|(chosen, top)| TokenLogprob { chosen, top });
    vec(one, 0..3)
}

fn usage() -> impl Strategy<Value = Usage> {
    (0..1000_u64, 0..1000_u64, 0..1000_u64, 0..1000_u64).prop_map(
        |(uncached, cache_read, said, reasoning)| Usage {
            input: uncached + cache_read,
            cache_read,
            output: said + reasoning,
            reasoning,
            audio_input: uncached / 2,
            audio_output: said / 3,
            ..Usage::default()
        },
    )
}

/// Without sources, which streams tell without their places.
pub(crate) fn gemini() -> impl Strategy<Value = Response> {
    let stop = select(vec![
        StopReason::EndTurn,
        StopReason::MaxTokens,
        StopReason::ContentFilter,
        StopReason::Other(Text::fixed("OTHER")),
    ]);
    (vec(block(), 0..5), stop, usage(), logprobs()).prop_map(|(blocks, stop, usage, logprobs)| {
        let blocks = apart(blocks);
        let called = blocks.iter().any(|block| matches!(block.kind, BlockKind::ToolUse { .. }));
        Response {
            id: Text::fixed("id-1"),
            model: Text::fixed("m"),
            created: None,
            blocks,
            stop: if called && stop == StopReason::EndTurn { StopReason::ToolUse } else { stop },
            stop_sequence: None,
            logprobs,
            usage: Some(usage),
            attachments: Vec::new(),
        }
    })
}

/// With sources of the first text: those of places first.
pub(crate) fn gemini_cited() -> impl Strategy<Value = Response> {
    let span = (0..3_u64, 0..3_u64).prop_map(|(from, length)| (from, from + length));
    (gemini(), vec(span, 0..4), any::<bool>()).prop_map(|(mut response, spans, more)| {
        let first = response.blocks.iter_mut().find_map(|block| match &block.kind {
            BlockKind::Text(text) => Some((text.plain().chars().count() as u64, &mut block.citations)),
            _ => None,
        });
        if let Some((length, citations)) = first {
            let spans = spans.into_iter().filter(|(_, to)| *to <= length).map(Some);
            let spans = spans.chain(more.then_some(None));
            *citations = spans.enumerate().map(|(i, span)| citation(i % 3, span)).collect();
        }
        response
    })
}

fn citation(page: usize, span: Option<(u64, u64)>) -> Citation {
    let page = if span.is_some() { page.to_string() } else { "alone".to_owned() };
    let url = format!("https://example.com/{page}");
    let json = format!(r#"{{"web":{{"uri":"{url}","title":"T"}}}}"#);
    Citation {
        dialect: SELF,
        json: Json::parse(&json).unwrap(),
        span,
        url: Some(Text::new(&url)),
        title: Some(Text::fixed("T")),
        cited_text: None,
    }
}
