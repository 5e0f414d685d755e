//! Names of what is measured here as it happens; who runs a node describes them.

/// Histogram: until all that was written of consensus is on the disk.
pub const FSYNC_SECONDS: &str = "trestle_raft_fsync_seconds";
/// Histogram: from a peer being asked in gossip to its answer.
pub const GOSSIP_ROUND_SECONDS: &str = "trestle_gossip_round_seconds";
