//! What operators ask a node over HTTP; an axum router on the admin runtime.

mod health;
pub(crate) use health::Health;

mod router;
pub(crate) use router::{Admin, serves};

mod listen;
pub(crate) use listen::listen;
