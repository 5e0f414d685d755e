//! The image, the bundle and `compose.yaml`: what their scripts make, and the image as it runs in an unpacked root.
//!
//! Needs python3 with `venv`, skopeo, strace, iproute2 and a C compiler, and root for the image that runs. That is the one which
//! `node/image/build` left below the target folder, as it takes minutes to build: without it those tests are left out, with
//! `TRESTLE_REQUIRE_IMAGE=1` they fail.

#![allow(clippy::expect_used, clippy::panic)] // a panic is a failed test

#[path = "python/environment.rs"]
mod environment;

use environment::{Environment, beside_the_build};
use std::io::Write;

#[test]
fn image_and_bundle_are_what_they_say() {
    let Some(environment) = Environment::of("image-venv", "node/image/tests") else { return };
    let archive = concat!("image/trestle-", env!("CARGO_PKG_VERSION"), ".tar");
    let archive = beside_the_build(archive).expect("a target folder");
    if !archive.is_file() {
        // Not `eprintln!`, which the test harness keeps to itself where a test passes.
        let skipped =
            format!("SKIPPED: the image did not run: no {}; node/image/build makes it\n", archive.display());
        let _ = std::io::stderr().write_all(skipped.as_bytes());
    }
    environment.run(&[("TRESTLE_TEST_IMAGE", archive.display().to_string())]);
}
