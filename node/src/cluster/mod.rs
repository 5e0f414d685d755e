//! This node in its cluster: how it joins, what it says of itself, how it leaves.

mod join;
pub(crate) use join::join;

mod cooldowns;
mod measure;
mod shares;
pub(crate) use shares::share;

mod standing;
pub(crate) use standing::tell;
