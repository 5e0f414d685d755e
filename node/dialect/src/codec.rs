//! The seams of this crate: what a dialect must do towards clients (`Inbound`) and towards providers (`Outbound`).

use crate::{Edits, Envelope, Failure, Fault, Framing, Refusal, Target, frame, ir, json::Raw};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A wire format for generating messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// OpenAI Chat Completions.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// OpenAI Responses.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Anthropic Messages.
    AnthropicMessages,
    /// Gemini `generateContent`.
    Gemini,
    /// Bedrock Converse.
    BedrockConverse,
    /// Cohere v2 Chat.
    CohereChat,
}

impl Dialect {
    /// Every dialect that we speak.
    pub const ALL: [Self; 6] = [
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::AnthropicMessages,
        Self::Gemini,
        Self::BedrockConverse,
        Self::CohereChat,
    ];

    /// How the events of a streamed answer are told apart.
    pub const fn framing(self) -> Framing {
        match self {
            Self::BedrockConverse => Framing::EventStream,
            _ => Framing::Sse,
        }
    }

    /// Whether the model stands in the path of a request, and not in its body.
    pub const fn model_in_path(self) -> bool {
        matches!(self, Self::Gemini | Self::BedrockConverse)
    }

    /// The name in the document, logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::AnthropicMessages => "anthropic-messages",
            Self::Gemini => "gemini",
            Self::BedrockConverse => "bedrock-converse",
            Self::CohereChat => "cohere-chat",
        }
    }
}

/// The codec that reads requests and writes answers of a dialect.
pub fn inbound(dialect: Dialect) -> &'static dyn Inbound {
    match dialect {
        Dialect::OpenAiChat => &crate::openai_chat::OpenAiChat,
        Dialect::OpenAiResponses => &crate::openai_responses::OpenAiResponses,
        Dialect::AnthropicMessages => &crate::anthropic_messages::AnthropicMessages,
        Dialect::Gemini => &crate::gemini::Gemini,
        Dialect::BedrockConverse => &crate::bedrock_converse::BedrockConverse,
        Dialect::CohereChat => &crate::cohere_chat::CohereChat,
    }
}

/// The codec that writes requests and reads answers of a dialect.
pub fn outbound(dialect: Dialect) -> &'static dyn Outbound {
    match dialect {
        Dialect::OpenAiChat => &crate::openai_chat::OpenAiChat,
        Dialect::OpenAiResponses => &crate::openai_responses::OpenAiResponses,
        Dialect::AnthropicMessages => &crate::anthropic_messages::AnthropicMessages,
        Dialect::Gemini => &crate::gemini::Gemini,
        Dialect::BedrockConverse => &crate::bedrock_converse::BedrockConverse,
        Dialect::CohereChat => &crate::cohere_chat::CohereChat,
    }
}

/// The client's side of a dialect.
pub trait Inbound: Send + Sync {
    /// Reads a request. Errors name the member at fault. `ir::Request::needs` tells which features it uses. Where the
    /// path names the model, `model` and `stream` are left as they are by default.
    fn decode_request(&self, envelope: &Envelope) -> Result<ir::Request, Refusal>;

    /// Whether the client asked for usage at the end of a stream (always true where the dialect has no such switch).
    fn wants_usage(&self, envelope: &Envelope) -> bool;

    /// What answers repeat of the request, as an object, where the dialect's do that.
    fn echo(&self, _envelope: &Envelope) -> Option<ir::Json> {
        None
    }

    /// Writes a whole answer; names in `dropped` what the dialect cannot express.
    fn encode_response(&self, response: &ir::Response, context: &StreamContext) -> Encoded;

    /// A writer of one streamed answer.
    fn encode_events(&self, context: &StreamContext) -> Box<dyn EncodeEvents>;

    /// The body of an error answer.
    fn encode_failure(&self, failure: &Failure<'_>) -> Vec<u8>;

    /// An error in the middle of a stream, as a whole native event; the stream ends after it, with no forged end.
    fn encode_failure_event(&self, failure: &Failure<'_>) -> Vec<u8>;
}

/// The provider's side of a dialect.
pub trait Outbound: Send + Sync {
    /// Features that a request of another dialect cannot have here, whatever the provider: a request that needs one
    /// of them is not sent to this dialect (`encode_request` would refuse it).
    fn lacks_in_translation(&self) -> ir::Features;

    /// Whether the dialect can be told the address of such media; where it cannot, the gateway gets them.
    fn reads_url(&self, kind: &ir::BlockKind) -> bool;

    /// Writes a request for the target (quirks and `params` applied); names in `dropped` what cannot be expressed.
    /// Refuses only what would change the meaning if it were dropped.
    fn encode_request(&self, request: &ir::Request, target: &Target<'_>) -> Result<Encoded, Refusal>;

    /// The edits that a request of this same dialect needs for the target: model, params, quirks, usage in streams.
    /// Also returns the members dropped by quirk.
    fn edit_request(&self, envelope: &Envelope, target: &Target<'_>)
    -> Result<(Edits, Vec<String>), Refusal>;

    /// Reads a whole answer. The error says what makes no sense.
    fn decode_response(&self, body: &Bytes) -> Result<ir::Response, String>;

    /// A reader of one streamed answer.
    fn decode_events(&self) -> Box<dyn DecodeEvents>;

    /// Reads an error answer: any body is acceptable, JSON of the vendor or not.
    fn decode_fault(&self, status: u16, body: &Bytes) -> Fault;

    /// A quick look at one event of a stream that is passed on unchanged. Tolerates anything. With `Look::Meter`
    /// (after the commit point) it may take every event with data that is not a keep-alive for content.
    fn glance(&self, event: &frame::Event<'_>, look: Look) -> Glance;

    /// The member of a whole answer that holds its usage.
    fn usage_member(&self) -> &'static str;

    /// Reads that member, for the meter; `None` where it says nothing.
    fn usage(&self, member: Raw<'_>) -> Option<ir::Usage>;

    /// Usage in the last bytes of an answer that was too large to be read whole.
    fn usage_in_tail(&self, tail: &[u8]) -> Option<ir::Usage> {
        crate::usage::find(tail, self.usage_member(), |member| self.usage(member))
    }
}

/// How closely to look at an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Before the commit point: is it content, exactly?
    Commit,
    /// After it: only what the meter needs, as cheaply as can be.
    Meter,
}

/// What a quick look at an event found.
#[derive(Debug, Clone, Default)]
pub struct Glance {
    /// Something that a reader of the answer would see (text, a tool call, a stop reason), not a lifecycle frame or keep-alive.
    pub content: bool,
    /// Usage so far, if the event carries some.
    pub usage: Option<ir::Usage>,
    /// The event is there only to carry usage: it is cut out for a client that did not ask (OpenAI `choices: []`).
    pub usage_only: bool,
    /// What is sent instead of the event, where the provider wrote something into it that clients stumble over.
    pub replacement: Option<Vec<u8>>,
    /// An error event.
    pub fault: Option<Fault>,
    /// The event describes the answer as a whole, with its id.
    pub describes: bool,
    /// The proper end of the stream.
    pub end: bool,
}

/// A body, and the members that could not be expressed, as paths: of a request in words for all clients, which
/// [`crate::in_words_of`] turns into a client's.
#[derive(Debug, Clone, Default)]
pub struct Encoded {
    /// The JSON body.
    pub body: Vec<u8>,
    /// What was left out.
    pub dropped: Vec<String>,
}

/// What an encoder of answers must know of the request.
#[derive(Debug, Clone)]
pub struct StreamContext {
    /// Becomes the id of the answer where the upstream gave none.
    pub request_id: String,
    /// The model as the client named it, for upstreams that do not echo one.
    pub model: String,
    /// Seconds since the epoch, for `created`.
    pub created: u64,
    /// The client asked for usage in the stream.
    pub include_usage: bool,
    /// What the answer repeats of the request: see [`Inbound::echo`].
    pub echo: Option<ir::Json>,
}

/// Reads the events of one streamed answer.
pub trait DecodeEvents: Send {
    /// Appends what the event means; an error event becomes `ir::Event::Fault`. The error says what makes no sense.
    fn decode(&mut self, event: &frame::Event<'_>, out: &mut Vec<ir::Event>) -> Result<(), String>;

    /// Whether the proper end has been seen. False at the end of the bytes means that the upstream died.
    fn ended(&self) -> bool;
}

/// Writes the events of one streamed answer.
pub trait EncodeEvents: Send {
    /// Appends the bytes for an event; some events have none. Names in `dropped` what cannot be expressed.
    fn encode(&mut self, event: &ir::Event, out: &mut Vec<u8>, dropped: &mut Vec<String>);
}
