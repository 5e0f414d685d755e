//! One registry of metrics: those of requests, of the process and of the machine, for who asks and for a collector.

// What is counted.
mod host;
mod process;

// All of it together.
mod read;
mod registry;

// What a collector gets.
mod otlp;
mod push;

pub(crate) use process::{
    Reloaded, accept_failed, broken, connection_closed, connection_ended, connection_opened,
    connection_refused, copies, exported, ledger, reloaded, revision, spans_begin, spans_dropped, spans_sent,
    store,
};
pub(crate) use push::Push;
pub(crate) use registry::{Recorded, Registry};
