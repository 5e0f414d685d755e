//! OpenAI Chat Completions.

mod annotations;
mod carried;
mod codec;
mod edit;
mod error;
mod events;
mod logprobs;
mod media;
mod proof;
mod request;
mod response;
mod usage;

pub(crate) use codec::OpenAiChat;
pub use media::{Pictures, media_usage};

pub(crate) use error::{code as error_code, encode as encode_error, write_members as write_error_members};
