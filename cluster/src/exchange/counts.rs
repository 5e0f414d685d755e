//! What the exchange did, for metrics.

use crate::NodeId;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What the exchange did since it began, and how it stands with each peer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExchangeCounts {
    /// Bytes of messages that were sent, without what carries them.
    pub bytes_sent: u64,
    /// Bytes of messages that came.
    pub bytes_received: u64,
    /// Cells that were sent, by all ways.
    pub cells_sent: u64,
    /// Cells that came, by all ways.
    pub cells_received: u64,
    /// Of these, told something new.
    pub cells_new: u64,
    /// Of these, found no room.
    pub cells_full: u64,
    /// Comparisons with a peer that came to their end.
    pub repairs: u64,
    /// Comparisons that failed.
    pub repairs_failed: u64,
    /// Buckets that differed in comparisons. Those with traffic always do a little.
    pub buckets_differed: u64,
    /// Connections to peers that were opened.
    pub connections: u64,
    /// Whether this node spends by what it saw when a member got out of reach.
    pub frozen: bool,
    /// How often that began.
    pub freezes: u64,
    /// By peer.
    pub peers: Vec<PeerCounts>,
}

/// How it stands with one peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerCounts {
    /// Who.
    pub node: NodeId,
    /// Its connection is open, and it has answered.
    pub connected: bool,
    /// For how long it has not had all that this node changed, in milliseconds.
    pub lag_ms: u64,
    /// How far its clock is ahead, in milliseconds. Above [`CLOCK_OFFSET_ALERT_MS`](super::CLOCK_OFFSET_ALERT_MS), either way,
    /// someone should look.
    pub clock_offset_ms: Option<i64>,
}

/// The counts that only grow.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) bytes_sent: AtomicU64,
    pub(super) bytes_received: AtomicU64,
    pub(super) cells_sent: AtomicU64,
    pub(super) cells_received: AtomicU64,
    pub(super) cells_new: AtomicU64,
    pub(super) cells_full: AtomicU64,
    pub(super) repairs: AtomicU64,
    pub(super) repairs_failed: AtomicU64,
    pub(super) buckets_differed: AtomicU64,
    pub(super) connections: AtomicU64,
    pub(super) freezes: AtomicU64,
}

pub(super) fn add(count: &AtomicU64, more: usize) {
    count.fetch_add(more as u64, Relaxed);
}

impl Tally {
    pub(super) fn sent(&self, bytes: usize, cells: usize) {
        add(&self.bytes_sent, bytes);
        add(&self.cells_sent, cells);
    }

    pub(super) fn received(&self, bytes: usize, cells: usize) {
        add(&self.bytes_received, bytes);
        add(&self.cells_received, cells);
    }

    /// Nothing of peers.
    pub(super) fn counts(&self) -> ExchangeCounts {
        let read = |count: &AtomicU64| count.load(Relaxed);
        ExchangeCounts {
            bytes_sent: read(&self.bytes_sent),
            bytes_received: read(&self.bytes_received),
            cells_sent: read(&self.cells_sent),
            cells_received: read(&self.cells_received),
            cells_new: read(&self.cells_new),
            cells_full: read(&self.cells_full),
            repairs: read(&self.repairs),
            repairs_failed: read(&self.repairs_failed),
            buckets_differed: read(&self.buckets_differed),
            connections: read(&self.connections),
            freezes: read(&self.freezes),
            frozen: false,
            peers: Vec::new(),
        }
    }
}
