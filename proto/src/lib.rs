//! The protobuf messages of the cluster and the code made from them.

pub mod copies;
pub mod counters;
pub mod log;
pub mod queries;
pub mod raft;
pub mod status;

// The trait of all messages is there.
pub use prost;

// Services are made of these.
pub use {tonic, tonic_prost};
