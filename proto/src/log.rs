//! What the Raft log and the state machine keep. The comments are in `trestle/cluster/v1/log.proto`.

#![allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated")]

include!(concat!(env!("OUT_DIR"), "/log/trestle.cluster.v1.rs"));
