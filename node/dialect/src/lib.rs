//! Wire formats: what vendors put on the wire, and one representation between them. No I/O, no clock.

pub mod json;

pub mod event_stream;
pub mod sse;

pub mod multipart;

pub mod frame;
pub use frame::Framing;

mod envelope;
pub use envelope::{Edits, Envelope, Pieces};

pub mod ir;

mod failure;
pub use failure::{Attempt, Category, Failure, Fault, Refusal, RefusalKind};

mod hints;
pub use hints::{Word, may_need};

mod output_bound;
pub use output_bound::{OutputBound, lower_output, output_bound};

mod model_list;
pub use model_list::{ListedModel, model_info, model_list};

mod target;
pub use target::{MaxTokensMember, Quirks, Target};

mod codec;
pub use codec::{
    DecodeEvents, Dialect, EncodeEvents, Encoded, Glance, Inbound, Look, Outbound, StreamContext, inbound,
    outbound,
};

mod words;
pub use words::in_words_of;

mod text_bytes;
pub use text_bytes::text_bytes;

mod batch;
mod body;
mod dropped;
pub mod embed;
pub mod realtime;
pub use batch::{batch_models, line_models, line_usage, name_batch_models, named};

mod routed;
pub use routed::{carried_routes, mark_sealed, sealed_routes, unmark_carried, unmark_sealed};

pub mod stored;
pub use stored::Stored;

mod edit;
mod fault;
mod foreign;
mod in_turn;
mod kind;
mod read;
mod usage;

mod anthropic_messages;
mod bedrock_converse;
mod cohere_chat;
mod gemini;
mod openai_chat;
mod openai_responses;

pub use bedrock_converse::error_type as bedrock_error_type;
pub use gemini::name_model as name_gemini_model;
pub use openai_chat::{Pictures, media_usage};
