//! How long peers take to answer in gossip.

use crate::measured::GOSSIP_ROUND_SECONDS;
use chitchat::ChitchatMessage;
use metrics::histogram;
use std::{collections::HashMap, net::SocketAddr};
use tokio::time::Instant;

/// Peers that were asked and have not answered. More are not waited for: a mesh has fewer, and the dead are among them.
const ASKED_MAX: usize = 64;

/// Who was asked, and when.
#[derive(Default)]
pub(super) struct Rounds(HashMap<SocketAddr, Instant>);

impl Rounds {
    /// Notes what goes out.
    pub(super) fn sent(&mut self, to: SocketAddr, message: &ChitchatMessage) {
        if matches!(message, ChitchatMessage::Syn { .. }) {
            if self.0.len() >= ASKED_MAX {
                self.0.clear();
            }
            self.0.insert(to, Instant::now());
        }
    }

    /// Measures where this is an answer.
    pub(super) fn received(&mut self, from: SocketAddr, message: &ChitchatMessage) {
        if matches!(message, ChitchatMessage::SynAck { .. })
            && let Some(asked) = self.0.remove(&from)
        {
            histogram!(GOSSIP_ROUND_SECONDS).record(asked.elapsed());
        }
    }
}
