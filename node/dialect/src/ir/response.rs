//! A whole answer.

use super::{Attachment, Block, Text, TokenLogprob, Usage};

/// What the model answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The vendor's id.
    pub id: Text,
    /// The model as the vendor names it.
    pub model: Text,
    /// Seconds since the epoch, where the vendor says.
    pub created: Option<u64>,
    /// What was said, in order.
    pub blocks: Vec<Block>,
    /// Why it ended.
    pub stop: StopReason,
    /// The stop text that was hit.
    pub stop_sequence: Option<Text>,
    /// How likely its tokens were, where that was asked for.
    pub logprobs: Vec<TokenLogprob>,
    /// What it cost in tokens.
    pub usage: Option<Usage>,
    /// Members that are not modelled.
    pub attachments: Vec<Attachment>,
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// It was complete.
    EndTurn,
    /// A stop text came up.
    StopSequence,
    /// `max_tokens` was reached.
    MaxTokens,
    /// Tools are to be called.
    ToolUse,
    /// The provider's filter cut it.
    ContentFilter,
    /// The model declined (Anthropic `refusal`).
    Refusal,
    /// A long turn was paused and may be continued (Anthropic `pause_turn`).
    Pause,
    /// A reason that is not modelled, in the vendor's word.
    Other(Text),
}
