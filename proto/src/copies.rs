//! How ledgers are copied between nodes. The comments are in `trestle/cluster/v1/copies.proto`.

#![allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated")]

include!(concat!(env!("OUT_DIR"), "/copies/trestle.cluster.v1.rs"));
