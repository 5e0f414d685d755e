//! Any bytes as a form.
#![no_main]

#[path = "../checks/multipart.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
