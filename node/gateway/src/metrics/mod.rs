//! Metrics of the data plane: one shard a thread, written by it alone and merged into families when somebody asks.

mod histogram;
mod keys;
mod series;
mod shard;
mod stages;

mod family;
mod merge;
mod now;
mod text;

pub use family::{Buckets, Family, Kind, Sample, Value};
pub(crate) use histogram::Gaps;
pub(crate) use keys::KeyNames;
pub(crate) use merge::families;
pub(crate) use series::Ended;
pub(crate) use shard::{Place, Shard};
pub use text::text;
