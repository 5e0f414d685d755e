//! Any bytes as a binary event stream.
#![no_main]

#[path = "../checks/event_stream.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
