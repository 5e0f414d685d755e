//! The OpenAI API: chat completions, completions, embeddings, models.

mod answer;
mod ask;
mod chat;
mod check;
mod error;
mod messages;
mod other;

pub(crate) use chat::chat;
pub(crate) use error::{forced_error, missing_key, render as render_error, unknown_path};
pub(crate) use other::{completions, embeddings, model, models};
