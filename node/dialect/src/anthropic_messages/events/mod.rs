//! Streamed answers of Anthropic Messages.

mod decode;
mod encode;
mod frame;
mod glance;

pub(super) use decode::Reader;
pub(super) use encode::Writer;
pub(super) use glance::glance;
