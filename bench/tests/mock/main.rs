//! Drives the mock with plain HTTP.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // A panic here is a failed test.

mod anthropic;
mod bedrock;
mod cohere;
mod faults;
mod forms;
mod gemini;
mod http;
mod openai;
mod recorded;
mod responses;
mod transport;
