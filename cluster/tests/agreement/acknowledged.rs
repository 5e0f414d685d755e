//! What was acknowledged is there in the end, and what was refused is not.

use crate::world::World;
use std::collections::BTreeMap;
use trestle_cluster::Consensus;

/// The number that nodes count up by one from what they see.
pub(crate) fn number(consensus: &Consensus) -> (u64, u64) {
    let (revision, found) = consensus.page("number", None, 1).unwrap();
    let value = found.first().map(|entity| String::from_utf8(entity.value.clone()).unwrap());
    (revision, value.map_or(0, |value| value.parse().unwrap()))
}

/// Of a world in which all nodes hold the same.
pub(crate) fn check(world: &World, seed: u64) {
    let (_, consensus) = world.running.values().next().unwrap();
    let (_, entities) = consensus.entities().unwrap();
    let found: BTreeMap<_, _> = entities.into_iter().map(|entity| (entity.id, entity.revision)).collect();
    for (name, revision) in &world.acknowledged {
        assert_eq!(found.get(name), Some(revision), "seed {seed}: {name} was acknowledged");
    }
    for name in &world.refused {
        assert_eq!(found.get(name), None, "seed {seed}: {name} was refused");
    }
    let (number, least) = (number(consensus).1, world.counted);
    let most = least + world.perhaps_counted;
    assert!((least..=most).contains(&number), "seed {seed}: {number} is not from {least} to {most}");
}
