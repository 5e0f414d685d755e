//! Strict limits in a cluster: who may spend in which windows is fixed before they open, and each node spends its own share.

// What should be fixed: a pure function.
mod decide;

// What this node has, and the task that has the rest fixed.
mod own;
pub(crate) use own::OwnShares;

mod keep;
