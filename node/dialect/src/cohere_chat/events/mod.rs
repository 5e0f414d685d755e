//! Streamed answers of Cohere v2 Chat.

mod decode;
mod encode;
mod frame;
mod glance;
mod open;

pub(super) use decode::Reader;
pub(super) use encode::Writer;
pub(super) use glance::glance;
