//! The ledger of this node: opened before the first request, tended to while it serves, and what limits count made of it.

mod checkpoint;
mod keep;
mod open;

pub(crate) use keep::Keeper;
pub(crate) use open::{Opened, open};
