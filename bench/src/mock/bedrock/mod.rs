//! The Bedrock API: Converse.

mod answer;
mod ask;
mod check;
mod converse;
mod error;
mod shapes;
mod turns;
mod vendor;

pub(crate) use converse::converse;
pub(crate) use vendor::Bedrock;
