//! OpenAI Responses.

mod annotations;
mod codec;
mod echo;
mod edit;
mod error;
mod events;
mod items;
mod logprobs;
mod output;
pub(crate) use output::OUR_REASONING;
mod parts;
mod proof;
mod request;
mod response;
mod usage;

pub(crate) use codec::OpenAiResponses;
