//! What nodes share: replicated entities that survive crashes. Knows no type of the configuration, only bytes.

mod consensus;

pub use consensus::{
    Change, Condition, Consensus, Entity, OpenError, Opened, ProposeError, ReadError, SetAside, Write,
};
