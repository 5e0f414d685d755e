//! A mock upstream, a load generator and the overhead benchmark. Links none of Trestle's own crates.

pub mod mock;
mod wire;
