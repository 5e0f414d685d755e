//! Streamed answers.

mod decode;
mod encode;
mod frame;
mod glance;
mod items;
mod open;
mod parts;

pub(super) use decode::Reader;
pub(super) use encode::Writer;
pub(super) use glance::glance;
