//! Any bytes as a body.
#![no_main]

#[path = "../checks/envelope.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
