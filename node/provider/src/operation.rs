//! What is asked of a provider, and where.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::BTreeMap};
use trestle_dialect::{Dialect, Stored, embed::Api};

/// What is asked of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Generate a message: OpenAI Chat.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
    /// The same streamed, where that has a path of its own.
    StreamMessages,
    /// Gemini.
    GenerateContent,
    /// Gemini, streamed.
    StreamGenerateContent,
    /// Bedrock.
    Converse,
    /// Bedrock, streamed.
    ConverseStream,
    /// Cohere.
    CohereChat,
    /// Legacy text completion.
    Completions,
    /// Embeddings of OpenAI.
    Embeddings,
    /// Whether a text is harmful: OpenAI.
    Moderations,
    /// Pictures from a text: OpenAI.
    ImageGenerations,
    /// Sound from a text: OpenAI.
    Speech,
    /// A text from sound: OpenAI.
    Transcriptions,
    /// An English text from sound: OpenAI.
    Translations,
    /// Pictures from pictures and a text: OpenAI.
    ImageEdits,
    /// Pictures from a picture: OpenAI.
    ImageVariations,
    /// How many tokens a request has: Anthropic.
    CountTokens,
    /// The same: Gemini.
    GeminiCountTokens,
    /// An embedding: Gemini.
    EmbedContent,
    /// Several: Gemini.
    BatchEmbedContents,
    /// Embeddings of Cohere.
    Embed,
    /// Documents in the order of their relevance: Cohere.
    Rerank,
    /// Embeddings of models on Bedrock.
    Invoke,
    /// How many tokens a request has: OpenAI Responses.
    ResponseTokens,
    /// Files: OpenAI. Only where a row names the path.
    Files,
    /// Batches: OpenAI. Likewise.
    Batches,
    /// Batches: Anthropic. Likewise.
    MessageBatches,
    /// A session over WebSocket: OpenAI.
    Realtime,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 30] = [
        Self::Chat,
        Self::Responses,
        Self::Messages,
        Self::StreamMessages,
        Self::GenerateContent,
        Self::StreamGenerateContent,
        Self::Converse,
        Self::ConverseStream,
        Self::CohereChat,
        Self::Completions,
        Self::Embeddings,
        Self::Moderations,
        Self::ImageGenerations,
        Self::Speech,
        Self::Transcriptions,
        Self::Translations,
        Self::ImageEdits,
        Self::ImageVariations,
        Self::CountTokens,
        Self::GeminiCountTokens,
        Self::EmbedContent,
        Self::BatchEmbedContents,
        Self::Embed,
        Self::Rerank,
        Self::Invoke,
        Self::ResponseTokens,
        Self::Files,
        Self::Batches,
        Self::MessageBatches,
        Self::Realtime,
    ];

    /// To generate a message, whole or streamed.
    pub const fn generate(dialect: Dialect, stream: Stream) -> Self {
        match (dialect, stream) {
            (Dialect::OpenAiChat, _) => Self::Chat,
            (Dialect::OpenAiResponses, _) => Self::Responses,
            (Dialect::AnthropicMessages, Stream::No) => Self::Messages,
            (Dialect::AnthropicMessages, Stream::Yes) => Self::StreamMessages,
            (Dialect::Gemini, Stream::No) => Self::GenerateContent,
            (Dialect::Gemini, Stream::Yes) => Self::StreamGenerateContent,
            (Dialect::BedrockConverse, Stream::No) => Self::Converse,
            (Dialect::BedrockConverse, Stream::Yes) => Self::ConverseStream,
            (Dialect::CohereChat, _) => Self::CohereChat,
        }
    }

    /// To embed something.
    pub const fn embed(api: Api) -> Self {
        match api {
            Api::OpenAi => Self::Embeddings,
            Api::GeminiBatch => Self::BatchEmbedContents,
            Api::Gemini => Self::EmbedContent,
            Api::Cohere => Self::Embed,
            Api::Bedrock => Self::Invoke,
        }
    }

    /// What lies below the path of something that is kept.
    pub const fn stored(stored: Stored) -> Self {
        match stored {
            Stored::Response => Self::Responses,
            Stored::File | Stored::Input => Self::Files,
            Stored::Batch => Self::Batches,
            Stored::MessageBatch => Self::MessageBatches,
        }
    }

    /// The name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Messages => "messages",
            Self::StreamMessages => "stream_messages",
            Self::GenerateContent => "generate_content",
            Self::StreamGenerateContent => "stream_generate_content",
            Self::Converse => "converse",
            Self::ConverseStream => "converse_stream",
            Self::CohereChat => "cohere_chat",
            Self::Completions => "completions",
            Self::Embeddings => "embeddings",
            Self::Moderations => "moderations",
            Self::ImageGenerations => "image_generations",
            Self::Speech => "speech",
            Self::Transcriptions => "transcriptions",
            Self::Translations => "translations",
            Self::ImageEdits => "image_edits",
            Self::ImageVariations => "image_variations",
            Self::CountTokens => "count_tokens",
            Self::GeminiCountTokens => "gemini_count_tokens",
            Self::EmbedContent => "embed_content",
            Self::BatchEmbedContents => "batch_embed_contents",
            Self::Embed => "embed",
            Self::Rerank => "rerank",
            Self::Invoke => "invoke",
            Self::ResponseTokens => "response_tokens",
            Self::Files => "files",
            Self::Batches => "batches",
            Self::MessageBatches => "message_batches",
            Self::Realtime => "realtime",
        }
    }

    /// The dialect whose owner has it.
    pub const fn dialect(self) -> Dialect {
        match self {
            Self::Chat
            | Self::Completions
            | Self::Embeddings
            | Self::Moderations
            | Self::ImageGenerations
            | Self::Speech
            | Self::Transcriptions
            | Self::Translations
            | Self::ImageEdits
            | Self::ImageVariations
            | Self::Files
            | Self::Batches
            | Self::Realtime => Dialect::OpenAiChat,
            Self::Responses | Self::ResponseTokens => Dialect::OpenAiResponses,
            Self::Messages | Self::StreamMessages | Self::CountTokens | Self::MessageBatches => {
                Dialect::AnthropicMessages
            }
            Self::GenerateContent
            | Self::StreamGenerateContent
            | Self::GeminiCountTokens
            | Self::EmbedContent
            | Self::BatchEmbedContents => Dialect::Gemini,
            Self::Converse | Self::ConverseStream | Self::Invoke => Dialect::BedrockConverse,
            Self::CohereChat | Self::Embed | Self::Rerank => Dialect::CohereChat,
        }
    }

    /// Whether it generates messages, which a provider of the dialect cannot be without.
    pub(crate) const fn is_needed(self) -> bool {
        matches!(
            self,
            Self::Chat
                | Self::Responses
                | Self::Messages
                | Self::GenerateContent
                | Self::StreamGenerateContent
                | Self::Converse
                | Self::ConverseStream
                | Self::CohereChat
        )
    }

    /// Whether providers of the dialect have it unless their row says otherwise. Few of those who speak as OpenAI or
    /// Anthropic do keep files and batches.
    pub(crate) const fn is_usual(self) -> bool {
        !matches!(self, Self::Files | Self::Batches | Self::MessageBatches)
    }

    /// Whether it takes or makes sound or pictures: its answer has the form that the provider gives it, whatever was
    /// asked for (JSON, text, sound, events), and its cost is counted in more than tokens.
    pub const fn is_media(self) -> bool {
        matches!(
            self,
            Self::ImageGenerations
                | Self::Speech
                | Self::Transcriptions
                | Self::Translations
                | Self::ImageEdits
                | Self::ImageVariations
        )
    }

    /// Whether its requests are forms (`multipart/form-data`), or may be.
    pub const fn takes_form(self) -> bool {
        matches!(self, Self::Transcriptions | Self::Translations | Self::ImageEdits | Self::ImageVariations)
    }

    /// The operation whose path this one takes where it has none of its own.
    pub(crate) const fn wider(self) -> Option<Self> {
        match self {
            Self::StreamMessages => Some(Self::Messages),
            _ => None,
        }
    }

    /// The owner's path, below its base URL.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/chat/completions",
            Self::Responses => "/responses",
            Self::Messages | Self::StreamMessages => "/messages",
            Self::GenerateContent => "/models/{model}:generateContent",
            Self::StreamGenerateContent => "/models/{model}:streamGenerateContent?alt=sse",
            Self::Converse => "/model/{model}/converse",
            Self::ConverseStream => "/model/{model}/converse-stream",
            Self::CohereChat => "/chat",
            Self::Completions => "/completions",
            Self::Embeddings => "/embeddings",
            Self::Moderations => "/moderations",
            Self::ImageGenerations => "/images/generations",
            Self::Speech => "/audio/speech",
            Self::Transcriptions => "/audio/transcriptions",
            Self::Translations => "/audio/translations",
            Self::ImageEdits => "/images/edits",
            Self::ImageVariations => "/images/variations",
            Self::CountTokens => "/messages/count_tokens",
            Self::GeminiCountTokens => "/models/{model}:countTokens",
            Self::EmbedContent => "/models/{model}:embedContent",
            Self::BatchEmbedContents => "/models/{model}:batchEmbedContents",
            Self::Embed => "/embed",
            Self::Rerank => "/rerank",
            Self::Invoke => "/model/{model}/invoke",
            Self::ResponseTokens => "/responses/input_tokens",
            Self::Files => "/files",
            Self::Batches => "/batches",
            Self::MessageBatches => "/messages/batches",
            Self::Realtime => "/realtime?model={model}",
        }
    }
}

/// Whether an answer is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Whole.
    No,
    /// As events.
    Yes,
}

/// Paths by operation: `/below/base_url`, or `//from/the/root` of the host; a query may follow, and `{model}` stands for
/// the model's name. Missing is the dialect's own (but for `files`,
/// `batches` and `message_batches`), an empty string means that the vendor does not have it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Endpoints(pub BTreeMap<Operation, String>);

impl JsonSchema for Endpoints {
    fn schema_name() -> Cow<'static, str> {
        "Endpoints".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let path = |operation: Operation| {
            let usual = operation.path();
            let about = match operation.is_usual() {
                true => format!("The path, where it is not `{usual}`."),
                false => format!("The path, where the vendor has it, such as `{usual}`."),
            };
            (operation.name().to_owned(), json_schema!({ "type": "string", "description": about }).to_value())
        };
        let properties: serde_json::Map<_, _> = Operation::ALL.into_iter().map(path).collect();
        json_schema!({ "type": "object", "properties": properties, "additionalProperties": false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_documents() {
        for operation in Operation::ALL {
            assert_eq!(serde_json::to_value(operation).unwrap(), operation.name());
        }
    }
}
