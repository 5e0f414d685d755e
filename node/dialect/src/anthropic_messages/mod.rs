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
// Models of Anthropic want the same on Bedrock.
pub(crate) use request::{Thinking, read_tool_input, tool_id, write_closed, write_schema, write_tool_input};
