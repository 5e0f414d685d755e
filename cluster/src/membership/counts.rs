//! What became of datagrams, counted.

use super::open::Refused;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What became of datagrams since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GossipCounts {
    /// Datagrams that were handed to the system.
    pub sent: u64,
    /// Datagrams that were opened.
    pub received: u64,
    /// Bytes of those that were sent.
    pub bytes_sent: u64,
    /// Bytes of those that were opened.
    pub bytes_received: u64,
    /// Datagrams that the system did not take.
    pub not_sent: u64,
    /// Messages that were not sent because they were too large.
    pub too_large: u64,
    /// The largest message that was sent, in bytes.
    pub message_bytes_max: u64,
    /// Refused: not of this protocol.
    pub garbage: u64,
    /// Refused: sealed with another secret, or changed on the way.
    pub sealed: u64,
    /// Refused: of another time. Where it grows a clock is wrong.
    pub time: u64,
    /// Refused: seen before.
    pub replayed: u64,
    /// Refused: from more senders than a mesh has.
    pub crowded: u64,
}

/// The same while it grows.
#[derive(Default)]
pub(super) struct Counting {
    pub(super) sent: AtomicU64,
    pub(super) received: AtomicU64,
    pub(super) bytes_sent: AtomicU64,
    pub(super) bytes_received: AtomicU64,
    pub(super) not_sent: AtomicU64,
    pub(super) too_large: AtomicU64,
    pub(super) message_bytes_max: AtomicU64,
    garbage: AtomicU64,
    sealed: AtomicU64,
    time: AtomicU64,
    replayed: AtomicU64,
    crowded: AtomicU64,
}

impl Counting {
    /// Counts a refusal; how many of its kind there were.
    pub(super) fn refuse(&self, refused: Refused) -> u64 {
        let counter = match refused {
            Refused::Garbage => &self.garbage,
            Refused::Sealed => &self.sealed,
            Refused::Time => &self.time,
            Refused::Replayed => &self.replayed,
            Refused::Crowded => &self.crowded,
        };
        counter.fetch_add(1, Relaxed) + 1
    }

    pub(super) fn now(&self) -> GossipCounts {
        let read = |counter: &AtomicU64| counter.load(Relaxed);
        GossipCounts {
            sent: read(&self.sent),
            received: read(&self.received),
            bytes_sent: read(&self.bytes_sent),
            bytes_received: read(&self.bytes_received),
            not_sent: read(&self.not_sent),
            too_large: read(&self.too_large),
            message_bytes_max: read(&self.message_bytes_max),
            garbage: read(&self.garbage),
            sealed: read(&self.sealed),
            time: read(&self.time),
            replayed: read(&self.replayed),
            crowded: read(&self.crowded),
        }
    }
}
