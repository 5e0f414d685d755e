//! What operators set: kept in consensus, changed in one place, compiled for requests.

mod origin;
pub(crate) use origin::{Origin, Role, Via};

mod seal;
pub(crate) use seal::{Keyring, Wrapped, masked};

mod secrets;
pub(crate) use secrets::NodeSecrets;

mod token;
pub(crate) use token::{TokenEntity, Tokens};

mod kept;
pub(crate) use kept::{DATA_KEY, Kept, SECRETS, TOKENS};

mod compiled;

mod state;
pub(crate) use state::Control;

mod change;
pub(crate) use change::{ChangeError, Done, Edit, Intent, View, mask, revisions, towards};

mod begin;
pub(crate) use begin::{Begin, Purpose};

#[cfg(test)]
mod tests;
