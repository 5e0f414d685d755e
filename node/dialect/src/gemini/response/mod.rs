//! Whole answers, and what they share with streamed ones.

mod decode;
mod encode;
mod grounding;
mod logprobs;
mod sources;
mod stop;

pub(super) use decode::{decode, says_nothing};
pub(super) use encode::{encode, write_head};
pub(super) use grounding::read_grounding;
pub(super) use logprobs::{read_logprobs, write_logprobs};
pub(super) use sources::Sources;
pub(super) use stop::{Held, decode_stop, encode_stop, is_finished};
