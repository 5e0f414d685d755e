//! The protobuf messages of the cluster and the code made from them.

pub mod log;

// The trait of all messages is there.
pub use prost;
