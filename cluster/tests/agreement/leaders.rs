//! No node follows a leader that is older than one it has followed. Leaders are told apart by term and number: where a candidate did
//! not hear of the leader of its term it may lead that term after it, if its number is higher. So the library orders votes.

use std::collections::{BTreeMap, BTreeSet};
use trestle_cluster::{NodeId, Status};

type Leader = (u64, NodeId);

/// Who leads, as nodes said.
#[derive(Default)]
pub(crate) struct Leaders {
    all: BTreeSet<Leader>,
    /// Whom each node followed last.
    last: BTreeMap<u64, Leader>,
    gone_back: Vec<String>,
}

impl Leaders {
    pub(crate) fn hear(&mut self, place: u64, status: &Status) {
        let Some(leader) = status.leader.map(|leader| (status.term, leader)) else { return };
        self.all.insert(leader);
        if let Some(before) = self.last.insert(place, leader).filter(|before| *before > leader) {
            self.gone_back.push(format!("node {place} follows {leader:?} after {before:?}"));
        }
    }

    pub(crate) fn check(&self, seed: u64) {
        assert!(self.gone_back.is_empty(), "seed {seed}: {:?}", self.gone_back);
    }

    /// So many there were.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }
}
