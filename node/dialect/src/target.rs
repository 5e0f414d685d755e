//! What an encoder must know of the target that it writes for: its model name and its quirks, all data.

use crate::ir::Features;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The target of one attempt, as far as wire formats care.
#[derive(Debug, Clone)]
pub struct Target<'a> {
    /// The provider's own name of the model.
    pub model: &'a str,
    /// What the provider does differently from the dialect's owner.
    pub quirks: &'a Quirks,
    /// Members to set in the body that is sent: name, and value as JSON. They win over the client's.
    pub params: &'a [(String, crate::ir::Json)],
    /// Learned from a 400 of this target: it wants `max_completion_tokens`.
    pub wants_max_completion_tokens: bool,
}

/// How a provider departs from the dialect that it speaks. Rows of `listed.toml` and the document share this type.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Quirks {
    /// Knows the role `developer`; where it does not, `system` is sent.
    pub developer_role: bool,
    /// Takes message content only as a string: arrays of text parts are joined.
    pub flatten_content: bool,
    /// Which member carries the output limit in OpenAI Chat.
    pub max_tokens_member: MaxTokensMember,
    /// Understands `stream_options.include_usage`.
    pub stream_usage: bool,
    /// Takes `cache_control` in content parts and tools of OpenAI's dialects (OpenRouter and LiteLLM do).
    pub cache_control: bool,
    /// Takes `top_k` in OpenAI Chat, which OpenAI itself does not.
    pub top_k: bool,
    /// Takes the reasoning of earlier turns back as text: `reasoning_content` of OpenAI Chat messages, `content` of
    /// reasoning items.
    pub echo_reasoning: bool,
    /// Parts of the names of Anthropic models that are told an effort (`thinking: adaptive`) and not a budget.
    pub adaptive_thinking: Vec<String>,
    /// Sent where a dialect requires an output limit and the client gave none, in tokens.
    pub default_max_tokens: u32,
    /// The model stands in the path alone: the body has no `model`.
    pub model_in_path: bool,
    /// Top-level members that the provider refuses; they are dropped and reported.
    pub drop: Vec<String>,
    /// Top-level members that the provider calls by another name: from, to.
    pub rename: BTreeMap<String, String>,
    /// Features that the provider's models do not have (see `Features`): a request that needs one goes elsewhere.
    pub lacks: Features,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            developer_role: true,
            flatten_content: false,
            max_tokens_member: MaxTokensMember::default(),
            stream_usage: true,
            cache_control: false,
            top_k: false,
            echo_reasoning: false,
            adaptive_thinking: ["opus-4-6", "sonnet-4-6", "opus-4-7"].map(String::from).to_vec(),
            default_max_tokens: 4096,
            model_in_path: false,
            drop: Vec::new(),
            rename: BTreeMap::new(),
            lacks: Features::NONE,
        }
    }
}

/// Which member carries the output limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensMember {
    /// As the client wrote it, until a 400 teaches better.
    #[default]
    AsSent,
    /// `max_tokens` always.
    MaxTokens,
    /// `max_completion_tokens` always.
    MaxCompletionTokens,
}
