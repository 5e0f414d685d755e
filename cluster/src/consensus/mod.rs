//! Entities in a Raft log: changed whole or not at all, and kept through crashes.

// What is on the disk.
mod disk;
mod folder;
mod kept_cluster;
mod record;
mod records_file;

// What the consensus library asks of us.
mod frame;
mod log_store;
mod network;
mod snapshot;
mod state_machine;
mod types;

// One command, applied; and what it leaves.
mod apply;
mod revise;
mod shares;
mod values;

// More than one node.
mod forward;
mod found;
mod members;
mod reconcile;
mod service;
mod step_down;
mod version;

// What others use.
mod backup;
mod chain;
mod handle;
mod look;
mod start;
mod status;

#[cfg(test)]
mod tests;

pub use backup::{BackupError, RestoreError, Restored, restore};
pub use chain::{ChainError, Record, RecordStep, chain};
pub use folder::{OpenError, SetAside};
pub use forward::ClusterError;
pub use found::Founding;
pub use handle::{Consensus, Opened, ProposeError};
pub use look::ReadError;
pub use record::{Change, Changed, Entity, Revision, Step, Write};
pub use shares::ShareRun;
pub use start::{MeshWay, Prepared};
pub use status::{MemberStatus, Status};
pub use version::Mismatch;
