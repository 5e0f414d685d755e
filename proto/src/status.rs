//! What a node says of itself. The comments are in `trestle/cluster/v1/status.proto`.

#![allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated")]

include!(concat!(env!("OUT_DIR"), "/status/trestle.cluster.v1.rs"));
