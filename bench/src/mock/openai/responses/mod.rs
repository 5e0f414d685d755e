//! `POST /v1/responses`.

mod answer;
mod ask;
mod check;
mod content;
mod events;
mod items;
mod kept;
mod respond;
mod seal;
mod tools;

pub(crate) use kept::{input_tokens, kept};
pub(crate) use respond::responses;
