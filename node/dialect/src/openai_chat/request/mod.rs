//! Requests of OpenAI Chat Completions.

mod decode;
mod encode;
mod encode_messages;
mod messages;
mod parts;
mod thinking;

pub(super) use decode::{decode, wants_usage};
pub(super) use encode::encode;
pub(super) use encode_messages::write_call_open;
pub(super) use parts::{THINKING, decode_call, decode_function, thinking_block};
pub(super) use thinking::{write_thinking, write_thinking_fields};
