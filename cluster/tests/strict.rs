//! Real nodes with gossip, consensus and the exchange of counters, over loopback: a strict limit is never passed, whoever comes
//! and goes.
#![allow(clippy::unwrap_used)] // a panic is a failed test

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::{SocketAddr, UdpSocket},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};
use trestle_cluster::{Clock, Cluster, MeshSettings, NodeId, Prepared, Secrets};
use trestle_counters::{
    Actor, Bound, Calendar, Cells, Charge, CounterId, Leases, LimitId, Rule, Settled, Subject, Window,
};

/// Longer than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(90);
/// Long enough to add whoever is seen.
const SEEN: Duration = Duration::from_secs(3);
const AGAIN: Duration = Duration::from_millis(50);
const LIMIT: u64 = 30;
const MINUTE: Window = Window::Calendar(Calendar::Minute);
const ROLLING_MS: u64 = 60_000;
const BEGIN_MS: u64 = 1_798_761_600_000;
/// Longer than shares are fixed ahead.
const LATER_MS: u64 = 3 * 3_600_000;

/// Stands still until it is set.
#[derive(Clone)]
struct Hand(Arc<AtomicU64>);

impl Clock for Hand {
    fn now_ms(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

fn windows() -> Vec<Window> {
    vec![MINUTE, Window::rolling(ROLLING_MS, 6).unwrap()]
}

struct Node {
    cluster: Cluster,
    cells: Arc<Cells>,
    keeping: Option<JoinHandle<()>>,
}

struct Nodes {
    folder: TempDir,
    clock: Hand,
    gossip: Vec<SocketAddr>,
    expect: u32,
    running: BTreeMap<&'static str, Node>,
}

impl Nodes {
    fn new(expect: u32) -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            clock: Hand(Arc::new(AtomicU64::new(BEGIN_MS))),
            gossip: Vec::new(),
            expect,
            running: BTreeMap::new(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts a node with what its journal says; it is a member of nothing yet.
    async fn start(&mut self, name: &'static str, settled: &Settled) {
        let gossip = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        self.gossip.push(gossip);
        let prepared = Prepared::open(&self.path(name)).await.unwrap();
        let own = Actor { node: trestle_counters::NodeId(prepared.identity().node()), incarnation: 2 };
        let cells = Arc::new(Cells::new(own, settled, 100, 1_000));
        let settings = MeshSettings {
            listen: "127.0.0.1:0".parse().unwrap(),
            address: None,
            gossip_listen: gossip,
            gossip_address: None,
            seeds: self.gossip.iter().map(ToString::to_string).collect(),
            expect: self.expect,
            mesh_name: "trestle.mesh".to_owned(),
            secrets: Secrets::new(&["a secret that is long enough for it"]).unwrap(),
            tls: None,
            name: name.to_owned(),
            zone: String::new(),
            build: String::new(),
        };
        let folder = self.path(name);
        let (cluster, _) =
            Cluster::join(prepared, &folder, settings, cells.clone(), |routes| routes).await.unwrap();
        self.running.insert(name, Node { cluster, cells, keeping: None });
    }

    /// All running nodes keep shares from here on.
    fn keep(&mut self) {
        for node in self.running.values_mut().filter(|node| node.keeping.is_none()) {
            let (cluster, clock) = (node.cluster.clone(), self.clock.clone());
            node.keeping =
                Some(tokio::spawn(async move { cluster.keep_shares(Arc::new(clock), windows).await }));
        }
    }

    async fn joined(&self) {
        let joining = self.running.values().map(|node| node.cluster.joined());
        for joined in timeout(LONG, futures_util::future::join_all(joining)).await.unwrap() {
            joined.unwrap();
        }
    }

    fn at(&self, name: &str) -> &Cluster {
        &self.running[name].cluster
    }

    fn node(&self, name: &str) -> NodeId {
        self.at(name).consensus().node()
    }

    /// Ends a node without a word, and takes its disk away.
    async fn wipe(&mut self, name: &str) {
        self.stop(name).await;
        fs::remove_dir_all(self.path(name)).unwrap();
    }

    async fn stop(&mut self, name: &str) {
        let Node { cluster, keeping, .. } = self.running.remove(name).unwrap();
        keeping.inspect(JoinHandle::abort);
        cluster.consensus().clone().close().await.unwrap();
    }

    /// Waits until the running nodes alone are members: one that was wiped is until another has taken its place.
    async fn settled(&self) {
        let begun = Instant::now();
        let all: BTreeSet<_> = self.running.keys().map(|name| self.node(name)).collect();
        for node in self.running.values() {
            loop {
                let status = node.cluster.consensus().status().await.unwrap();
                if status.members.iter().map(|member| member.node).collect::<BTreeSet<_>>() == all {
                    break;
                }
                assert!(begun.elapsed() < LONG, "{:?}, not {all:?}", status.members);
                sleep(AGAIN).await;
            }
        }
    }

    /// Waits until all running nodes have fixed what runs for as many nodes.
    async fn fixed_for(&self, nodes: usize) {
        let (begun, now_ms) = (Instant::now(), self.clock.now_ms());
        let is_fixed = |cluster: &Cluster| {
            let runs = cluster.consensus().shares().borrow().clone();
            let of_now = |window: &Window| {
                let now = window.id_at(now_ms);
                let run =
                    runs.iter().find(|run| run.window == *window && (run.from..run.until).contains(&now));
                run.is_some_and(|run| run.nodes.len() == nodes)
            };
            cluster.shares_are_fixed(&windows(), now_ms) && windows().iter().all(of_now)
        };
        while !self.running.values().all(|node| is_fixed(&node.cluster)) {
            assert!(begun.elapsed() < LONG, "never fixed for {nodes}");
            sleep(AGAIN).await;
        }
    }

    /// Hits all nodes at once with more than there is, each from a thread of its own; what each admitted.
    fn hit(&self, window: Window) -> BTreeMap<&'static str, u64> {
        let now_ms = self.clock.now_ms();
        thread::scope(|scope| {
            let hits = self.running.iter().map(|(name, node)| {
                let cells = &node.cells;
                (*name, scope.spawn(move || spend(cells, window, now_ms, 2 * LIMIT)))
            });
            let hits: Vec<_> = hits.collect();
            hits.into_iter().map(|(name, hit)| (name, hit.join().unwrap())).collect()
        })
    }

    /// The same until nothing more is admitted: shares that were fixed reach counters a moment later.
    async fn hit_all(&self, window: Window, expected: &[(&'static str, u64)]) {
        let (begun, mut sum) = (Instant::now(), BTreeMap::new());
        let expected: BTreeMap<_, _> = expected.iter().copied().collect();
        while sum != expected {
            for (name, admitted) in self.hit(window) {
                *sum.entry(name).or_default() += admitted;
            }
            assert!(sum.values().sum::<u64>() <= LIMIT, "{sum:?} passes the limit");
            assert!(begun.elapsed() < LONG, "{sum:?}, not {expected:?}");
            sleep(AGAIN).await;
        }
        assert_eq!(self.hit(window).values().sum::<u64>(), 0, "and no more");
    }
}

/// Takes as much as it is given of so much; nothing is given back.
fn spend(cells: &Cells, window: Window, now_ms: u64, most: u64) -> u64 {
    let id = CounterId { limit: LimitId(1), subject: Subject(0), window };
    let (counter, leases) = (cells.open(id, now_ms).unwrap(), Leases::new(1_000));
    let limit = Bound { amount: LIMIT, rule: Rule::Strict };
    let one = || {
        let charge = [Charge { counter: &counter, amount: 1, limit }];
        let permit = leases.admit(&charge, now_ms, now_ms + 1_000);
        permit.map(|permit| permit.settle(|_| 1)).is_ok()
    };
    (0..most).filter(|_| one()).count() as u64
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strict_limit_is_never_passed_and_who_comes_later_has_its_share_in_the_next_window() {
    let nothing = Settled::new(0);
    let mut nodes = Nodes::new(3);
    for name in ["a", "b", "c"] {
        nodes.start(name, &nothing).await;
    }
    nodes.keep();
    nodes.joined().await;
    nodes.fixed_for(3).await;
    let third = LIMIT / 3;
    for window in windows() {
        nodes.hit_all(window, &[("a", third), ("b", third), ("c", third)]).await;
    }
    // It has spent its share; what it becomes has none of what runs.
    let gone = nodes.node("b");
    nodes.wipe("b").await;
    nodes.start("b", &nothing).await;
    nodes.keep();
    nodes.joined().await;
    assert_ne!(nodes.node("b"), gone);
    nodes.settled().await;
    for window in windows() {
        nodes.hit_all(window, &[("a", 0), ("b", 0), ("c", 0)]).await;
    }
    nodes.clock.0.fetch_add(LATER_MS, Relaxed);
    nodes.fixed_for(3).await;
    for window in windows() {
        nodes.hit_all(window, &[("a", third), ("b", third), ("c", third)]).await;
    }
    let all = nodes.at("a").consensus().shares().borrow().clone();
    assert!(all.iter().filter(|run| run.nodes.contains(&gone)).count() == windows().len(), "{all:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_alone_keeps_the_whole_of_what_runs() {
    let mut nodes = Nodes::new(3);
    let mut settled = Settled::new(100);
    {
        let prepared = Prepared::open(&nodes.path("a")).await.unwrap();
        let own = Actor { node: trestle_counters::NodeId(prepared.identity().node()), incarnation: 1 };
        let cells = Cells::new(own, &Settled::new(0), 100, 0);
        let (alone, _) = Cluster::alone(prepared, &cells).await.unwrap();
        assert!(alone.shares_are_fixed(&windows(), BEGIN_MS), "it needs none");
        assert_eq!(spend(&cells, MINUTE, BEGIN_MS, 20), 20, "the whole is its own");
        let id = CounterId { limit: LimitId(1), subject: Subject(0), window: MINUTE };
        settled
            .add(trestle_counters::Settlement { counter: id, window_id: MINUTE.id_at(BEGIN_MS), amount: 20 })
            .unwrap();
        alone.consensus().clone().close().await.unwrap();
    }
    nodes.start("a", &settled).await;
    for name in ["b", "c"] {
        nodes.start(name, &Settled::new(0)).await;
    }
    // It hears of the others, and adds none: nobody has said yet which limits it may have spent of.
    let mut seen = nodes.at("a").members().unwrap();
    timeout(LONG, seen.wait_for(|members| members.live().count() == 3)).await.unwrap().unwrap();
    let begun = Instant::now();
    while begun.elapsed() < SEEN {
        assert_eq!(nodes.at("a").consensus().status().await.unwrap().members.len(), 1);
        sleep(AGAIN).await;
    }
    nodes.keep();
    nodes.joined().await;
    nodes.fixed_for(1).await;
    let runs = nodes.at("c").consensus().shares().borrow().clone();
    assert!(runs.iter().all(|run| run.nodes == [nodes.node("a")]), "{runs:?}");
    nodes.hit_all(MINUTE, &[("a", 10), ("b", 0), ("c", 0)]).await;
    nodes.settled().await;
    nodes.clock.0.fetch_add(LATER_MS, Relaxed);
    nodes.fixed_for(3).await;
    let third = LIMIT / 3;
    nodes.hit_all(MINUTE, &[("a", third), ("b", third), ("c", third)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_others_behind_keeps_to_its_share() {
    let mut nodes = Nodes::new(2);
    for name in ["a", "b"] {
        nodes.start(name, &Settled::new(0)).await;
    }
    nodes.keep();
    nodes.joined().await;
    nodes.fixed_for(2).await;
    // Of two one votes: it can go on without a mesh, while the other still has its share.
    let members = nodes.at("a").consensus().status().await.unwrap().members;
    let voter = members.iter().find(|member| member.votes).unwrap().name.clone();
    for name in ["a", "b"] {
        nodes.stop(name).await;
    }
    let prepared = opened(&nodes.path(&voter)).await;
    let own = Actor { node: trestle_counters::NodeId(prepared.identity().node()), incarnation: 3 };
    let cells = Cells::new(own, &Settled::new(0), 100, 0);
    let (alone, _) = Cluster::alone(prepared, &cells).await.unwrap();
    assert!(alone.shares_are_fixed(&windows(), BEGIN_MS));
    assert_eq!(spend(&cells, MINUTE, BEGIN_MS, 2 * LIMIT), LIMIT / 2);
    assert_eq!(spend(&cells, MINUTE, BEGIN_MS + LATER_MS, 2 * LIMIT), 0, "nothing is fixed there yet");
    let clock = Hand(Arc::new(AtomicU64::new(BEGIN_MS + LATER_MS)));
    let keeping = alone.clone();
    tokio::spawn(async move { keeping.keep_shares(Arc::new(clock), windows).await });
    let begun = Instant::now();
    let mut spent = 0;
    while spent < LIMIT / 2 {
        assert!(begun.elapsed() < LONG, "{spent} of its share");
        sleep(AGAIN).await;
        spent += spend(&cells, MINUTE, BEGIN_MS + LATER_MS, 2 * LIMIT);
    }
    assert_eq!(spent, LIMIT / 2, "the other one is a member still");
}

/// A folder whose last handle may have been dropped a moment ago.
async fn opened(folder: &std::path::Path) -> Prepared {
    let begun = Instant::now();
    loop {
        match Prepared::open(folder).await {
            Ok(prepared) => return prepared,
            Err(error) => assert!(begun.elapsed() < LONG, "{error}"),
        }
        sleep(AGAIN).await;
    }
}
