//! Any bytes as a request for embeddings, or an answer to one.
#![no_main]

#[path = "../checks/embed.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
