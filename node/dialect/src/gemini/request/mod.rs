//! Requests of Gemini.

mod config;
mod contents;
mod decode;
mod encode;
mod encode_config;
mod encode_contents;
mod encode_parts;
mod encode_tools;
mod join;
mod thinking;
mod tools;

pub(super) use decode::decode;
pub(super) use encode::{LACKS, encode};
