//! Any bytes as an event stream.
#![no_main]

#[path = "../checks/sse.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
