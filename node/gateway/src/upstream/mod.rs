//! The network side of a call: connections, pools, and the bodies that go out and come in.

mod connect;
mod incoming;
mod inflate;
mod io;
mod outgoing;
mod pool;
mod tls;

pub(crate) use connect::ConnectError;
pub(crate) use incoming::{Broken, Incoming, Source};
pub(crate) use inflate::{Inflate, InflateError};
pub(crate) use outgoing::Outgoing;
pub(crate) use pool::{Mode, Pool, SendError, send};
