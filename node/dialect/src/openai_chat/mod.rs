//! OpenAI Chat Completions.

mod codec;
mod edit;
mod error;
mod events;
mod request;
mod response;
mod usage;

pub(crate) use codec::OpenAiChat;
pub(crate) use error::{code as error_code, encode as encode_error};
