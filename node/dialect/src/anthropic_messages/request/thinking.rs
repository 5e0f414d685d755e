//! How a request for reasoning is told to Anthropic, and what else must give way to it.

use super::encode_blocks::own_signature;
use crate::{
    Dialect, Target,
    ir::{BlockKind, Message, Request, Role, Text, ToolChoice},
};

/// What `thinking` becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// Nothing is said.
    Unsaid,
    /// Off, because the client said so.
    Disabled,
    /// Up to so many tokens.
    Budget(u64),
    /// As the model sees fit, guided by an effort.
    Adaptive(Option<Text>),
    /// Asked for, but the conversation does not allow it.
    Impossible,
}

impl Thinking {
    /// Decides.
    pub(crate) fn of(request: &Request, target: &Target<'_>) -> Self {
        let Some(reasoning) = &request.reasoning else { return Self::Unsaid };
        if !reasoning.enabled {
            return Self::Disabled;
        }
        let adaptive = target.quirks.adaptive_thinking.iter().any(|part| target.model.contains(&**part));
        match reasoning.budget() {
            Some(budget) if reasoning.budget_tokens.is_some() || !adaptive => {
                if unsigned_calls(&request.messages) { Self::Impossible } else { Self::Budget(budget) }
            }
            _ => Self::Adaptive(reasoning.effort.as_ref().map(|effort| match effort.is("minimal") {
                true => Text::fixed("low"),
                false => effort.clone(),
            })),
        }
    }

    /// Whether the model will think.
    pub(crate) const fn is_on(&self) -> bool {
        matches!(self, Self::Budget(_) | Self::Adaptive(_))
    }

    /// Whether a tool choice can stand: a thinking model cannot be forced.
    pub(crate) const fn allows(&self, choice: &ToolChoice) -> bool {
        !self.is_on() || matches!(choice, ToolChoice::Auto | ToolChoice::None)
    }
}

/// Whether the conversation stands in the middle of a tool loop whose calls came without signed reasoning before
/// them, as from a client that does not send reasoning back. Anthropic refuses a budget then.
fn unsigned_calls(messages: &[Message]) -> bool {
    let mut turns = messages
        .iter()
        .rev()
        .filter(|message| matches!(message.role, Role::User | Role::Assistant) && !message.blocks.is_empty());
    let is_result = |kind: &BlockKind| matches!(kind, BlockKind::ToolResult { .. });
    let results = turns.next().is_some_and(|last| {
        last.role == Role::User && last.blocks.iter().any(|block| is_result(&block.kind))
    });
    if !results {
        return false;
    }
    // The assistant's turn may be several messages; what counts is how it begins.
    let first = turns.take_while(|message| message.role == Role::Assistant).last();
    first.and_then(|message| message.blocks.first()).is_some_and(|block| match &block.kind {
        BlockKind::Thinking(_) => own_signature(block).is_none(),
        BlockKind::RedactedThinking(sealed) => sealed.meant_for(Dialect::AnthropicMessages).is_none(),
        _ => true,
    })
}
