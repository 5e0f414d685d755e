//! Efforts and budgets of reasoning, and how one becomes the other.

use super::{Reasoning, Text};

/// The least budget that Anthropic accepts, in tokens.
const BUDGET_TOKENS_MIN: u64 = 1024;

impl Reasoning {
    /// The budget in tokens: the client's own, or the one that goes with its effort: minimal 1,024, low 2,048,
    /// medium 8,192, high and unknown ones 16,384, xhigh and max 32,768. `None` where the client gave neither.
    pub fn budget(&self) -> Option<u64> {
        if let Some(tokens) = self.budget_tokens {
            return Some(tokens.max(BUDGET_TOKENS_MIN));
        }
        self.effort.as_ref().map(|effort| match &*effort.plain() {
            "minimal" => 1024,
            "low" => 2048,
            "medium" => 8192,
            "xhigh" | "max" => 32_768,
            _ => 16_384,
        })
    }

    /// The effort: the client's own, or the one that goes with its budget: below 8,192 tokens low, below 16,384
    /// medium, else high. Never `minimal`, which most models refuse. Neither given (Anthropic `adaptive`) is
    /// `high`, which is what Anthropic takes then.
    pub fn effort_word(&self) -> Text {
        match (&self.effort, self.budget_tokens) {
            (Some(effort), _) => effort.clone(),
            (None, Some(..8192)) => Text::fixed("low"),
            (None, Some(..16_384)) => Text::fixed("medium"),
            (None, _) => Text::fixed("high"),
        }
    }
}
