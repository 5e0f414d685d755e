//! Anthropic Messages.

mod carried;
mod citation;
mod codec;
mod edit;
mod error;
mod events;
mod request;
mod response;
mod usage;

pub(crate) use codec::AnthropicMessages;
