//! The network side of a call: connections, pools, and the bodies that go out and come in.

mod chunked;
mod connect;
mod head;
mod http1;
mod http2;
mod incoming;
mod inflate;
mod io;
mod outgoing;
mod pool;
mod proxy;
mod tls;

pub(crate) use connect::{ConnectError, Io};
pub(crate) use head::{Head, Keep};
pub(crate) use incoming::{Broken, Incoming, Source};
pub(crate) use inflate::{Encoding, Inflate, InflateError};
pub(crate) use outgoing::Outgoing;
pub(crate) use pool::{Pool, SendError, Switched, send, switch};
