//! Whose model it is, as far as the name tells: Converse is one API, but the models behind it take different things.

/// Parts of the names of models by vendors that know neither caches nor the status of a result nor efforts.
const OTHERS: &[&str] = &[
    "ai21.",
    "cohere.",
    "deepseek.",
    "google.",
    "meta.",
    "minimax.",
    "mistral.",
    "moonshot",
    "nvidia.",
    "qwen.",
    "writer.",
    "zai.",
];

/// A family of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Of Anthropic.
    Claude,
    /// Of Amazon.
    Nova,
    /// The same with reasoning.
    Nova2,
    /// The open models of OpenAI.
    Gpt,
    /// Of others.
    Other,
    /// The name of a profile, a deployment or an imported model tells nothing: what the API itself defines is sent.
    Unknown,
}

impl Family {
    /// Of the model with this name, id or ARN.
    pub(super) fn of(model: &str) -> Self {
        let has = |part: &&str| model.contains(*part);
        if ["anthropic", "claude"].iter().any(has) {
            Self::Claude
        } else if has(&"nova-2") {
            Self::Nova2
        } else if has(&"amazon.nova") {
            Self::Nova
        } else if ["openai.", "gpt-oss"].iter().any(has) {
            Self::Gpt
        } else if OTHERS.iter().any(has) {
            Self::Other
        } else {
            Self::Unknown
        }
    }

    /// Whether cache points may stand in messages and instructions.
    pub(super) const fn caches(self) -> bool {
        matches!(self, Self::Claude | Self::Nova | Self::Nova2 | Self::Unknown)
    }

    /// Whether they may stand among tools as well, and have a lifetime.
    pub(super) const fn caches_more(self) -> bool {
        matches!(self, Self::Claude | Self::Unknown)
    }

    /// Whether a result may say that its tool failed.
    pub(super) const fn has_status(self) -> bool {
        self.caches()
    }

    /// Whether it may be able to read what models of Anthropic have signed.
    pub(super) const fn reads_claude(self) -> bool {
        matches!(self, Self::Claude | Self::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_family() {
        for (model, family) in [
            ("anthropic.claude-sonnet-4-5-20250929-v1:0", Family::Claude),
            (
                "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-6-v1",
                Family::Claude,
            ),
            ("us.amazon.nova-pro-v1:0", Family::Nova),
            ("global.amazon.nova-2-lite-v1:0", Family::Nova2),
            ("openai.gpt-oss-120b-1:0", Family::Gpt),
            ("us.meta.llama4-maverick-17b-instruct-v1:0", Family::Other),
            ("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc", Family::Unknown),
        ] {
            assert_eq!(Family::of(model), family, "{model}");
        }
    }
}
