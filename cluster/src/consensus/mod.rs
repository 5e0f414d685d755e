//! Entities in a Raft log: changed whole or not at all, and kept through crashes.

// What is on the disk.
mod disk;
mod folder;
mod record;

// What the consensus library asks of us.
mod log_store;
mod network;
mod snapshot;
mod state_machine;
mod types;

// One command, applied; and what it leaves.
mod apply;
mod revise;
mod values;

// What others use.
mod chain;
mod handle;
mod look;

#[cfg(test)]
mod tests;

pub use chain::{ChainError, Record, RecordStep, chain};
pub use folder::{OpenError, SetAside};
pub use handle::{Consensus, Opened, ProposeError};
pub use look::ReadError;
pub use record::{Change, Changed, Entity, Revision, Step, Write};
