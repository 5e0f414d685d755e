//! The Cohere API, version 2: chat, embed, rerank.

mod answer;
mod ask;
mod check;
mod endpoints;
mod error;
mod events;
mod messages;
mod other;
mod vendor;

pub(crate) use endpoints::chat;
pub(crate) use other::{embed, rerank};
pub(crate) use vendor::Cohere;
