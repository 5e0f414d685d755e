//! Credentials of clouds against small servers that issue them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is a failed test")]

mod aws;
mod entra;
mod google;
mod keeping;
mod server;
mod support;
