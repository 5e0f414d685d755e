//! Why an answer ended. Calls have no reason of their own: they end with `STOP`.

use crate::{
    dropped,
    ir::{BlockKind, StopReason, Text},
    json::Raw,
};

/// What an answer holds, as far as its reason depends on it.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::gemini) struct Held {
    pub(in crate::gemini) calls: u32,
    pub(in crate::gemini) refusals: u32,
}

impl Held {
    /// Of these blocks.
    pub(in crate::gemini) fn of<'b>(blocks: impl Iterator<Item = &'b BlockKind>) -> Self {
        blocks.fold(Self::default(), |mut held, kind| {
            held.calls += u32::from(matches!(kind, BlockKind::ToolUse { .. }));
            held.refusals += u32::from(matches!(kind, BlockKind::Refusal(_)));
            held
        })
    }
}

/// Whether a `finishReason` says that the answer ended.
pub(in crate::gemini) fn is_finished(reason: Raw<'_>) -> bool {
    reason.escaped().is_some_and(|word| !word.is_empty() && word != b"FINISH_REASON_UNSPECIFIED")
}

/// What a `finishReason` or a `blockReason` means.
pub(in crate::gemini) fn decode_stop(reason: Text, held: Held) -> StopReason {
    match &*reason.plain() {
        "STOP" | "" | "FINISH_REASON_UNSPECIFIED" if held.calls > 0 => StopReason::ToolUse,
        "STOP" | "" | "FINISH_REASON_UNSPECIFIED" => StopReason::EndTurn,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION"
        | "MODEL_ARMOR"
        | "ESCALATION"
        | "JAILBREAK" => StopReason::ContentFilter,
        _ => StopReason::Other(reason),
    }
}

/// The `finishReason` for a reason. A word of another vendor is named and becomes the plain end.
pub(in crate::gemini) fn encode_stop(stop: &StopReason, held: Held, dropped: &mut Vec<String>) -> Text {
    Text::fixed(match stop {
        StopReason::EndTurn | StopReason::StopSequence | StopReason::ToolUse => "STOP",
        StopReason::MaxTokens => "MAX_TOKENS",
        StopReason::ContentFilter => "SAFETY",
        // The answer says so in words of its own.
        StopReason::Refusal if held.refusals > 0 => "STOP",
        StopReason::Refusal => "SAFETY",
        StopReason::Other(word) => match &*word.plain() {
            "model_context_window_exceeded" | "model_length" => "MAX_TOKENS",
            plain if is_own(plain) => return word.clone(),
            _ => {
                dropped::note(dropped, "stop_reason");
                "STOP"
            }
        },
        StopReason::Pause => {
            dropped::note(dropped, "stop_reason");
            "STOP"
        }
    })
}

/// The vendor's words are in upper case, those of others are not.
fn is_own(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}
