//! How nodes tell each other what they count: changes at once, and comparisons for what got lost.

// What travels.
mod wire;

// What is known of each peer, and what follows from it.
mod clock;
mod counts;
mod outgoing;
mod roster;
mod settings;

// What acts on it.
mod peer;
mod repair;
mod service;
mod shared;

// What others use.
mod handle;

#[cfg(test)]
mod tests;

pub use clock::{CLOCK_OFFSET_ALERT_MS, Clock, SystemClock};
pub use counts::{ExchangeCounts, PeerCounts};
pub use handle::{Exchange, Flushed, Neighbours, Pulled};
pub use settings::ExchangeSettings;
