//! This node in its cluster: how it joins, what it says of itself, how questions are asked of all, how it leaves.

mod join;
pub(crate) use join::{Joined, join};

mod cooldowns;
mod measure;
mod shares;
pub(crate) use shares::share;

mod standing;
pub(crate) use standing::tell;

// Any node answers for all.
mod gather;
pub(crate) use gather::{Gather, Gathered, Ungathered};

mod answer;
mod merge;
mod round;
mod stand_in;

// Each has copies of what others wrote.
mod copy;
pub(crate) use copy::Copier;

mod keep;
mod place;

mod wire;
