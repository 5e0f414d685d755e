//! Load: prebuilt requests over keep-alive HTTP/1.1, in a closed loop or at a fixed rate.

mod closed;
mod connection;
mod open;
mod pin;
mod probe;
mod reader;
mod requests;
mod tally;

pub use closed::Closed;
pub(crate) use connection::Connection;
pub use open::{Rate, at_rate};
pub use pin::{pin_thread, raise_file_limit};
pub use probe::probe;
pub use requests::{Api, Expect, KEYS, Prompt, Target, key, requests};
pub use tally::{Latencies, Tally};
