//! Requests, answers and streams made up at random, as far as each dialect can express them.

pub(crate) mod answers;
pub(crate) mod cohere;
pub(crate) mod json;
pub(crate) mod requests;
