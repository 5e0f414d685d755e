//! The words for what a model is, what it can, and what it takes and gives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a model is for.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Answers messages.
    #[default]
    Chat,
    /// Goes on with a text.
    Completion,
    /// Makes vectors.
    Embedding,
    /// Judges a text by rules or labels.
    Evaluation,
    /// Makes or changes pictures.
    Image,
    /// Says whether a text is harmful.
    Moderation,
    /// Makes music.
    Music,
    /// Reads pages.
    Ocr,
    /// Speaks and listens over one connection.
    Realtime,
    /// Orders documents by how well they answer a query.
    Rerank,
    /// Searches the web.
    Search,
    /// Speaks a text.
    Speech,
    /// Writes down what is spoken.
    Transcription,
    /// Makes films.
    Video,
}

/// What a model can. A feature that is not named is not known to be there. The first fifteen are those of requests, by the same
/// names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// Function tools.
    Tools,
    /// More than one answer.
    Choices,
    /// Pictures in messages.
    Images,
    /// Pictures in tool results.
    ToolResultImages,
    /// Documents.
    Documents,
    /// Sound in messages.
    Audio,
    /// Output that follows a JSON Schema.
    JsonSchema,
    /// Output that is any JSON object.
    JsonObject,
    /// Reasoning.
    Reasoning,
    /// Log probabilities.
    Logprobs,
    /// Tools that the vendor runs, such as a search of the web.
    ServerTools,
    /// A streamed answer.
    Streaming,
    /// Films in messages.
    Video,
    /// An answer that is spoken.
    AudioOutput,
    /// Pictures in the answer.
    ImageOutput,
    /// Input is cached, asked for or not.
    PromptCaching,
    /// Several calls of tools in one answer.
    ParallelTools,
    /// Tools that move a mouse.
    ComputerUse,
    /// Goes on with the beginning of an answer.
    Prefill,
}

/// What a model takes or gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Modality {
    /// Text.
    Text,
    /// Pictures.
    Image,
    /// Sound.
    Audio,
    /// Films.
    Video,
    /// Documents such as PDF.
    Document,
    /// Vectors.
    Vector,
    /// Scores, labels, an order.
    Score,
}

impl Modality {
    /// What a model of such a kind takes, where nothing else is said.
    pub(crate) fn taken(kind: Kind, features: &BTreeSet<Feature>) -> BTreeSet<Self> {
        let first: &[Self] = match kind {
            Kind::Transcription => &[Self::Audio],
            Kind::Ocr => &[Self::Image, Self::Document],
            Kind::Realtime => &[Self::Text, Self::Audio],
            _ => &[Self::Text],
        };
        let also = [
            (Feature::Images, Self::Image),
            (Feature::Audio, Self::Audio),
            (Feature::Video, Self::Video),
            (Feature::Documents, Self::Document),
        ];
        with(first, &also, features)
    }

    /// What a model of such a kind gives, where nothing else is said.
    pub(crate) fn given(kind: Kind, features: &BTreeSet<Feature>) -> BTreeSet<Self> {
        let first: &[Self] = match kind {
            Kind::Chat | Kind::Completion | Kind::Ocr | Kind::Search | Kind::Transcription => &[Self::Text],
            Kind::Embedding => &[Self::Vector],
            Kind::Evaluation | Kind::Moderation | Kind::Rerank => &[Self::Score],
            Kind::Image => &[Self::Image],
            Kind::Music | Kind::Speech => &[Self::Audio],
            Kind::Realtime => &[Self::Text, Self::Audio],
            Kind::Video => &[Self::Video],
        };
        let also = [(Feature::AudioOutput, Self::Audio), (Feature::ImageOutput, Self::Image)];
        with(first, &also, features)
    }
}

fn with(
    first: &[Modality],
    also: &[(Feature, Modality)],
    features: &BTreeSet<Feature>,
) -> BTreeSet<Modality> {
    let also = also.iter().filter(|(feature, _)| features.contains(feature)).map(|(_, modality)| *modality);
    first.iter().copied().chain(also).collect()
}
