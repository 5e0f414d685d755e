//! The ledger of this node: opened before the first request, tended to while it serves, and what limits count made of it.

mod checkpoint;
mod keep;
mod open;
mod read;

pub(crate) use keep::Keeper;
pub(crate) use open::{Opened, now_ms, open};
pub(crate) use read::{Reader, Unanswered, room_for_copies};
