//! Why an answer ended.

use crate::{
    Category, Fault, dropped, fault,
    ir::{Block, BlockKind, StopReason, Text},
    json::Raw,
};
use bytes::Bytes;

/// What a `finish_reason` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Finish {
    /// The answer is what the model meant to say, or as much as it may.
    Stop(StopReason),
    /// The generation failed.
    Failed,
    /// The generation took too long. What there is of the answer is cut off at any place, which no other vendor has a
    /// word for: to call it complete would be wrong.
    TimedOut,
}

/// Whether an answer holds what a reason goes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Has {
    Yes,
    No,
}

impl Has {
    /// Whether a block passes a test.
    pub(super) fn any(blocks: &[Block], test: impl Fn(&BlockKind) -> bool) -> Self {
        if blocks.iter().any(|block| test(&block.kind)) { Self::Yes } else { Self::No }
    }
}

/// Reads a `finish_reason` of an answer with or without tool calls. Calls are to be made, whatever the reason says.
pub(super) fn decode(reason: Option<Text>, calls: Has) -> Finish {
    let plain = if calls == Has::Yes { StopReason::ToolUse } else { StopReason::EndTurn };
    let Some(reason) = reason else { return Finish::Stop(plain) };
    Finish::Stop(match &*reason.plain() {
        "COMPLETE" => plain,
        "STOP_SEQUENCE" => StopReason::StopSequence,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "TOOL_CALL" => StopReason::ToolUse,
        // Of the vendor's models elsewhere.
        "ERROR_TOXIC" => StopReason::ContentFilter,
        "ERROR" => return Finish::Failed,
        "TIMEOUT" => return Finish::TimedOut,
        _ => StopReason::Other(reason),
    })
}

/// The `finish_reason` for a reason. What a filter has cut is no complete message: it is an `ERROR`, as the vendor
/// itself calls it.
pub(super) fn encode(stop: &StopReason, refusal: Has, dropped: &mut Vec<String>) -> &'static str {
    match stop {
        StopReason::EndTurn => "COMPLETE",
        StopReason::StopSequence => "STOP_SEQUENCE",
        StopReason::MaxTokens => "MAX_TOKENS",
        StopReason::ToolUse => "TOOL_CALL",
        StopReason::ContentFilter => "ERROR",
        StopReason::Refusal => match refusal {
            Has::Yes => "COMPLETE",
            Has::No => "ERROR",
        },
        StopReason::Other(word) if word.is("model_context_window_exceeded") || word.is("model_length") => {
            "MAX_TOKENS"
        }
        StopReason::Pause | StopReason::Other(_) => {
            dropped::note(dropped, "stop_reason");
            "COMPLETE"
        }
    }
}

/// The fault that a finish is, if it is one. `delta` holds the vendor's message, and `data` the whole event.
pub(super) fn fault(finish: &Finish, delta: Option<Raw<'_>>, data: &[u8]) -> Option<Fault> {
    let (status, category, default) = match finish {
        Finish::Stop(_) => return None,
        Finish::Failed => (500, Category::Api, "the generation failed"),
        Finish::TimedOut => (504, Category::Timeout, "the generation took too long"),
    };
    let says = |delta: &Raw<'_>| delta.get("error").is_some_and(|error| !error.is_null());
    let message = match delta.filter(says) {
        Some(delta) => fault::decode_event(delta.bytes()).message,
        None => default.to_owned(),
    };
    let body = Bytes::copy_from_slice(data);
    Some(Fault { status, category, message, code: None, param: None, body })
}
