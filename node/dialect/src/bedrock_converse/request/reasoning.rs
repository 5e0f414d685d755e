//! How reasoning is asked for: each family of models is told in its own words.

use crate::{
    Dialect, Target,
    anthropic_messages::Thinking,
    bedrock_converse::family::Family,
    body::Body,
    ir::{Attachment, Reasoning, Request, Text, ToolChoice},
};

/// What is said about reasoning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    /// Nothing.
    Nothing,
    /// To a model of Anthropic, as its vendor defines it.
    Claude(Thinking),
    /// `reasoningConfig` of Amazon's models.
    Nova(&'static str),
    /// `reasoning_effort` of OpenAI's models.
    Gpt(Text),
    /// The effort that Converse itself defines.
    Effort(Text),
}

impl Asked {
    /// Decides, and names what cannot be said.
    pub(super) fn of(request: &Request, family: Family, target: &Target<'_>, body: &mut Body<'_>) -> Self {
        if family == Family::Claude {
            let thinking = Thinking::of(request, target);
            if thinking == Thinking::Impossible {
                body.drop("reasoning_effort");
            }
            return Self::Claude(thinking);
        }
        let Some(reasoning) = &request.reasoning else { return Self::Nothing };
        for attachment in &reasoning.attachments {
            body.drop(member_path(attachment));
        }
        match family {
            Family::Nova2 if !reasoning.enabled => Self::Nothing,
            Family::Nova2 => Self::Nova(nova_effort(reasoning, request, body)),
            Family::Gpt if reasoning.enabled => Self::Gpt(common_effort(reasoning)),
            Family::Unknown if reasoning.enabled => Self::Effort(common_effort(reasoning)),
            _ => {
                body.drop("reasoning_effort");
                Self::Nothing
            }
        }
    }

    /// Whether a model of Anthropic will think.
    pub(super) const fn thinks(&self) -> bool {
        matches!(self, Self::Claude(thinking) if thinking.is_on())
    }

    /// Whether a tool choice can stand.
    pub(super) const fn allows(&self, choice: &ToolChoice) -> bool {
        match self {
            Self::Claude(thinking) => thinking.allows(choice),
            _ => true,
        }
    }

    /// The effort that stands in `outputConfig`.
    pub(super) const fn effort(&self) -> Option<&Text> {
        match self {
            Self::Effort(effort) | Self::Claude(Thinking::Adaptive(Some(effort))) => Some(effort),
            _ => None,
        }
    }
}

/// How a client would call a member of what it said about reasoning.
pub(super) fn member_path(attachment: &Attachment) -> String {
    let parent = match attachment.dialect {
        Dialect::AnthropicMessages => "thinking",
        _ => "reasoning",
    };
    format!("{parent}.{}", attachment.name.plain())
}

/// The efforts that all know who know any.
fn common_effort(reasoning: &Reasoning) -> Text {
    let effort = reasoning.effort_word();
    match &*effort.plain() {
        "minimal" => Text::fixed("low"),
        "xhigh" | "max" => Text::fixed("high"),
        _ => effort,
    }
}

/// Amazon's models take neither a limit nor sampling with the highest effort: a limit is worth more than an effort.
fn nova_effort(reasoning: &Reasoning, request: &Request, body: &mut Body<'_>) -> &'static str {
    match &*common_effort(reasoning).plain() {
        "low" => "low",
        "medium" => "medium",
        _ if request.max_tokens.is_some() => {
            body.drop("reasoning_effort");
            "medium"
        }
        _ => "high",
    }
}
