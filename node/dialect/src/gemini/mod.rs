//! Gemini `generateContent` and `streamGenerateContent`.

mod attached;
mod base64;
mod codec;
mod edit;
mod error;
mod events;
mod model;
mod names;
mod part;
mod request;
mod response;
mod schema;
mod seal;
mod usage;

pub(crate) use codec::Gemini;
pub(crate) use names::camel;
