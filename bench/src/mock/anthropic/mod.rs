//! The Anthropic API: messages and models.

mod answer;
mod ask;
mod batches;
mod blocks;
mod check;
mod endpoints;
mod error;
mod messages;
mod vendor;

pub(crate) use batches::kept_batch;
pub(crate) use check::{schema_problem, thinking as check_thinking};
pub(crate) use endpoints::{count_tokens, messages, model, models};
pub(crate) use vendor::Anthropic;
