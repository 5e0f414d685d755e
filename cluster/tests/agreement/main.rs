//! Consensus in a simulated network. First things go wrong by a seed: cuts, also one-way and between two nodes of which a third sees
//! both, late and lost messages, crashes; nodes write meanwhile, and nothing may be contradicted. Then all heals, and nodes must
//! come to agree and take changes again. The seed of a run that fails is in its message; `AGREEMENT_SEEDS` runs others.
//!
//! Links, faults and their times come from the seed. When nodes elect, and how their tasks interleave, does not: a seed that fails
//! may have to be run some times.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a panic is a failed test

mod acknowledged;
mod committed;
mod faults;
mod leaders;
mod life;
#[allow(dead_code, reason = "gossip uses the rest")]
#[path = "../simulation/network.rs"]
mod network;
#[path = "../simulation/seeds.rs"]
mod seeds;
mod world;

use faults::{Faults, Wrong};
use std::time::Duration;
use tempfile::TempDir;
use world::{Shared, World};

/// Of each kind of trouble, where nothing else is said.
const SEEDS: u64 = 25;
/// A step of simulated time.
const TICK: Duration = Duration::from_millis(20);
/// Longest way of a message while all is well.
const LATE: Duration = Duration::from_millis(30);
/// After healing all must agree within this.
const HEALED: Duration = Duration::from_secs(60);

/// What a run came to.
#[derive(Debug, Default)]
struct Ran {
    acknowledged: usize,
    refused: usize,
    leaders: usize,
}

struct Run {
    seed: u64,
    size: u64,
    sim: turmoil::Sim<'static>,
    world: Shared,
    committed: committed::Committed,
}

impl Run {
    fn new(seed: u64, size: u64, folder: &TempDir) -> Self {
        let world = Shared::new(World::new(seed).into());
        let mut sim = turmoil::Builder::new()
            .rng_seed(seed)
            .tick_duration(TICK)
            .simulation_duration(Duration::from_secs(600))
            .max_message_latency(LATE)
            .repair_rate(0.1)
            .tcp_capacity(65_536)
            .build();
        for place in 1..=size {
            let (folder, world) = (folder.path().join(place.to_string()), world.clone());
            sim.host(life::name(place), move || life::live((place, size), folder.clone(), world.clone()));
        }
        Self { seed, size, sim, world, committed: committed::Committed::default() }
    }

    /// One step, after which nothing may be contradicted.
    fn step(&mut self) {
        self.sim.step().unwrap_or_else(|error| panic!("seed {}: {error}", self.seed));
        let world = self.world.lock().unwrap();
        for (place, (life, consensus)) in &world.running {
            self.committed.look(self.seed, (*place, *life), consensus);
        }
        world.leaders.check(self.seed);
    }

    fn until(&mut self, what: &str, reached: impl Fn(&World) -> bool) {
        let end = self.sim.elapsed() + HEALED;
        while !reached(&self.world.lock().unwrap()) {
            assert!(self.sim.elapsed() < end, "seed {}: never {what}", self.seed);
            self.step();
        }
    }

    fn all(&self) -> std::ops::RangeInclusive<u64> {
        1..=self.size
    }
}

fn run(seed: u64, wrong: Wrong) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let size = if seed.is_multiple_of(4) { 5 } else { 3 };
    let mut run = Run::new(seed, size, &folder);
    run.until("a change of each", |world| world.have_all_written(size));

    let mut faults = Faults::of(seed, size, wrong);
    let begun = run.sim.elapsed();
    while !faults.are_over(run.sim.elapsed() - begun) {
        faults.happen(run.sim.elapsed() - begun, &mut run.sim, &run.world);
        run.step();
    }

    faults.heal(&mut run.sim, &run.world);
    run.world.lock().unwrap().forget_written();
    run.until("a change of each after healing", |world| world.have_all_written(size));
    run.world.lock().unwrap().stop = true;
    run.until("one state of all", |world| world.is_quiet(size) && world.is_one_state());
    let world = run.world.lock().unwrap();
    assert_eq!(world.running.len() as u64, run.all().count() as u64);
    acknowledged::check(&world, seed);
    Ran {
        acknowledged: world.acknowledged.len(),
        refused: world.refused.len(),
        leaders: world.leaders.count(),
    }
}

fn check_seeds(wrong: Wrong) -> Ran {
    let mut all = Ran::default();
    for seed in seeds::seeds("AGREEMENT_SEEDS", SEEDS) {
        let ran = run(seed, wrong);
        all.acknowledged += ran.acknowledged;
        all.refused += ran.refused;
        all.leaders += ran.leaders - 1;
    }
    println!("{wrong:?}: {all:?}");
    assert!(all.acknowledged > 0 && all.leaders > 0, "nothing happened: {all:?}");
    all
}

#[test]
fn cuts_contradict_nothing() {
    assert!(check_seeds(Wrong::Cuts).refused > 0, "no change was refused for want of a leader");
}

#[test]
fn late_and_lost_messages_contradict_nothing() {
    check_seeds(Wrong::Messages);
}

#[test]
fn crashes_contradict_nothing() {
    check_seeds(Wrong::Crashes);
}

#[test]
fn all_at_once_contradicts_nothing() {
    check_seeds(Wrong::All);
}
