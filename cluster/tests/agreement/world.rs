//! What all nodes together did, which only the test knows.

use crate::leaders::Leaders;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};
use trestle_cluster::Consensus;

pub(crate) type Shared = Arc<Mutex<World>>;

/// Differs from call to call, the same for a seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// What was asked, and what was answered.
pub(crate) struct World {
    pub(crate) random: Random,
    /// Nodes that run: which life, and the handle to it.
    pub(crate) running: BTreeMap<u64, (u64, Consensus)>,
    /// So many lives each had.
    pub(crate) lives: BTreeMap<u64, u64>,
    /// Nodes with a change on its way.
    pub(crate) writing: BTreeSet<u64>,
    /// Nodes that had a change acknowledged since this was emptied.
    written: BTreeSet<u64>,
    /// Names of entities, with the revision that each is said to have made.
    pub(crate) acknowledged: BTreeMap<String, u64>,
    /// Names of entities of which it was said that they will never be there.
    pub(crate) refused: BTreeSet<String>,
    /// How often the number was counted up: surely, and perhaps.
    pub(crate) counted: u64,
    pub(crate) perhaps_counted: u64,
    pub(crate) leaders: Leaders,
    /// Nobody writes any more.
    pub(crate) stop: bool,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            random: Random(seed),
            running: BTreeMap::new(),
            lives: BTreeMap::new(),
            writing: BTreeSet::new(),
            written: BTreeSet::new(),
            acknowledged: BTreeMap::new(),
            refused: BTreeSet::new(),
            counted: 0,
            perhaps_counted: 0,
            leaders: Leaders::default(),
            stop: false,
        }
    }

    /// A change of a node is in effect.
    pub(crate) fn acknowledge(&mut self, place: u64, name: String, revision: u64) {
        self.written.insert(place);
        self.acknowledged.insert(name, revision);
    }

    pub(crate) fn forget_written(&mut self) {
        self.written.clear();
    }

    /// Whether each node had a change acknowledged, and all run.
    pub(crate) fn have_all_written(&self, size: u64) -> bool {
        (1..=size).all(|place| self.running.contains_key(&place) && self.written.contains(&place))
    }

    /// Whether nothing is on its way.
    pub(crate) fn is_quiet(&self, size: u64) -> bool {
        self.writing.is_empty() && self.running.len() as u64 == size
    }

    /// Whether all nodes hold the same.
    pub(crate) fn is_one_state(&self) -> bool {
        let mut states = self.running.values().map(|(_, consensus)| consensus.entities().unwrap());
        let first = states.next();
        states.all(|state| Some(state) == first)
    }
}
