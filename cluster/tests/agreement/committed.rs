//! What is committed never changes: a revision is the same on all nodes, and in all their lives.

use std::collections::BTreeMap;
use trestle_cluster::Consensus;

/// Revisions as they were when they were first seen. A record holds what changed and the digest of the record before.
#[derive(Default)]
pub(crate) struct Committed {
    records: BTreeMap<u64, Vec<Vec<u8>>>,
    /// How far each life of a node was looked at.
    looked: BTreeMap<(u64, u64), u64>,
}

impl Committed {
    pub(crate) fn look(&mut self, seed: u64, life: (u64, u64), consensus: &Consensus) {
        let (looked, now) = (self.looked.entry(life).or_default(), consensus.revision());
        assert!(now >= *looked, "seed {seed}: {life:?} went back from {looked} to {now}");
        for revision in *looked + 1..=now {
            let record = consensus.record(revision).unwrap();
            let record = record.unwrap_or_else(|| panic!("seed {seed}: {life:?} has no revision {revision}"));
            let first = self.records.entry(revision).or_insert_with(|| record.records.clone());
            assert_eq!(*first, record.records, "seed {seed}: revision {revision} of {life:?} is another one");
        }
        *looked = now;
    }
}
