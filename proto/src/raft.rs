//! How the nodes of a cluster agree. The comments are in `trestle/cluster/v1/raft.proto`.

#![allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated")]

include!(concat!(env!("OUT_DIR"), "/raft/trestle.cluster.v1.rs"));
