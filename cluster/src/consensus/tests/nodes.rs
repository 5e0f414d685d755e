//! Real nodes in one process over TCP, with gossip replaced by a list.

use super::{change, write};
use crate::{
    consensus::{
        Consensus, Founding, MeshWay, Prepared, Status, reconcile::Seen, start::Pace, types::NodeId,
    },
    mesh::{Channels, Server},
};
use cut::{Cut, Wire};
use std::{
    collections::BTreeMap,
    fs,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

mod calls;
mod cut;
mod faults;
mod founding;
mod membership;
mod restored;
mod version;

/// Longer than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);
const AGAIN: Duration = Duration::from_millis(50);
const LOCAL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);
/// Sooner than in earnest; a snapshot is soon made, and little is kept for who lags.
const PACE: Pace = Pace {
    heartbeat_ms: 200,
    election_ms_min: 800,
    election_ms_max: 1_200,
    snapshot_after: 40,
    kept_entries: 5,
    revisions_kept: 10_000,
};

/// A node that runs.
struct Running {
    consensus: Consensus,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
    tasks: Vec<JoinHandle<()>>,
}

/// Nodes by their names; what they would hear of each other by gossip; and where each was last.
struct Nodes {
    folder: TempDir,
    expect: u32,
    running: BTreeMap<&'static str, Running>,
    places: BTreeMap<&'static str, SocketAddr>,
    seen: Arc<Mutex<Vec<Seen>>>,
    cut: Cut,
}

impl Nodes {
    /// None yet; a cluster is founded once so many are there.
    fn expecting(expect: u32) -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            expect,
            running: BTreeMap::new(),
            places: BTreeMap::new(),
            seen: Arc::default(),
            cut: Cut::default(),
        }
    }

    /// A cluster of these nodes, all of which vote.
    async fn founded(names: &[&'static str]) -> Self {
        let mut nodes = Self::expecting(names.len() as u32);
        for name in names {
            nodes.start(name).await;
        }
        nodes.all_vote().await;
        nodes
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn start(&mut self, name: &'static str) {
        self.start_up_to(name, Consensus::VERSION).await;
    }

    /// With a program that can up to a version of the cluster.
    async fn start_up_to(&mut self, name: &'static str, version: u32) {
        let address = self.places.get(name).copied().unwrap_or(LOCAL);
        let prepared = Prepared::open(&self.path(name)).await.unwrap().at_pace(PACE).up_to(version);
        let wire = Arc::new(Wire::of(prepared.identity().node(), self.cut.clone()));
        let server = Server::bind(address, &*wire, None).await.unwrap();
        let address = server.local_addr();
        self.places.insert(name, address);
        let identity = prepared.identity().clone();
        self.cut.place(identity.node(), address);
        let channels = Channels::new(identity.clone(), wire, None);
        let way = MeshWay { channels, address: address.to_string(), name: name.to_owned() };
        let consensus = prepared.join(way).await.unwrap().consensus;
        let (stop, stopped) = oneshot::channel();
        let stopped = async { stopped.await.unwrap_or(()) };
        let served = tokio::spawn(server.serve(consensus.routes(), identity.clone(), stopped));
        self.tell(name, &consensus, address);
        let tasks = vec![self.founding(consensus.clone()), self.reconciling(consensus.clone())];
        self.running.insert(name, Running { consensus, address, stop, served, tasks });
    }

    /// Others hear of a node.
    fn tell(&self, name: &str, consensus: &Consensus, address: SocketAddr) {
        let mut seen = self.seen.lock().unwrap();
        seen.retain(|seen| seen.node != consensus.node());
        let generation = seen.iter().map(|seen| seen.generation).max().unwrap_or_default() + 1;
        seen.push(Seen {
            node: consensus.node(),
            generation,
            live: true,
            leaving: false,
            name: name.to_owned(),
            address: address.to_string(),
            cluster: None,
            version: consensus.version_max(),
        });
    }

    fn founding(&self, consensus: Consensus) -> JoinHandle<()> {
        let (seen, expect) = (self.seen.clone(), self.expect);
        let peers = move || seen.lock().unwrap().iter().map(|seen| seen.address.clone()).collect();
        let founding = Founding { expect, peers: Box::new(peers) };
        tokio::spawn(async move { consensus.found(&founding).await.unwrap() })
    }

    fn reconciling(&self, consensus: Consensus) -> JoinHandle<()> {
        let seen = self.seen.clone();
        tokio::spawn(async move { consensus.reconcile_with(move || seen.lock().unwrap().clone()).await })
    }

    /// Ends a node without a word to others.
    async fn stop(&mut self, name: &str) {
        let Running { consensus, stop, served, tasks, .. } = self.running.remove(name).unwrap();
        let node = consensus.node();
        for seen in self.seen.lock().unwrap().iter_mut().filter(|seen| seen.node == node) {
            seen.live = false;
        }
        for task in tasks {
            task.abort();
            let _ = task.await;
        }
        consensus.close().await.unwrap();
        let _ = stop.send(());
        timeout(LONG, served).await.unwrap().unwrap();
    }

    /// Takes a node's disk away.
    fn wipe(&self, name: &str) {
        fs::remove_dir_all(self.path(name)).unwrap();
    }

    fn at(&self, name: &str) -> &Consensus {
        &self.running[name].consensus
    }

    fn node(&self, name: &str) -> NodeId {
        self.at(name).node()
    }

    async fn status(&self, name: &str) -> Status {
        self.at(name).status().await.unwrap()
    }

    /// The name of the node that all running ones follow.
    async fn leader(&self) -> &'static str {
        let leader = until("one leader", async || {
            let mut leaders = Vec::new();
            for name in self.running.keys() {
                leaders.push(self.status(name).await.leader);
            }
            leaders.dedup();
            let [Some(leader)] = leaders[..] else { return None };
            self.running.iter().find(|(_, running)| running.consensus.node() == leader).map(|(name, _)| *name)
        });
        leader.await
    }

    /// The running nodes that do not lead.
    async fn followers(&self) -> Vec<&'static str> {
        let leader = self.leader().await;
        self.running.keys().copied().filter(|name| *name != leader).collect()
    }

    /// Waits until all running nodes see these as voters, and those as learners.
    async fn members(&self, voters: &[NodeId], learners: &[NodeId]) {
        let (mut voters, mut learners) = (voters.to_vec(), learners.to_vec());
        voters.sort_unstable();
        learners.sort_unstable();
        until("these members", async || {
            for name in self.running.keys() {
                let members = self.status(name).await.members;
                let (votes, learns): (Vec<_>, Vec<_>) = members.into_iter().partition(|member| member.votes);
                let numbers = |members: Vec<crate::consensus::MemberStatus>| {
                    members.into_iter().map(|member| member.node).collect::<Vec<_>>()
                };
                if (numbers(votes), numbers(learns)) != (voters.clone(), learners.clone()) {
                    return None;
                }
            }
            Some(())
        })
        .await;
    }

    async fn all_vote(&self) {
        let all: Vec<_> = self.running.values().map(|running| running.consensus.node()).collect();
        self.members(&all, &[]).await;
    }

    /// Sets an entity on a node; it is there at once.
    async fn set(&self, name: &str, id: &str, value: &str) -> u64 {
        let consensus = self.at(name);
        let revision =
            consensus.propose(change(None, vec![write("key", id, Some(value))]), LONG).await.unwrap();
        assert!(consensus.revision() >= revision);
        assert_eq!(get(consensus, id).as_deref(), Some(value), "{name} reads what it wrote");
        revision
    }

    /// All running nodes have this value, once they have caught up.
    async fn all_have(&self, id: &str, value: &str) {
        for (name, running) in &self.running {
            running.consensus.caught_up(LONG).await.unwrap();
            assert_eq!(get(&running.consensus, id).as_deref(), Some(value), "{id} at {name}");
        }
    }
}

fn get(consensus: &Consensus, id: &str) -> Option<String> {
    let entity = consensus.entity("key", id).unwrap()?;
    Some(String::from_utf8(entity.value).unwrap())
}

/// Looks until there is something.
async fn until<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begun.elapsed() < LONG, "never: {what}");
        sleep(AGAIN).await;
    }
}
