//! Streamed answers of Gemini: each event is an answer with more of the parts.

mod decode;
mod encode;
mod frame;
mod glance;

pub(super) use decode::Reader;
pub(super) use encode::Writer;
pub(super) use glance::glance;
