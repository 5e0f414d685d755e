//! The OpenAI API: chat completions, responses, completions, embeddings, models, sound, pictures.

mod answer;
mod ask;
mod chat;
mod check;
mod error;
mod fields;
mod media;
mod messages;
mod moderations;
mod other;
mod responses;
mod sound;
mod vendor;

pub(crate) use chat::chat;
pub(crate) use media::{edits, edits_in_json, images, variations};
pub(crate) use moderations::moderations;
pub(crate) use other::{completions, embeddings, model, models};
pub(crate) use responses::responses;
pub(crate) use sound::{speech, transcriptions, translations};
pub(crate) use vendor::OpenAi;
