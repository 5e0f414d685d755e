//! Requests of Bedrock Converse.

mod blocks;
mod decode;
mod document_names;
mod encode;
mod encode_blocks;
mod encode_fields;
mod encode_messages;
mod encode_tools;
mod fields;
mod members;
mod messages;
mod reasoning;
mod tools;

pub(super) use blocks::read_block;
pub(super) use decode::decode;
pub(super) use encode::{LACKS, encode};
pub(super) use encode_blocks::write_cited;
