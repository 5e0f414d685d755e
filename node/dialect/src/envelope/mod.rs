//! What a request body is before anyone knows its dialect: its bytes and where its top-level members are.

mod body;
mod edits;

pub use body::Envelope;
pub use edits::{Edits, Pieces};

#[cfg(test)]
mod tests;
