//! How nodes tell each other what they count. The comments are in `trestle/cluster/v1/counters.proto`.

#![allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated")]

include!(concat!(env!("OUT_DIR"), "/counters/trestle.cluster.v1.rs"));
