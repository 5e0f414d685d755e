//! The events of a streamed answer. Blocks open and close; indexes count from 0 without gaps.

use super::{Citation, Json, Sealed, StopReason, Text, TokenLogprob, Usage};
use crate::{Dialect, Fault};

/// One step of a streamed answer.
#[derive(Debug, Clone)]
pub enum Event {
    /// The answer begins; comes exactly once, first.
    Start {
        /// The vendor's id.
        id: Text,
        /// The model as the vendor names it.
        model: Text,
        /// Seconds since the epoch, where the vendor says.
        created: Option<u64>,
    },
    /// A block opens.
    BlockStart {
        /// Counts from 0, without gaps.
        index: u32,
        /// What it will be.
        block: BlockStart,
    },
    /// More of an open block.
    Delta {
        /// Which one.
        index: u32,
        /// More of it.
        delta: Delta,
    },
    /// A block is complete.
    BlockStop {
        /// Which one.
        index: u32,
    },
    /// How likely the tokens were that came since the last ones.
    Logprobs(Vec<TokenLogprob>),
    /// Why the answer ended; after all blocks.
    Stop {
        /// The reason.
        reason: StopReason,
        /// The stop text that was hit.
        sequence: Option<Text>,
    },
    /// Usage so far; a later one replaces an earlier one.
    Usage(Usage),
    /// The provider reports an error inside the stream.
    Fault(Fault),
    /// The provider is alive but has nothing to say.
    KeepAlive,
    /// The proper end.
    End,
}

impl Event {
    /// Whether a reader of the answer would see it: what commits a stream to its target.
    pub const fn is_content(&self) -> bool {
        match self {
            Self::Delta { .. } | Self::Stop { .. } => true,
            Self::BlockStart { block, .. } => {
                !matches!(block, BlockStart::Text | BlockStart::Thinking | BlockStart::Refusal)
            }
            _ => false,
        }
    }
}

/// How a block opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockStart {
    /// Text follows.
    Text,
    /// Reasoning follows.
    Thinking,
    /// Reasoning that only the vendor can read, complete.
    RedactedThinking(Sealed),
    /// A tool call; its arguments follow.
    ToolUse {
        /// The id of the call.
        id: Text,
        /// The name of the tool.
        name: Text,
    },
    /// A text in which the model declines follows.
    Refusal,
    /// A block that is not modelled.
    Opaque {
        /// Where it came from.
        dialect: Dialect,
        /// The whole block as it opened.
        json: Json,
    },
}

/// More of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Of a text or a refusal.
    Text(Text),
    /// Of the reasoning.
    Thinking(Text),
    /// The vendor's proof of the block; comes whole.
    Signature(Sealed),
    /// Where the text comes from.
    Citation(Citation),
    /// Of the text of a tool's arguments.
    ToolInput(Text),
    /// A delta that is not modelled.
    Opaque {
        /// Where it came from.
        dialect: Dialect,
        /// The whole delta.
        json: Json,
    },
}
