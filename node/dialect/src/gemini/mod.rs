//! Gemini `generateContent` and `streamGenerateContent`.

mod attached;
mod base64;
mod codec;
mod edit;
mod error;
mod events;
mod model;
mod named;
mod names;
mod part;
mod request;
mod response;
mod schema;
mod seal;
mod usage;

pub(crate) use codec::Gemini;
pub use named::name_model;
pub(crate) use names::camel;
