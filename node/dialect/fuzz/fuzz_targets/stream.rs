//! Any bytes as a streamed answer.
#![no_main]

#[path = "../checks/stream.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
