//! The listener of clients: one acceptor, connections on the data threads.

mod accept;
pub(crate) use accept::accept;

mod front;
pub(crate) use front::{Front, Limits};

mod connection;
mod drive;
mod http1;
mod service;

mod stream;
mod sweep;
mod vitals;

mod waiting;
pub(crate) use waiting::wait;

mod tls;
pub(crate) use tls::Tls;
