//! Requests of OpenAI Responses.

mod decode;
mod encode;
mod encode_items;
mod encode_parts;
mod messages;

pub(super) use decode::decode;
pub(super) use encode::{LACKS, encode};
