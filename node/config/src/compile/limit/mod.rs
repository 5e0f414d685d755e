//! Limits and budgets: from what is written to what requests are held to.

mod usd;

mod per;

mod written;
pub(super) use written::Written;

mod downgrade;
pub(super) use downgrade::{circles, unknown};

mod list;
pub(super) use list::compile;
