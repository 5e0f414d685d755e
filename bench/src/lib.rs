//! A mock upstream, a load generator and the overhead benchmark. Links none of Trestle's own crates.

#[cfg(target_os = "linux")]
pub mod load;
pub mod mock;
#[cfg(target_os = "linux")]
pub mod overhead;
mod wire;
