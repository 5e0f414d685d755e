//! Writes the reasoning of a message: the same form in requests and answers.

use crate::{
    ir::{Block, BlockKind, Sealed, Text},
    json::Writer,
};

/// Whether proofs had to be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::openai_chat) enum Lost {
    Nothing,
    Proofs,
}

/// `reasoning_content` with all text, and `thinking_blocks` where a block holds more than text. `proof` gives the
/// words in which a proof is written, if it may be.
pub(in crate::openai_chat) fn write_thinking(
    blocks: &[&Block],
    proof: impl Fn(&Sealed) -> Option<Text>,
    out: &mut Writer,
) -> Lost {
    let texts = blocks.iter().filter_map(|block| match &block.kind {
        BlockKind::Thinking(text) if !text.is_empty() => Some(text),
        _ => None,
    });
    if texts.clone().next().is_some() {
        out.key("reasoning_content");
        out.texts(texts);
    }
    let sealed = blocks.iter().filter_map(|block| match &block.kind {
        BlockKind::RedactedThinking(sealed) => Some(sealed),
        _ => block.signature.as_ref(),
    });
    let lost =
        if sealed.clone().any(|sealed| proof(sealed).is_none()) { Lost::Proofs } else { Lost::Nothing };
    if sealed.clone().all(|sealed| proof(sealed).is_none()) {
        return lost;
    }
    out.key("thinking_blocks");
    out.begin_array();
    for block in blocks {
        let sealed = match &block.kind {
            BlockKind::RedactedThinking(sealed) => Some(sealed),
            _ => block.signature.as_ref(),
        };
        let written = sealed.and_then(&proof);
        // Without its proof there is nothing in it that `reasoning_content` does not say.
        if written.is_some() || sealed.is_none() {
            out.begin_object();
            write_thinking_fields(&block.kind, written.as_ref(), out);
            out.end_object();
        }
    }
    out.end_array();
    lost
}

/// The inside of an element of `thinking_blocks`.
pub(in crate::openai_chat) fn write_thinking_fields(
    kind: &BlockKind,
    proof: Option<&Text>,
    out: &mut Writer,
) {
    out.key("type");
    let name = match kind {
        BlockKind::Thinking(text) => {
            out.string("thinking");
            out.key("thinking");
            out.text(text);
            "signature"
        }
        _ => {
            out.string("redacted_thinking");
            "data"
        }
    };
    if let Some(proof) = proof {
        out.key(name);
        out.text(proof);
    }
}
