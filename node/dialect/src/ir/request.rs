//! A request to generate a message.

use super::{Attachment, Features, Json, Message, Text};

/// What a client asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// The model as the client named it.
    pub model: Text,
    /// Whether the answer is to be streamed.
    pub stream: bool,
    /// The conversation; system and developer messages stand where the client put them.
    pub messages: Vec<Message>,
    /// The tools on offer.
    pub tools: Vec<Tool>,
    /// Which tool to use.
    pub tool_choice: Option<ToolChoice>,
    /// Whether several tools may be called at once.
    pub parallel_tools: Option<bool>,
    /// Most tokens to generate.
    pub max_tokens: Option<u64>,
    /// Numbers that steer sampling.
    pub sampling: Sampling,
    /// Texts that end the answer.
    pub stop: Vec<Text>,
    /// The form of the answer.
    pub output: Option<OutputFormat>,
    /// How much to think.
    pub reasoning: Option<Reasoning>,
    /// How likely the tokens of the answer were is to be told, with so many alternatives to each.
    pub logprobs: Option<u64>,
    /// The end user, for abuse detection.
    pub user: Option<Text>,
    /// Members that are not modelled.
    pub attachments: Vec<Attachment>,
    /// Which features a target must have.
    pub needs: Features,
}

/// Sampling parameters, as the numbers were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sampling {
    /// 0 to 2 (OpenAI) or 0 to 1 (Anthropic).
    pub temperature: Option<Json>,
    /// Nucleus.
    pub top_p: Option<Json>,
    /// Most likely tokens.
    pub top_k: Option<Json>,
    /// OpenAI.
    pub frequency_penalty: Option<Json>,
    /// OpenAI.
    pub presence_penalty: Option<Json>,
    /// For repeatable answers.
    pub seed: Option<Json>,
}

/// A tool on offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// What kind.
    pub kind: ToolKind,
    /// A cache mark.
    pub cache: Option<Json>,
    /// Members that are not modelled.
    pub attachments: Vec<Attachment>,
}

/// The kinds of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolKind {
    /// The application runs it.
    Function {
        /// Its name.
        name: Text,
        /// For the model.
        description: Option<Text>,
        /// JSON Schema of the arguments; none means no arguments.
        parameters: Option<Json>,
        /// Arguments must follow the schema exactly.
        strict: Option<bool>,
    },
    /// The vendor runs it, or it has a form of its own; only meaningful to that dialect.
    Opaque {
        /// Where it came from.
        dialect: crate::Dialect,
        /// The whole tool.
        json: Json,
    },
}

/// Which tool to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// None.
    None,
    /// Some tool (OpenAI `required`, Anthropic `any`).
    Required,
    /// This one.
    Named(Text),
    /// A choice that is not modelled.
    Opaque(crate::Dialect, Json),
}

/// The form of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputFormat {
    /// Plain text, said explicitly.
    Text,
    /// Any JSON object.
    JsonObject,
    /// JSON that follows a schema.
    JsonSchema {
        /// A name for the schema (OpenAI).
        name: Option<Text>,
        /// For the model.
        description: Option<Text>,
        /// The schema.
        schema: Json,
        /// Exactly.
        strict: Option<bool>,
    },
}

/// How much to think: vendors use an effort or a budget; what the client gave is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reasoning {
    /// False: explicitly off (Anthropic `disabled`, OpenAI effort `none`).
    pub enabled: bool,
    /// `minimal`, `low`, `medium`, `high`, ...
    pub effort: Option<Text>,
    /// Most tokens to think.
    pub budget_tokens: Option<u64>,
    /// Members of the vendor's own object that are not modelled.
    pub attachments: Vec<Attachment>,
}
