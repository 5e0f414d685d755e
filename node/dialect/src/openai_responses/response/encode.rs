//! Writes an answer.

use super::super::{
    annotations,
    output::{self, Call, Head, State},
    parts::Whole,
    proof,
};
use crate::{
    Dialect, Encoded, StreamContext, dropped,
    ir::{Block, BlockKind, Response, Sealed, StopReason, Text, TokenLogprob},
    json::Writer,
};

const SELF: Dialect = Dialect::OpenAiResponses;

/// Whether an answer holds a refusal of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::openai_responses) enum HasRefusal {
    Yes,
    No,
}

/// The status, and why the answer is incomplete if it is.
pub(in crate::openai_responses) fn ending(
    stop: &StopReason,
    has_refusal: HasRefusal,
    dropped: &mut Vec<String>,
) -> (&'static str, Option<&'static str>) {
    match stop {
        StopReason::EndTurn | StopReason::ToolUse | StopReason::StopSequence => ("completed", None),
        StopReason::MaxTokens => ("incomplete", Some("max_output_tokens")),
        StopReason::Refusal if has_refusal == HasRefusal::Yes => ("completed", None),
        StopReason::ContentFilter | StopReason::Refusal => ("incomplete", Some("content_filter")),
        StopReason::Other(word) if word.is("model_context_window_exceeded") => {
            ("incomplete", Some("max_output_tokens"))
        }
        StopReason::Pause | StopReason::Other(_) => {
            dropped::note(dropped, "stop_reason");
            ("completed", None)
        }
    }
}

/// Writes an answer.
pub(in crate::openai_responses) fn encode(response: &Response, context: &StreamContext) -> Encoded {
    let mut dropped = Vec::new();
    let refused = response.blocks.iter().any(|block| matches!(block.kind, BlockKind::Refusal(_)));
    let has_refusal = if refused { HasRefusal::Yes } else { HasRefusal::No };
    let (status, reason) = ending(&response.stop, has_refusal, &mut dropped);
    if response.stop_sequence.is_some() {
        dropped::note(&mut dropped, "stop_sequence");
    }
    let head = Head::new(context, &response.id, &response.model, response.created);
    let mut out = Writer::with_capacity(2048);
    out.begin_object();
    let state = State { status, reason, usage: response.usage.as_ref() };
    output::answer(&mut out, &head, state, |out| {
        let mut items = Items { context, out, dropped: &mut dropped, logprobs: &response.logprobs, count: 0 };
        items.write(&response.blocks, status);
    });
    dropped::members(&response.attachments, SELF, &mut out, &mut dropped);
    out.end_object();
    Encoded { body: out.finish(), dropped }
}

/// Writes the items of an answer.
struct Items<'a> {
    context: &'a StreamContext,
    out: &'a mut Writer,
    dropped: &'a mut Vec<String>,
    /// They go with the first text.
    logprobs: &'a [TokenLogprob],
    count: usize,
}

impl Items<'_> {
    /// Texts and refusals in a row are the parts of one message. Of an answer that was cut the last item was.
    fn write(&mut self, blocks: &[Block], status: &str) {
        let mut rest = blocks;
        while let Some((first, behind)) = rest.split_first() {
            let said = rest.iter().take_while(|block| is_said(&block.kind)).count();
            let (item, behind) = if said == 0 { (rest, behind) } else { rest.split_at(said) };
            let status = if behind.is_empty() { status } else { "completed" };
            if said > 0 {
                self.message(item, status);
            } else {
                self.item(first, status);
            }
            rest = behind;
        }
        if !self.logprobs.is_empty() {
            dropped::note(self.dropped, "logprobs");
        }
    }

    fn next_id(&mut self, kind: &str) -> String {
        self.count += 1;
        output::item_id(kind, self.context, self.count - 1)
    }

    fn message(&mut self, blocks: &[Block], status: &str) {
        let id = self.next_id("msg");
        let (dropped, logprobs) = (&mut *self.dropped, &mut self.logprobs);
        output::message(self.out, &id, status, |out| {
            for block in blocks {
                match &block.kind {
                    BlockKind::Text(text) => {
                        let signature = block.signature.as_ref().map(|signature| signature.carried(SELF));
                        let annotations = |out: &mut Writer| annotations::write_all(out, block, dropped);
                        output::text_part(
                            out,
                            text,
                            annotations,
                            std::mem::take(logprobs),
                            signature.as_ref(),
                        );
                    }
                    BlockKind::Refusal(text) => output::refusal_part(out, text),
                    BlockKind::Opaque { json, .. } => out.json(json),
                    _ => {}
                }
                note_rest(block, dropped);
            }
        });
    }

    fn item(&mut self, block: &Block, status: &str) {
        let signature = block.signature.as_ref();
        match &block.kind {
            BlockKind::ToolUse { id, name, input } => {
                let item = self.next_id("fc");
                let signature = signature.map(|signature| signature.carried(SELF));
                let call = Call { item: &item, id, name, arguments: input, signature: signature.as_ref() };
                output::call(self.out, call, status);
            }
            BlockKind::Thinking(text) => self.reasoning(Some(text), signature),
            BlockKind::RedactedThinking(sealed) => self.reasoning(None, Some(sealed)),
            BlockKind::Opaque { dialect, json } if *dialect == SELF && Whole::of(json) == Whole::Item => {
                self.count += 1;
                self.out.json(json);
            }
            other => dropped::note(self.dropped, format!("content[].{}", other.type_name())),
        }
        note_rest(block, self.dropped);
    }

    fn reasoning(&mut self, text: Option<&Text>, sealed: Option<&Sealed>) {
        let own = self.next_id(output::OUR_REASONING);
        let (id, encrypted) = sealed.map(proof::carried).unzip();
        let id = id.filter(|id| !id.is_empty()).unwrap_or_else(|| Text::new(&own));
        output::reasoning(self.out, &id, text, encrypted.as_ref());
    }
}

/// Whether a block is a part of a message.
fn is_said(kind: &BlockKind) -> bool {
    match kind {
        BlockKind::Text(_) | BlockKind::Refusal(_) => true,
        BlockKind::Opaque { dialect, json } => *dialect == SELF && Whole::of(json) == Whole::Part,
        _ => false,
    }
}

/// Names what is attached to a block.
fn note_rest(block: &Block, dropped: &mut Vec<String>) {
    dropped::bare(block, "content[].", dropped);
}
