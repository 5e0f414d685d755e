//! The Gemini API: generateContent and what goes with it.

mod answer;
mod ask;
mod check;
mod contents;
mod error;
mod generate;
mod other;
mod shapes;
mod vendor;

pub(crate) use generate::{count_tokens, generate};
pub(crate) use other::{batch_embed, embed, model, models};
pub(crate) use vendor::Gemini;
