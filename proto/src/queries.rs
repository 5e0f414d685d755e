//! What nodes ask each other about what they did. The comments are in `trestle/cluster/v1/queries.proto`.

#![allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated")]

include!(concat!(env!("OUT_DIR"), "/queries/trestle.cluster.v1.rs"));
