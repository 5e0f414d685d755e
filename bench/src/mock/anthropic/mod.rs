//! The Anthropic API: messages and models.

mod answer;
mod ask;
mod blocks;
mod check;
mod endpoints;
mod error;
mod messages;
mod vendor;

pub(crate) use endpoints::{messages, model, models};
pub(crate) use vendor::Anthropic;
