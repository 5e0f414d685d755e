//! Messages and their blocks.

use super::{Citation, Json, Sealed, Text};
use crate::{
    Dialect,
    json::{Raw, unescape},
};
use std::borrow::Cow;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Instructions of the operator of the application.
    System,
    /// The same in the words of newer OpenAI models.
    Developer,
    /// The person, and the results of tools.
    User,
    /// The model.
    Assistant,
}

/// One turn. Blocks keep the order in which they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub blocks: Vec<Block>,
    /// A name of the speaker (OpenAI).
    pub name: Option<Text>,
    /// Members that are not modelled.
    pub attachments: Vec<Attachment>,
}

/// A block and what is attached to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// A cache mark, in the words of Anthropic (`{"type": "ephemeral", "ttl": "1h"}`).
    pub cache: Option<Json>,
    /// The vendor's proof of the block: of reasoning, and with Gemini of tool calls and texts as well.
    pub signature: Option<Sealed>,
    /// Where it comes from.
    pub citations: Vec<Citation>,
    /// Members that are not modelled.
    pub attachments: Vec<Attachment>,
}

impl From<BlockKind> for Block {
    fn from(kind: BlockKind) -> Self {
        Self { kind, cache: None, signature: None, citations: Vec::new(), attachments: Vec::new() }
    }
}

/// The kinds of blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockKind {
    /// Plain text.
    Text(Text),
    /// A picture.
    Image(Media),
    /// A document, such as a PDF.
    Document(Media),
    /// Sound.
    Audio(Media),
    /// A film.
    Video(Media),
    /// The model calls a tool. `input` is the *text* of the arguments, escaped as in a JSON string: it may be
    /// malformed, because models write it. No arguments are `{}`.
    ToolUse {
        /// The id of the call.
        id: Text,
        /// The name of the tool.
        name: Text,
        /// The text of the arguments.
        input: Text,
    },
    /// What a tool gave back.
    ToolResult {
        /// The id of the call.
        id: Text,
        /// Text, images, documents.
        content: Vec<Block>,
        /// The tool failed.
        is_error: bool,
    },
    /// Visible reasoning, or its summary.
    Thinking(Text),
    /// Reasoning that only the vendor can read.
    RedactedThinking(Sealed),
    /// The model declines.
    Refusal(Text),
    /// A block that is not modelled, only meaningful to the dialect it came from.
    Opaque {
        /// Where it came from.
        dialect: Dialect,
        /// The whole block.
        json: Json,
    },
}

impl BlockKind {
    /// The vendors' word for it.
    pub fn type_name(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::Text(_) => "text",
            Self::Image(_) => "image",
            Self::Document(_) => "document",
            Self::Audio(_) => "input_audio",
            Self::Video(_) => "video",
            Self::ToolUse { .. } => "tool_use",
            Self::ToolResult { .. } => "tool_result",
            Self::Thinking(_) => "thinking",
            Self::RedactedThinking(_) => "redacted_thinking",
            Self::Refusal(_) => "refusal",
            Self::Opaque { json, .. } => {
                // Where a vendor has unions instead of types, the first member names what it is.
                let raw = json.raw();
                let first = || raw.members().next().map(|member| unescape(member.key));
                let kind = raw.get("type").and_then(Raw::string).or_else(first);
                return kind.unwrap_or(Cow::Borrowed("unknown"));
            }
        })
    }
}

/// Data of a picture, document or sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// Where the bytes are.
    pub source: MediaSource,
    /// The media type, such as `image/png`, where it is known.
    pub media_type: Option<Text>,
    /// How closely to look (OpenAI `detail`).
    pub detail: Option<Text>,
    /// File name or title.
    pub title: Option<Text>,
}

/// Where media bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaSource {
    /// Base64, inline.
    Base64(Text),
    /// A URL that the provider fetches.
    Url(Text),
    /// A file that was uploaded to this dialect's vendor.
    File(Dialect, Text),
    /// Plain text, inline (Anthropic text documents).
    Plain(Text),
}

/// A member that is not modelled, kept for targets of the same dialect and reported for others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Where it came from.
    pub dialect: Dialect,
    /// Its name, escaped.
    pub name: Text,
    /// Its value.
    pub value: Json,
}
