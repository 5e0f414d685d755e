//! Requests, answers and streams made up at random, as far as each dialect can express them.

pub(crate) mod answers;
pub(crate) mod bedrock_converse;
pub(crate) mod cohere;
pub(crate) mod gemini_answers;
pub(crate) mod gemini_requests;
pub(crate) mod json;
pub(crate) mod requests;
pub(crate) mod responses_requests;
pub(crate) mod sources;
