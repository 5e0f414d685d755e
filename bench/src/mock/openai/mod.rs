//! The OpenAI API: chat completions, responses, completions, embeddings, models.

mod answer;
mod ask;
mod batches;
mod chat;
mod check;
mod error;
mod files;
mod media;
mod messages;
mod other;
mod responses;
mod vendor;

pub(crate) use batches::kept_batch;
pub(crate) use chat::chat;
pub(crate) use files::kept_file;
pub(crate) use media::{images, moderations, speech};
pub(crate) use other::{completions, delete_model, embeddings, model, models};
pub(crate) use responses::{input_tokens, kept as kept_response, responses};
pub(crate) use vendor::OpenAi;
