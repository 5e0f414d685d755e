//! Bedrock Converse.

mod citations;
mod codec;
mod edit;
mod error;
mod events;
mod family;
mod formats;
mod redacted;
mod request;
mod response;
mod usage;

pub(crate) use codec::BedrockConverse;
pub use error::error_type;
