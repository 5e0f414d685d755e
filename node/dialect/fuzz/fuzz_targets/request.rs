//! Any bytes as a request.
#![no_main]

#[path = "../checks/request.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
