//! Streamed answers of OpenAI Chat Completions.

mod calls;
mod chunk;
mod decode;
mod encode;
mod glance;
mod parts;
mod sources;

pub(super) use decode::Reader;
pub(super) use encode::Writer;
pub(super) use glance::glance;
