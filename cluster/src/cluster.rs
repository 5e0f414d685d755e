//! One handle over the four mechanisms: consensus, and with a mesh around it gossip, calls between nodes, counters.

use crate::{
    Clock, ClusterError, Consensus, Exchange, ExchangeCounts, ExchangeSettings, Facts, Founding,
    GossipCounts, Health, Identity, MemberStatus, Members, Membership, MembershipError, MembershipSettings,
    MeshWay, NodeId, OpenError, Prepared, Secrets, Server, ServerError, SetAside, SystemClock, Tcp, Tls,
    TlsError, Udp, mesh::Channels, shares::OwnShares,
};
use std::{
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};
use tokio::{
    net::UdpSocket,
    sync::watch,
    task::JoinSet,
    time::{Instant, timeout},
};
use tonic::service::Routes;
use trestle_counters::{Cells, Window};

/// How often the members of consensus are looked at for others who need them.
const LOOK: Duration = Duration::from_millis(500);
/// Between two looks whether a cluster that is new was filled.
const FILLED: Duration = Duration::from_millis(50);
/// A start waits so long for what a peer knows of counters.
const PULL: Duration = Duration::from_secs(2);
/// Without a leader for so long a node that has something to serve serves it.
const LEADERLESS: Duration = Duration::from_secs(60);
/// One try to catch up; then the reason for waiting is told.
const CATCH_UP: Duration = Duration::from_secs(10);
/// A node that has come in the place of another waits so long until that one has gone.
const REPLACED: Duration = Duration::from_secs(30);

/// How a node is reached by others, and finds them.
#[derive(Clone)]
pub struct MeshSettings {
    /// Where it serves peers; port 0 takes a free one. Without TLS a loopback address.
    pub listen: SocketAddr,
    /// Where peers reach it, host and port, if that is another address.
    pub address: Option<String>,
    /// Where it gossips.
    pub gossip_listen: SocketAddr,
    /// Where peers reach it by gossip, if that is another address.
    pub gossip_address: Option<SocketAddr>,
    /// Where gossip of others may be found, `host:port` each.
    pub seeds: Vec<String>,
    /// So many new nodes found a cluster together.
    pub expect: u32,
    /// What nodes of this mesh have in common; certificates are for this name.
    pub mesh_name: String,
    /// What seals gossip.
    pub secrets: Secrets,
    /// A folder with `tls.crt`, `tls.key` and `ca.crt`.
    pub tls: Option<PathBuf>,
    /// A name that stays when the node is made anew.
    pub name: String,
    /// Where it runs.
    pub zone: String,
    /// What it was built from.
    pub build: String,
}

/// Why a node cannot be one of a cluster.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The folder.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Certificates.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The listener for peers.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// Gossip.
    #[error(transparent)]
    Membership(#[from] MembershipError),
    /// Others need an address.
    #[error("peers cannot reach {0}: say at which address they can, or name seeds that answer")]
    NoAddress(SocketAddr),
}

/// What a node says of itself from time to time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// Where its admin API answers, `host:port`; may be empty.
    pub http: String,
    /// Whether it takes requests.
    pub ready: bool,
    /// Whether it is about to stop.
    pub leaving: bool,
    /// Requests in flight.
    pub load: u64,
    /// The revision of the document that requests see.
    pub revision: u64,
}

/// Another member of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// Its number.
    pub node: NodeId,
    /// By which people know it: its stable name, or its number where it has none.
    pub name: String,
    /// Where it serves peers.
    pub address: String,
    /// Whether it was heard of lately. A hint.
    pub live: bool,
}

/// Who is a member of the cluster, and who was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Census {
    /// The name of this node.
    pub own: String,
    /// The others, in the order of their numbers; nobody where there is no mesh.
    pub others: Vec<Other>,
    /// Nodes that were removed for good, the latest last; none of them is among the others.
    pub retired: Vec<NodeId>,
}

/// A node in its cluster. A clone is another handle to the same.
#[derive(Clone)]
pub struct Cluster {
    consensus: Consensus,
    shares: OwnShares,
    mesh: Option<Arc<Mesh>>,
}

struct Mesh {
    membership: Membership,
    exchange: Exchange,
    channels: Channels,
    tls: Option<Tls>,
    facts: Mutex<Facts>,
    name: String,
    expect: u32,
    stop: watch::Sender<bool>,
    /// They end with it.
    _tasks: JoinSet<()>,
}

impl Cluster {
    /// Starts a node that knows no way to others.
    ///
    /// # Errors
    ///
    /// The folder is of a cluster of more, or cannot be used.
    pub async fn alone(prepared: Prepared, cells: &Cells) -> Result<(Self, Option<SetAside>), OpenError> {
        let opened = prepared.alone().await?;
        let shares = OwnShares::new(&opened.consensus, None);
        shares.give(cells.rights());
        Ok((Self { consensus: opened.consensus, shares, mesh: None }, opened.set_aside))
    }

    /// Starts a node of a mesh: it is found by others and finds them from here on. Whether it is a member of a cluster is for
    /// [`Self::joined`] to wait for. `folder` keeps what gossip needs, `services` adds what else peers are answered.
    ///
    /// # Errors
    ///
    /// An address cannot be listened at, certificates cannot be read, or a folder cannot be used.
    pub async fn join(
        prepared: Prepared,
        folder: &Path,
        settings: MeshSettings,
        cells: Arc<Cells>,
        services: impl FnOnce(Routes) -> Routes,
    ) -> Result<(Self, Option<SetAside>), JoinError> {
        let identity = prepared.identity().clone();
        let tls = settings.tls.as_ref().map(|of| Tls::open(of, &settings.mesh_name)).transpose()?;
        let channels = Channels::new(identity.clone(), Arc::new(Tcp), tls.clone());
        let server = Server::bind(settings.listen, &Tcp, tls.clone()).await?;
        let bound = server.local_addr();
        let own = own_address(&settings, bound).await;
        let address = match &settings.address {
            Some(address) => address.clone(),
            None => SocketAddr::new(own.ok_or(JoinError::NoAddress(bound))?, bound.port()).to_string(),
        };
        let facts = Facts {
            name: settings.name.clone(),
            address: address.clone(),
            zone: settings.zone.clone(),
            build: settings.build.clone(),
            version: prepared.version_max(),
            cluster: identity.cluster(),
            ..Facts::default()
        };
        let membership = membership(&settings, (folder, own), identity.clone(), facts.clone()).await?;
        let way = MeshWay { channels: channels.clone(), address, name: settings.name.clone() };
        let opened = prepared.join(way).await?;
        let consensus = opened.consensus;
        let shares = OwnShares::new(&consensus, Some(settings.expect));
        shares.give(cells.rights());

        let mut tasks = JoinSet::new();
        let live = live_peers(&mut tasks, membership.members(), &consensus);
        let members = members_of(&mut tasks, &consensus);
        let exchange = Exchange::new(
            cells,
            channels.clone(),
            crate::Neighbours { live, members },
            Arc::new(SystemClock),
            ExchangeSettings { seed: identity.node(), ..ExchangeSettings::default() },
        );
        let (stop, stopped) = watch::channel(false);
        let routes = services(consensus.routes().add_service(exchange.service()));
        tasks.spawn(server.serve(routes, identity, told(stopped.clone())));
        if let Some(tls) = tls.clone() {
            tasks.spawn(tls.watch());
        }
        let counting = exchange.clone();
        tasks.spawn(async move { counting.run(told(stopped)).await });
        let (reconciled, seen) = (consensus.clone(), membership.members());
        let own = shares.clone();
        tasks.spawn(async move {
            own.before_others().await;
            reconciled.reconcile(seen).await;
        });
        let mesh = Mesh {
            membership,
            exchange,
            channels,
            tls,
            facts: Mutex::new(facts),
            name: settings.name.clone(),
            expect: settings.expect,
            stop,
            _tasks: tasks,
        };
        Ok((Self { consensus, shares, mesh: Some(Arc::new(mesh)) }, opened.set_aside))
    }

    /// Waits until this node is a member of its cluster and has all that the cluster had committed and counted when it was
    /// asked. A node that has something to serve waits a minute for a leader, and not for ever.
    ///
    /// # Errors
    ///
    /// Consensus has ended.
    pub async fn joined(&self) -> Result<(), ClusterError> {
        let Some(mesh) = &self.mesh else { return Ok(()) };
        let seen = mesh.membership.members();
        let own = self.consensus.node();
        let peers = move || {
            let members = seen.borrow();
            members.live().filter(|peer| peer.node != own).map(|peer| peer.facts.address.clone()).collect()
        };
        self.consensus.found(&Founding { expect: mesh.expect, peers: Box::new(peers) }).await?;
        self.say(mesh, |_| {});
        let begun = Instant::now();
        loop {
            match self.consensus.caught_up(CATCH_UP).await {
                Ok(()) => break,
                Err(ClusterError::Late | ClusterError::NoLeader) => {}
                Err(error) => return Err(error),
            }
            if begun.elapsed() >= LEADERLESS && self.consensus.revision() > 0 {
                tracing::warn!("no leader is found: serving what this node has");
                break;
            }
            tracing::info!("waiting for a leader, and for what it has");
        }
        let replaced = tokio::time::timeout(REPLACED, self.replaced(&mesh.name)).await;
        replaced.unwrap_or_else(|_| {
            tracing::warn!("this node has come in the place of another of its name, which is still a member");
            Ok(())
        })?;
        self.shares.apply();
        if let Some(pulled) = mesh.exchange.pull(PULL).await {
            tracing::debug!(from = pulled.from, cells = pulled.cells, "counters were pulled");
        }
        Ok(())
    }

    /// Has shares of strict limits fixed while this node leads, until consensus ends: a node admits nothing by a strict limit
    /// without. A node that was alone adds no others before it has done so. `windows` are those of the strict limits that there
    /// are at the moment, looked at some times a second.
    pub async fn keep_shares(&self, clock: Arc<dyn Clock>, windows: impl FnMut() -> Vec<Window> + Send) {
        if self.shares.is_shared() {
            self.shares.keep(clock, windows).await;
        }
    }

    /// Whether it is known who spends of strict limits with these windows now; always where this node has the whole.
    pub fn shares_are_fixed(&self, windows: &[Window], now_ms: u64) -> bool {
        self.shares.are_fixed(windows, now_ms)
    }

    /// Waits until no other member has this node's name. Who restarts nodes one by one takes the next once this one is ready:
    /// as long as the one before it has the vote, that could be one too many.
    async fn replaced(&self, name: &str) -> Result<(), ClusterError> {
        loop {
            let status = self.consensus.status().await?;
            let named = |member: &MemberStatus| member.node != status.node && member.name == name;
            if name.is_empty() || !status.members.iter().any(named) {
                return Ok(());
            }
            tokio::time::sleep(FILLED).await;
        }
    }

    /// The replicated entities.
    pub fn consensus(&self) -> &Consensus {
        &self.consensus
    }

    /// Who is around; nobody knows where there is no mesh.
    pub fn members(&self) -> Option<watch::Receiver<Arc<Members>>> {
        self.mesh.as_ref().map(|mesh| mesh.membership.members())
    }

    /// The way to others, for services of the node.
    pub fn channels(&self) -> Option<&Channels> {
        self.mesh.as_ref().map(|mesh| &mesh.channels)
    }

    /// Who is a member, as consensus has it here.
    ///
    /// # Errors
    ///
    /// Consensus has ended.
    pub async fn census(&self) -> Result<Census, ClusterError> {
        let Some(mesh) = &self.mesh else { return Ok(Census::default()) };
        let status = self.consensus.status().await?;
        let (own, seen) = (self.consensus.node(), mesh.membership.members().borrow().clone());
        let named = |node, name: String| if name.is_empty() { format!("{node:016x}") } else { name };
        let others = status.members.into_iter().filter(|member| member.node != own).map(|member| {
            let heard = seen.get(member.node);
            Other {
                node: member.node,
                name: named(member.node, member.name),
                address: heard.map_or(member.address, |heard| heard.facts.address.clone()),
                live: heard.is_some_and(|heard| heard.live),
            }
        });
        let name = mesh.facts.lock().unwrap_or_else(PoisonError::into_inner).name.clone();
        let others: Vec<_> = others.collect();
        // One is removed in two steps: while it is still a member it is that alone.
        let is_member = |node: &NodeId| others.iter().any(|other| other.node == *node);
        let retired = status.retired.into_iter().filter(|node| !is_member(node)).collect();
        Ok(Census { own: named(own, name), others, retired })
    }

    /// What became of gossip's datagrams.
    pub fn gossip_counts(&self) -> Option<GossipCounts> {
        self.mesh.as_ref().map(|mesh| mesh.membership.counts())
    }

    /// When the certificate that this node shows to peers ends; none where it has none.
    pub fn certificate_ends_at(&self) -> Option<SystemTime> {
        self.mesh.as_ref()?.tls.as_ref()?.ends_at()
    }

    /// How the exchange of counters stands.
    pub fn exchange_counts(&self) -> Option<ExchangeCounts> {
        self.mesh.as_ref().map(|mesh| mesh.exchange.counts())
    }

    /// Says how this node stands; only what changed is gossiped.
    pub fn publish(&self, standing: &Standing) {
        let Some(mesh) = &self.mesh else { return };
        self.say(mesh, |facts| {
            facts.http.clone_from(&standing.http);
            (facts.ready, facts.leaving) = (standing.ready, standing.leaving);
            (facts.load, facts.revision) = (standing.load, standing.revision);
        });
    }

    /// What live peers have seen of routes, opaque here.
    pub fn health(&self) -> Arc<Health> {
        self.mesh.as_ref().map(|mesh| mesh.membership.health().borrow().clone()).unwrap_or_default()
    }

    /// Says what this node has seen of routes: at most 16 texts of 1 KiB. More are not taken.
    pub fn publish_health(&self, texts: Vec<String>) {
        if let Some(mesh) = &self.mesh
            && let Err(error) = mesh.membership.publish_health(texts)
        {
            tracing::warn!("{error}");
        }
    }

    fn say(&self, mesh: &Mesh, change: impl FnOnce(&mut Facts)) {
        let mut facts = mesh.facts.lock().unwrap_or_else(PoisonError::into_inner);
        facts.cluster = self.consensus.identity().cluster();
        change(&mut facts);
        mesh.membership.publish(facts.clone());
    }

    /// Waits until gossip has ended, which it never should, and says why.
    pub async fn gossip_ended(&self) -> String {
        match &self.mesh {
            None => std::future::pending().await,
            Some(mesh) => mesh.membership.ended().await,
        }
    }

    /// Waits until there is something in the cluster, or it is for this node to fill it, since it leads.
    ///
    /// # Errors
    ///
    /// Consensus has ended.
    pub async fn filled(&self) -> Result<(), ClusterError> {
        while self.consensus.revision() == 0 {
            let status = self.consensus.status().await?;
            if status.leader == Some(status.node) {
                self.consensus.begin_version().await;
                break;
            }
            tokio::time::sleep(FILLED).await;
        }
        Ok(())
    }

    /// Lets another node lead, if this one does: before it stops.
    pub async fn step_down(&self, within: Duration) {
        if self.mesh.is_none() {
            return;
        }
        if let Err(error) = self.consensus.step_down(within).await {
            tracing::warn!("no other node leads yet: {error}");
        }
    }

    /// Hands what was counted to others, after the last request, and answers them no more.
    pub async fn hand_over(&self, within: Duration) {
        let Some(mesh) = &self.mesh else { return };
        let flushed = mesh.exchange.flush(within).await;
        if flushed.peers < flushed.of {
            tracing::warn!(told = flushed.peers, of = flushed.of, "not all peers have what was counted");
        }
        mesh.stop.send_replace(true);
    }
}

async fn told(mut stopped: watch::Receiver<bool>) {
    // An error means that nobody can tell any more.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

async fn membership(
    settings: &MeshSettings,
    (folder, own): (&Path, Option<IpAddr>),
    identity: Identity,
    facts: Facts,
) -> Result<Membership, JoinError> {
    let listen = settings.gossip_listen;
    let is_open = listen.ip().is_unspecified() && listen.port() != 0;
    let detected = own.filter(|_| is_open).map(|ip| SocketAddr::new(ip, listen.port()));
    let settings = MembershipSettings {
        listen,
        advertise: settings.gossip_address.or(detected),
        seeds: settings.seeds.clone(),
        expected: settings.expect as usize,
        mesh_name: settings.mesh_name.clone(),
        secrets: settings.secrets.clone(),
        folder: folder.to_owned(),
        facts,
    };
    Ok(Membership::start(settings, identity, Arc::new(Udp)).await?)
}

/// The address of this machine that peers see: the one that is listened at, or the one from which a seed is reached.
async fn own_address(settings: &MeshSettings, bound: SocketAddr) -> Option<IpAddr> {
    if !bound.ip().is_unspecified() {
        return Some(bound.ip());
    }
    for seed in &settings.seeds {
        // Sends nothing: the system only chooses the way.
        let chosen = async {
            let socket = UdpSocket::bind("0.0.0.0:0").await.ok()?;
            socket.connect(seed).await.ok()?;
            Some(socket.local_addr().ok()?.ip())
        };
        if let Ok(Some(ip)) = timeout(Duration::from_secs(2), chosen).await {
            return Some(ip);
        }
    }
    None
}

/// Peers of this cluster that are heard of, with where they are.
fn live_peers(
    tasks: &mut JoinSet<()>,
    mut seen: watch::Receiver<Arc<Members>>,
    consensus: &Consensus,
) -> watch::Receiver<Vec<(NodeId, String)>> {
    let (sender, live) = watch::channel(Vec::new());
    let identity = consensus.identity().clone();
    tasks.spawn(async move {
        loop {
            let cluster = identity.cluster();
            let now: Vec<_> = seen
                .borrow_and_update()
                .live()
                .filter(|peer| {
                    peer.node != identity.node()
                        && cluster.is_some()
                        && !peer.facts.leaving
                        && peer.facts.cluster == cluster
                })
                .map(|peer| (peer.node, peer.facts.address.clone()))
                .collect();
            set(&sender, now);
            // This node's own cluster may come without news of others.
            if let Ok(Err(_)) = timeout(LOOK, seen.changed()).await {
                return;
            }
        }
    });
    live
}

/// The members as consensus has them, this node among them.
fn members_of(tasks: &mut JoinSet<()>, consensus: &Consensus) -> watch::Receiver<Vec<NodeId>> {
    let (sender, members) = watch::channel(vec![consensus.node()]);
    let consensus = consensus.clone();
    tasks.spawn(async move {
        while let Ok(status) = consensus.status().await {
            let mut now: Vec<_> = status.members.iter().map(|member| member.node).collect();
            if now.is_empty() {
                now.push(consensus.node());
            }
            set(&sender, now);
            tokio::time::sleep(LOOK).await;
        }
    });
    members
}

fn set<T: PartialEq>(sender: &watch::Sender<T>, now: T) {
    sender.send_if_modified(|before| {
        let is_new = *before != now;
        *before = now;
        is_new
    });
}
