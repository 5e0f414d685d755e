//! Requests of Anthropic Messages.

mod blocks;
mod decode;
mod encode;
mod encode_blocks;
mod encode_messages;
mod excerpt;
mod thinking;

pub(super) use blocks::read_block;
pub(super) use decode::decode;
pub(super) use encode::{LACKS, encode};
pub(super) use encode_blocks::write_tool_input;
