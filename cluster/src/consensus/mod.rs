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

// One command, applied.
mod apply;

// What others use.
mod handle;

#[cfg(test)]
mod tests;

pub use folder::{OpenError, SetAside};
pub use handle::{Consensus, Opened, ProposeError, ReadError};
pub use record::{Change, Condition, Entity, Write};
