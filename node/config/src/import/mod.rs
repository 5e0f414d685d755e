//! Documents out of the configuration of other gateways. What has no equivalent is told, never dropped in silence.

mod report;
pub use report::{Imported, Note};

mod members;

mod secret;

mod account;

mod check;

mod limit;

mod bifrost;
pub use bifrost::bifrost;

mod litellm;
pub use litellm::litellm;

#[cfg(test)]
mod tests;
