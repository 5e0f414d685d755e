//! Credentials of Amazon.

mod chain;
pub(super) use chain::fetch;

mod profile;

mod sts;

mod metadata;

mod keys;
