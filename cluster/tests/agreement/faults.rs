//! What goes wrong, and when: by a seed.

use crate::{
    LATE, life,
    world::{Random, Shared},
};
use std::time::Duration;
use turmoil::Sim;

/// So long something may go wrong.
const LENGTH_MS: u64 = 14_000;

/// A kind of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    Cuts,
    Messages,
    Crashes,
    All,
}

/// One fault between its beginning and its end.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// Two nodes hear nothing of each other; others may hear both.
    Cut(u64, u64),
    /// One hears nothing of the other.
    OneWay(u64, u64),
    /// Nobody hears of one, nor it of anybody.
    Alone(u64),
    /// What two nodes say to each other arrives in the end, all at once.
    Hold(u64, u64),
    /// Messages take longer.
    Late(u64),
    /// Of a thousand messages so many break the link that they are on for a while.
    Lost(u64),
    Crash(u64),
}

/// The faults of a run, each with the milliseconds of its beginning and its end.
pub(crate) struct Faults {
    size: u64,
    planned: Vec<(u64, u64, Fault)>,
    /// With their ends.
    running: Vec<(u64, Fault)>,
}

impl Faults {
    pub(crate) fn of(seed: u64, size: u64, wrong: Wrong) -> Self {
        let mut random = Random(seed ^ ((wrong as u64) << 40));
        // The first numbers of seeds that are near each other are alike.
        for _ in 0..4 {
            random.below(2);
        }
        let count = 3 + random.below(5);
        let planned = (0..count).map(|_| {
            let begin = random.below(LENGTH_MS - 1_000);
            let end = LENGTH_MS.min(begin + 500 + random.below(9_000));
            (begin, end, fault(&mut random, size, wrong))
        });
        Self { size, planned: planned.collect(), running: Vec::new() }
    }

    pub(crate) fn are_over(&self, elapsed: Duration) -> bool {
        elapsed.as_millis() as u64 > LENGTH_MS
    }

    /// Lets begin and end what does now.
    pub(crate) fn happen(&mut self, elapsed: Duration, sim: &mut Sim<'_>, world: &Shared) {
        let now = elapsed.as_millis() as u64;
        let begin: Vec<_> = self.planned.extract_if(.., |(begin, ..)| *begin <= now).collect();
        let ended: Vec<_> = self.running.extract_if(.., |(end, _)| *end <= now).collect();
        if ended.is_empty() && begin.is_empty() {
            return;
        }
        // Of two faults of one link the end of the first would mend both: all that go on begin anew.
        self.mend(sim);
        for (_, fault) in ended {
            if let Fault::Crash(place) = fault {
                revive(place, sim, world);
            }
        }
        for (_, fault) in &self.running {
            self.strike(*fault, sim);
        }
        for (_, end, fault) in begin {
            if let Fault::Crash(place) = fault {
                crash(place, sim, world);
            }
            self.strike(fault, sim);
            self.running.push((end, fault));
        }
    }

    /// Everything works from here on.
    pub(crate) fn heal(&mut self, sim: &mut Sim<'_>, world: &Shared) {
        self.mend(sim);
        for (_, fault) in std::mem::take(&mut self.running) {
            if let Fault::Crash(place) = fault {
                revive(place, sim, world);
            }
        }
    }

    fn mend(&self, sim: &mut Sim<'_>) {
        for one in 1..=self.size {
            for other in one + 1..=self.size {
                sim.release(life::name(one), life::name(other));
                sim.repair(life::name(one), life::name(other));
            }
        }
        sim.set_fail_rate(0.0);
        sim.set_max_message_latency(LATE);
    }

    fn strike(&self, fault: Fault, sim: &mut Sim<'_>) {
        match fault {
            Fault::Cut(one, other) => sim.partition(life::name(one), life::name(other)),
            Fault::OneWay(one, other) => sim.partition_oneway(life::name(one), life::name(other)),
            Fault::Alone(one) => {
                for other in (1..=self.size).filter(|other| *other != one) {
                    sim.partition(life::name(one), life::name(other));
                }
            }
            Fault::Hold(one, other) => sim.hold(life::name(one), life::name(other)),
            Fault::Late(ms) => sim.set_max_message_latency(Duration::from_millis(ms)),
            Fault::Lost(of_thousand) => sim.set_fail_rate(of_thousand as f64 / 1_000.0),
            Fault::Crash(_) => {}
        }
    }
}

fn fault(random: &mut Random, size: u64, wrong: Wrong) -> Fault {
    let one = 1 + random.below(size);
    let other = 1 + (one + random.below(size - 1)) % size;
    let kind = match wrong {
        Wrong::Cuts => random.below(3),
        Wrong::Messages => 3 + random.below(3),
        Wrong::Crashes => 6,
        Wrong::All => random.below(7),
    };
    match kind {
        0 => Fault::Cut(one, other),
        1 => Fault::OneWay(one, other),
        2 => Fault::Alone(one),
        3 => Fault::Hold(one, other),
        4 => Fault::Late(50 + random.below(700)),
        5 => Fault::Lost(1 + random.below(20)),
        _ => Fault::Crash(one),
    }
}

/// Ends a node without a word. What it had written stays on its disk.
fn crash(place: u64, sim: &mut Sim<'_>, world: &Shared) {
    let gone = {
        let mut world = world.lock().unwrap();
        world.writing.remove(&place);
        world.running.remove(&place)
    };
    // Two crashes of one node are one.
    if gone.is_some() {
        drop(gone);
        sim.crash(life::name(place));
    }
}

fn revive(place: u64, sim: &mut Sim<'_>, world: &Shared) {
    let runs = world.lock().unwrap().running.contains_key(&place);
    if !runs && !sim.is_host_running(life::name(place)) {
        sim.bounce(life::name(place));
    }
}
