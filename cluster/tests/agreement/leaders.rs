//! A term has one leader.

use std::collections::{BTreeMap, BTreeSet};
use trestle_cluster::{NodeId, Status};

/// Who leads, as nodes said.
#[derive(Default)]
pub(crate) struct Leaders(BTreeMap<u64, BTreeSet<NodeId>>);

impl Leaders {
    pub(crate) fn hear(&mut self, status: &Status) {
        if let Some(leader) = status.leader {
            self.0.entry(status.term).or_default().insert(leader);
        }
    }

    pub(crate) fn check(&self, seed: u64) {
        for (term, leaders) in &self.0 {
            assert!(leaders.len() == 1, "seed {seed}: in term {term} lead {leaders:?}");
        }
    }

    /// Terms that had a leader.
    pub(crate) fn terms(&self) -> usize {
        self.0.len()
    }
}
