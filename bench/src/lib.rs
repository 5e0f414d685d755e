//! A mock upstream, a load generator, the overhead benchmark, and drills of several nodes. Links none of Trestle's own crates.

#[cfg(target_os = "linux")]
pub mod drill;
#[cfg(target_os = "linux")]
pub mod load;
pub mod mock;
#[cfg(target_os = "linux")]
pub mod overhead;
#[cfg(target_os = "linux")]
mod process;
mod wire;
