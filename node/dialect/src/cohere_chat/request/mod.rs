//! Requests of Cohere v2 Chat.

mod decode;
mod encode;
mod encode_messages;
mod encode_parts;
mod messages;
mod parts;

pub(super) use decode::decode;
pub(super) use encode::{LACKS, encode};
pub(super) use encode_messages::write_call_open;
pub(super) use encode_parts::begin_text;
pub(super) use parts::{decode_call, no_arguments, read_content};
