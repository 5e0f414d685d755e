//! The Anthropic API: messages and models.

mod answer;
mod ask;
mod blocks;
mod check;
mod endpoints;
mod error;
mod messages;

pub(crate) use endpoints::{messages, model, models};
pub(crate) use error::{forced_error, missing_key, render as render_error, unknown_path};
