//! One node of the tests, and several that know each other.

use super::way::Way;
use crate::{
    Channels, Clock, ClusterId, Exchange, ExchangeSettings, Identity, Neighbours, NodeId, Server,
    SystemClock, Tcp,
};
use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{oneshot, watch},
    task::JoinHandle,
    time::{Instant, sleep},
};
use tonic::service::Routes;
use trestle_counters::{
    Actor, Bound, Calendar, Cells, Charge, CounterId, Leases, LimitId, NotAdmitted, Refused, Rule, Settled,
    Subject, Window,
};

/// Longer than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);
/// A year: no test sees two of them.
pub(super) const YEAR: Window = Window::Calendar(Calendar::Year(trestle_counters::Month::January));

pub(super) fn settings() -> ExchangeSettings {
    ExchangeSettings {
        every: Duration::from_millis(20),
        heartbeat: Duration::from_millis(200),
        repair_every: Duration::from_secs(3_600),
        unreachable_after: Duration::from_secs(1),
        seed: 7,
    }
}

pub(super) fn counter_id(limit: u64, window: Window) -> CounterId {
    CounterId { limit: LimitId(limit), subject: Subject(u128::MAX - 7), window }
}

/// Waits until something holds.
pub(super) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        sleep(Duration::from_millis(5)).await;
    }
}

/// The system's clock, so far ahead.
pub(super) struct Ahead(pub(super) u64);

impl Clock for Ahead {
    fn now_ms(&self) -> u64 {
        SystemClock.now_ms() + self.0
    }
}

pub(super) struct Node {
    pub(super) id: NodeId,
    pub(super) cells: Arc<Cells>,
    pub(super) exchange: Exchange,
    pub(super) address: SocketAddr,
    pub(super) live: watch::Sender<Vec<(NodeId, String)>>,
    pub(super) members: watch::Sender<Vec<NodeId>>,
    leases: Arc<Leases>,
    stops: Vec<oneshot::Sender<()>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Node {
    /// Serves, and knows nobody yet.
    pub(super) async fn start(
        actor: (NodeId, u64),
        settled: &Settled,
        clock: impl Clock,
        settings: ExchangeSettings,
    ) -> anyhow::Result<Self> {
        let (id, incarnation) = actor;
        let own = Actor { node: trestle_counters::NodeId(id), incarnation };
        let cells = Arc::new(Cells::new(own, settled, 100_000, 1_000_000));
        let identity = Identity::new(id, Some(ClusterId(9)));
        let channels = Channels::new(identity.clone(), Arc::new(Tcp), None);
        let (live, members) = (watch::Sender::new(Vec::new()), watch::Sender::new(vec![id]));
        let neighbours = Neighbours { live: live.subscribe(), members: members.subscribe() };
        let exchange = Exchange::new(Arc::clone(&cells), channels, neighbours, Arc::new(clock), settings);
        let server = Server::bind((Ipv4Addr::LOCALHOST, 0).into(), &Tcp, None).await?;
        let address = server.local_addr();
        let (stop, stopped) = oneshot::channel();
        let routes = Routes::new(exchange.service());
        let serving = server.serve(routes, identity, async { stopped.await.unwrap_or(()) });
        let tasks = vec![tokio::spawn(serving)];
        let leases = Leases::new(1_000_000);
        Ok(Self { id, cells, exchange, address, live, members, leases, stops: vec![stop], tasks })
    }

    /// Begins to exchange.
    pub(super) fn run(&mut self) {
        let (stop, stopped) = oneshot::channel();
        let exchange = self.exchange.clone();
        self.stops.push(stop);
        self.tasks.push(tokio::spawn(async move {
            exchange.run(async { stopped.await.unwrap_or(()) }).await;
        }));
    }

    /// Ends as a process does that is killed, as far as others can see.
    pub(super) fn kill(self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }

    pub(super) fn charge(&self, id: CounterId, amount: u64, limit: u64) -> Result<(), Refused> {
        let now_ms = SystemClock.now_ms();
        let counter = self.cells.open(id, now_ms).unwrap();
        let limit = Bound { amount: limit, rule: Rule::Share };
        let charge = [Charge { counter: &counter, amount, limit }];
        match self.leases.admit(&charge, now_ms, u64::MAX) {
            Ok(permit) => {
                if id.window == Window::Standing {
                    std::mem::forget(permit);
                } else {
                    permit.settle(|held| held.amount);
                }
                Ok(())
            }
            Err(NotAdmitted::Refused(refused)) => Err(refused),
            Err(error) => panic!("{error}"),
        }
    }

    pub(super) fn used(&self, id: CounterId) -> u64 {
        self.cells.view(id, SystemClock.now_ms()).used()
    }

    /// Whether all peers have all that was counted here so far.
    pub(super) fn is_even(&self) -> bool {
        self.cells.collect(SystemClock.now_ms());
        let sequence = self.cells.sequence();
        let roster = self.exchange.shared().roster();
        roster.iter().all(|(_, known)| known.acknowledged >= sequence)
    }

    pub(super) fn is_frozen(&self) -> bool {
        self.cells.rights().is_frozen()
    }
}

/// Nodes that know each other, numbered from 1, and the ways between them.
pub(super) struct Cluster {
    pub(super) nodes: Vec<Node>,
    pub(super) ways: BTreeMap<(NodeId, NodeId), Way>,
}

impl Cluster {
    pub(super) async fn start(count: u64) -> anyhow::Result<Self> {
        let mut cluster = Self { nodes: Vec::new(), ways: BTreeMap::new() };
        for id in 1..=count {
            let settings = ExchangeSettings { seed: id, ..settings() };
            cluster.nodes.push(Node::start((id, 1), &Settled::new(0), SystemClock, settings).await?);
        }
        cluster.introduce().await?;
        cluster.nodes.iter_mut().for_each(Node::run);
        cluster.until_reached().await;
        Ok(cluster)
    }

    /// All learn of all. A node that was started anew is known at its new address.
    pub(super) async fn introduce(&mut self) -> anyhow::Result<()> {
        let all: Vec<_> = self.nodes.iter().map(|node| (node.id, node.address)).collect();
        for node in &self.nodes {
            let mut live = Vec::new();
            for (id, address) in all.iter().filter(|(id, _)| *id != node.id) {
                let way = Way::to(*address).await?;
                live.push((*id, way.address.clone()));
                self.ways.insert((node.id, *id), way);
            }
            node.members.send_replace(all.iter().map(|(id, _)| *id).collect());
            node.live.send_replace(live);
        }
        Ok(())
    }

    /// Each has compared with each.
    pub(super) async fn until_reached(&self) {
        let reached = |node: &Node| {
            let synced = node.exchange.shared().roster().iter().filter(|(_, known)| known.synced).count();
            synced + 1 == self.nodes.len() && !node.is_frozen()
        };
        until("all are within reach", || self.nodes.iter().all(reached)).await;
    }

    /// Cuts or opens the ways between two nodes.
    pub(super) fn cut(&self, one: NodeId, other: NodeId, cut: bool) {
        for pair in [(one, other), (other, one)] {
            self.ways.get(&pair).unwrap().cut(cut);
        }
    }

    pub(super) async fn until_equal(&self) {
        until("all know the same", || {
            self.nodes.iter().for_each(|node| {
                node.cells.collect(SystemClock.now_ms());
            });
            let hashes = self.nodes[0].cells.hashes();
            self.nodes.iter().all(|node| node.cells.hashes() == hashes)
        })
        .await;
    }
}
