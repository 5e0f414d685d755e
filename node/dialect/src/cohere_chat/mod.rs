//! Cohere v2 Chat.

mod citations;
mod codec;
mod edit;
mod error;
mod events;
mod finish;
mod logprobs;
mod request;
mod response;
mod usage;

pub(crate) use codec::CohereChat;
