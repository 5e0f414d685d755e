//! The OpenAI API: chat completions, responses, completions, embeddings, models.

mod answer;
mod ask;
mod chat;
mod check;
mod error;
mod media;
mod messages;
mod other;
mod responses;
mod vendor;

pub(crate) use chat::chat;
pub(crate) use media::{images, moderations, speech};
pub(crate) use other::{completions, embeddings, model, models};
pub(crate) use responses::{input_tokens, kept as kept_response, responses};
pub(crate) use vendor::OpenAi;
