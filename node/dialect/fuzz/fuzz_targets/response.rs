//! Any bytes as a whole answer or an error.
#![no_main]

#[path = "../checks/response.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
