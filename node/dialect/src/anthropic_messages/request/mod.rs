//! Requests of Anthropic Messages.

mod blocks;
mod closed;
mod decode;
mod encode;
mod encode_blocks;
mod encode_messages;
mod excerpt;
mod thinking;

pub(super) use blocks::read_block;
pub(crate) use blocks::read_tool_input;
pub(crate) use closed::write_closed;
pub(super) use decode::decode;
pub(crate) use encode::write_schema;
pub(super) use encode::{LACKS, encode};
pub(crate) use encode_blocks::{tool_id, write_tool_input};
pub(crate) use thinking::Thinking;
