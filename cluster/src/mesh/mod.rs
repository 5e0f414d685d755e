//! How nodes call each other: connections, a server, and checks that both are who they should be.

// Who is who.
mod identity;

pub use identity::{ClusterId, Identity, NodeId, NotAClusterId, NotThisCluster};
