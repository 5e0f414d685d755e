//! Limits and budgets: what is counted, what a request holds, what is told of it.

mod counted;
pub(crate) use counted::{AtHand, Counted, LEASE_MARGIN};

mod account;
pub(crate) use account::{Account, Counting, Refused, Scope};

mod amounts;
pub(crate) use amounts::{Spent, amount_of};

mod reached;
pub(crate) use reached::{Reached, named, owner_word};
pub use reached::{measure_word, usd};

mod headers;
pub(crate) use headers::{Left, write as write_headers};

mod now;
pub use now::{LimitNow, LimitPage, LimitsAsked, OWNER_KINDS, kind_word};
pub(crate) use now::{page, strict_windows};
