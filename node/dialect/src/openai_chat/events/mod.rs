//! Streamed answers of OpenAI Chat Completions.

mod calls;
mod chunk;
mod decode;
mod encode;
mod glance;
mod parts;

pub(super) use decode::Reader;
pub(super) use encode::Writer;
pub(super) use glance::glance;
