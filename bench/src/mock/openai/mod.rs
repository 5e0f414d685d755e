//! The OpenAI API: chat completions, responses, completions, embeddings, models, sound, pictures.

mod answer;
mod ask;
mod batches;
mod chat;
mod check;
mod error;
mod fields;
mod files;
mod media;
mod messages;
mod moderations;
mod other;
mod responses;
mod sound;
mod vendor;

pub(crate) use batches::kept_batch;
pub(crate) use chat::chat;
pub(crate) use files::kept_file;
pub(crate) use media::{edits, edits_in_json, images, variations};
pub(crate) use moderations::moderations;
pub(crate) use other::{completions, delete_model, embeddings, model, models};
pub(crate) use responses::{input_tokens, kept as kept_response, responses};
pub(crate) use sound::{speech, transcriptions, translations};
pub(crate) use vendor::OpenAi;
