//! The exchange of counters in a simulated network: cuts, late messages, crashes, then healing. The seed of a run that
//! fails is in its message; `EXCHANGE_SEEDS` runs others.
#![allow(clippy::panic, clippy::unwrap_used)] // a panic is a failed test

#[path = "simulation/seeds.rs"]
mod seeds;

use std::{
    collections::BTreeMap,
    error::Error,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};
use tonic::service::Routes;
use trestle_cluster::{
    Channels, Clock, ClusterId, Exchange, ExchangeSettings, Identity, Listener, Neighbours, Network, NodeId,
    Server, Stream,
};
use trestle_counters::{
    Actor, Bound, Calendar, Cells, Charge, CounterId, Leases, LimitId, Rule, Settled, Settlement, Subject,
    Window,
};

/// Of each test, where nothing else is said.
const SEEDS: u64 = 67;
/// What nodes know is looked at so often: a look reads all their cells.
const LOOK: Duration = Duration::from_millis(50);
const NODES: u64 = 3;
const LIMIT: u64 = 3_000;
/// Each node charges so much, as often as this.
const AMOUNT: u64 = 1;
const EACH: Duration = Duration::from_millis(10);
/// Units a second, of all nodes.
const RATE: f64 = (NODES * AMOUNT) as f64 * 100.0;
/// Between a charge and its being seen: the beat, the way, and the steps of the simulation.
const DELAY: f64 = 0.1 + 0.02 + 0.03;
const DETECT: f64 = 2.0;
const PORT: u16 = 10_102;
/// Begins a year, so that no window ends.
const BEGIN_MS: u64 = 1_798_761_600_000;
const YEAR: Window = Window::Calendar(Calendar::Year(trestle_counters::Month::January));

type Failed = Box<dyn Error>;
type Boxed<T> = std::pin::Pin<Box<dyn Future<Output = io::Result<T>> + Send>>;

fn id() -> CounterId {
    CounterId { limit: LimitId(1), subject: Subject(0), window: YEAR }
}

/// Bytes in the simulation.
struct Simulated;

struct Listening(turmoil::net::TcpListener);

impl Network for Simulated {
    fn connect(&self, address: &str) -> Boxed<Box<dyn Stream>> {
        let address = address.to_owned();
        Box::pin(
            async move { Ok(Box::new(turmoil::net::TcpStream::connect(address).await?) as Box<dyn Stream>) },
        )
    }

    fn bind(&self, address: SocketAddr) -> Boxed<Box<dyn Listener>> {
        Box::pin(async move {
            Ok(Box::new(Listening(turmoil::net::TcpListener::bind(address).await?)) as Box<dyn Listener>)
        })
    }

    fn is_private(&self, _: SocketAddr) -> bool {
        true
    }
}

impl Listener for Listening {
    fn accept(
        &mut self,
    ) -> std::pin::Pin<Box<dyn Future<Output = io::Result<(Box<dyn Stream>, SocketAddr)>> + Send + '_>> {
        Box::pin(async move {
            let (stream, from) = self.0.accept().await?;
            Ok((Box::new(stream) as Box<dyn Stream>, from))
        })
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

struct SimulatedClock;

impl Clock for SimulatedClock {
    fn now_ms(&self) -> u64 {
        BEGIN_MS + turmoil::sim_elapsed().unwrap_or_default().as_millis() as u64
    }
}

/// What one node has on its disk, and what a look from outside needs.
#[derive(Default)]
struct Host {
    lives: u64,
    journal: Vec<Settlement>,
    cells: Option<Arc<Cells>>,
    exchange: Option<Exchange>,
}

/// What all nodes together did, which only the test knows.
#[derive(Default)]
struct World {
    hosts: BTreeMap<NodeId, Host>,
    charged: BTreeMap<Actor, u64>,
    demand_ends: bool,
}

type Shared = Arc<Mutex<World>>;

/// One life of a node.
async fn live(node: NodeId, rule: Rule, world: Shared) -> Result<(), Failed> {
    let mut settled = Settled::new(1_000);
    let own = {
        let mut world = world.lock().unwrap();
        let host = world.hosts.entry(node).or_default();
        host.lives += 1;
        for line in &host.journal {
            settled.add(*line)?;
        }
        Actor { node: trestle_counters::NodeId(node), incarnation: host.lives }
    };
    let cells = Arc::new(Cells::new(own, &settled, 100, 10_000));
    let identity = Identity::new(node, Some(ClusterId(1)));
    let channels = Channels::new(identity.clone(), Arc::new(Simulated), None);
    let others = (1..=NODES).filter(|other| *other != node).map(|other| (other, format!("n{other}:{PORT}")));
    let (_live, live) = tokio::sync::watch::channel(others.collect());
    let (_members, members) = tokio::sync::watch::channel((1..=NODES).collect());
    let settings = ExchangeSettings { seed: node, ..ExchangeSettings::default() };
    let neighbours = Neighbours { live, members };
    let exchange =
        Exchange::new(Arc::clone(&cells), channels, neighbours, Arc::new(SimulatedClock), settings);
    let server = Server::bind((Ipv4Addr::UNSPECIFIED, PORT).into(), &Simulated, None).await?;
    let routes = Routes::new(exchange.service());
    tokio::spawn(server.serve(routes, identity, std::future::pending()));
    exchange.pull(Duration::from_secs(2)).await;
    {
        let mut world = world.lock().unwrap();
        let host = world.hosts.entry(node).or_default();
        (host.cells, host.exchange) = (Some(Arc::clone(&cells)), Some(exchange.clone()));
    }
    let running = exchange.run(std::future::pending());
    let charging = charge(own, rule, &cells, &world);
    tokio::join!(running, charging);
    Ok(())
}

async fn charge(own: Actor, rule: Rule, cells: &Cells, world: &Shared) {
    let leases = Leases::new(10);
    let mut each = tokio::time::interval(EACH);
    while !world.lock().unwrap().demand_ends {
        each.tick().await;
        let now_ms = SimulatedClock.now_ms();
        let counter = cells.open(id(), now_ms).unwrap();
        let charge = [Charge { counter: &counter, amount: AMOUNT, limit: Bound { amount: LIMIT, rule } }];
        let mut world = world.lock().unwrap();
        if let Ok(permit) = leases.admit(&charge, now_ms, u64::MAX) {
            *world.charged.entry(own).or_default() += AMOUNT;
            let lines = permit.held().map(|held| held.settlement(held.amount));
            let journal: Vec<_> = lines.collect();
            world.hosts.entry(own.node.0).or_default().journal.extend(journal);
            permit.settle(|held| held.amount);
        }
    }
}

/// Differs from call to call, the same for a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// What happens at which millisecond.
#[derive(Debug, Clone, Copy)]
enum Event {
    Cut(u64, u64),
    Repair(u64, u64),
    Crash(u64),
    Bounce(u64),
}

/// What goes wrong in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrong {
    Nothing,
    Cuts,
    Crash,
}

fn events(random: &mut Random, wrong: Wrong) -> Vec<(u64, Event)> {
    let (begin, length) = (1_500 + random.below(3_000), 500 + random.below(15_000));
    let mut events = Vec::new();
    match wrong {
        Wrong::Nothing => {}
        Wrong::Cuts => {
            // Some of the three ways, so that the cut may be one that a third node sees across.
            let ways = 1 + random.below(7);
            for (bit, (one, other)) in [(1, (1, 2)), (2, (1, 3)), (4, (2, 3))] {
                if ways & bit != 0 {
                    events.push((begin, Event::Cut(one, other)));
                    events.push((begin + length, Event::Repair(one, other)));
                }
            }
        }
        Wrong::Crash => {
            let node = 1 + random.below(NODES);
            events.push((begin, Event::Crash(node)));
            events.push((begin + length, Event::Bounce(node)));
        }
    }
    events
}

/// No node knows of more than there was.
fn check(world: &Shared, seed: u64) {
    let world = world.lock().unwrap();
    for (node, host) in &world.hosts {
        let Some(cells) = &host.cells else { continue };
        let mut known: BTreeMap<_, u64> = BTreeMap::new();
        for cell in cells.page(&(0..=u8::MAX).collect::<Vec<_>>(), None, 10_000).cells {
            // What only a journal knew is told as if an earlier life had: by node it is no more than there was.
            *known.entry(cell.id.actor.node).or_default() += cell.totals.charged;
        }
        for (of, known) in known {
            let lives = world.charged.iter().filter(|(actor, _)| actor.node == of);
            let truth: u64 = lives.map(|(_, charged)| charged).sum();
            assert!(known <= truth, "seed {seed}: node {node} knows {known} of {truth} of {of:?}");
        }
    }
}

/// Runs one seed and returns by how much the limit was passed.
fn run(seed: u64, rule: Rule, wrong: Wrong) -> u64 {
    let mut random = Random(seed);
    let world = Shared::default();
    let mut sim = turmoil::Builder::new()
        .rng_seed(seed)
        .tick_duration(Duration::from_millis(5))
        .simulation_duration(Duration::from_secs(120))
        .max_message_latency(Duration::from_millis(20))
        .build();
    for node in 1..=NODES {
        let world = Arc::clone(&world);
        sim.host(format!("n{node}"), move || live(node, rule, Arc::clone(&world)));
    }
    let mut events = events(&mut random, wrong);
    let mut looked = Duration::ZERO;
    while sim.elapsed() < Duration::from_secs(26) {
        let now_ms = sim.elapsed().as_millis() as u64;
        let due: Vec<_> = events.extract_if(.., |(at, _)| *at <= now_ms).collect();
        for (_, event) in due {
            match event {
                Event::Cut(one, other) => sim.partition(format!("n{one}"), format!("n{other}")),
                Event::Repair(one, other) => sim.repair(format!("n{one}"), format!("n{other}")),
                Event::Crash(node) => sim.crash(format!("n{node}")),
                Event::Bounce(node) => sim.bounce(format!("n{node}")),
            }
        }
        sim.step().unwrap();
        if sim.elapsed() >= looked + LOOK {
            looked = sim.elapsed();
            check(&world, seed);
        }
    }
    world.lock().unwrap().demand_ends = true;
    let equal = || {
        let world = world.lock().unwrap();
        let all: Vec<_> = world.hosts.values().filter_map(|host| host.cells.as_ref()).collect();
        let charged: u64 = world.charged.values().sum();
        let agrees = |cells: &&Arc<Cells>| {
            let used = cells.view(id(), BEGIN_MS).used();
            !cells.rights().is_frozen() && cells.hashes() == all[0].hashes() && used == charged
        };
        all.iter().all(agrees)
    };
    // All heals: now they must come to agree.
    while !equal() {
        assert!(sim.elapsed() < Duration::from_secs(60), "seed {seed}: nodes do not agree after healing");
        sim.step().unwrap();
    }
    let world = world.lock().unwrap();
    let all: u64 = world.charged.values().sum();
    assert!(all >= LIMIT, "seed {seed}: {all} of {LIMIT} is spent");
    all - LIMIT
}

fn check_seeds(name: &str, rule: Rule, wrong: Wrong, most: f64) {
    let seeds = seeds::seeds("EXCHANGE_SEEDS", SEEDS);
    let mut passed: Vec<_> = seeds.map(|seed| (run(seed, rule, wrong), seed)).collect();
    passed.sort_unstable();
    println!("{name}: passed by {:?}, at most {most:.0}", passed.last());
    for (passed, seed) in passed {
        assert!(passed as f64 <= most, "{name}, seed {seed}: passed by {passed}, at most {most:.0}");
    }
}

const NODES_F: f64 = NODES as f64;
const HEALTHY: f64 = RATE * DELAY * (NODES_F - 1.0) / NODES_F + NODES_F * AMOUNT as f64;

#[test]
fn while_all_is_well_a_limit_is_passed_by_what_is_on_its_way() {
    check_seeds("healthy", Rule::Share, Wrong::Nothing, HEALTHY);
}

#[test]
fn however_long_a_cut_a_limit_is_passed_by_what_was_charged_until_it_was_found() {
    let most = RATE * (DETECT + DELAY) + HEALTHY;
    check_seeds("cut", Rule::Share, Wrong::Cuts, most);
}

#[test]
fn a_crash_loses_what_was_on_its_way() {
    let most = RATE * (DETECT + DELAY) + HEALTHY + RATE * DELAY / NODES_F;
    check_seeds("crash", Rule::Share, Wrong::Crash, most);
}
