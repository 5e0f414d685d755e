//! Whole answers.

mod decode;
mod encode;

pub(super) use decode::{decode, stop_reason};
pub(super) use encode::{HasRefusal, encode, ending};
