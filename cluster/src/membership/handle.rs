//! One handle: who is there, and what this node says.

use super::{
    counts::{Counting, GossipCounts},
    datagrams::Datagrams,
    facts::{self, Facts},
    generation,
    health::{self, HealthTooLarge},
    members::{self, Health, Members, Seen},
    open::Opener,
    rounds::Rounds,
    seal::{SALT_BYTES, Sealer, Secrets},
    seeds::Seeds,
    transport::{Sealed, SealedSocket},
};
use crate::mesh::{Identity, NodeId};
use chitchat::{Chitchat, ChitchatConfig, ChitchatHandle, ChitchatId, FailureDetectorConfig, spawn_chitchat};
use std::{io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};

const ROUND: Duration = Duration::from_millis(500);
/// With rounds of 500 ms a death is seen after about 2 to 3.5 s, with room for a CPU that is throttled. With 10 it was up to 4.2 s in
/// drills, and 4 s are promised.
const PHI: f64 = 8.0;
const INTERVALS: usize = 200;
const INTERVAL_MAX: Duration = Duration::from_secs(5);
/// Nodes that restart again and again would fill datagrams with what they were.
const GRACE: Duration = Duration::from_secs(15 * 60);
/// What no change is told of: nodes that are forgotten.
const LOOK: Duration = Duration::from_secs(5);

/// How a node takes part in gossip.
#[derive(Clone)]
pub struct MembershipSettings {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where peers reach it, if that is another address.
    pub advertise: Option<SocketAddr>,
    /// Where peers may be, `host:port` each. Names may have several addresses.
    pub seeds: Vec<String>,
    /// How many nodes there should be, this one among them.
    pub expected: usize,
    /// The name of the mesh: nodes of another one are not heard.
    pub mesh_name: String,
    /// What seals datagrams.
    pub secrets: Secrets,
    /// Where the number of the run is kept.
    pub folder: PathBuf,
    /// What the node says of itself at first.
    pub facts: Facts,
}

/// Why a node cannot take part in gossip.
#[derive(Debug, thiserror::Error)]
pub enum MembershipError {
    /// The system refuses.
    #[error("{0} cannot be listened at for gossip: {1}")]
    Bind(SocketAddr, #[source] io::Error),
    /// Peers would not know where to reach it.
    #[error("gossip listens at all addresses of {0}: say which one peers should use")]
    Advertise(SocketAddr),
    /// The number of the run.
    #[error("the number of this run cannot be kept in {0}: {1}")]
    Generation(PathBuf, #[source] io::Error),
    /// The gossip library, or the source of random numbers.
    #[error("gossip cannot start: {0}")]
    Start(String),
}

/// Who is there, and what this node says. Dropped, the node falls silent and peers find it dead.
pub struct Membership {
    members: watch::Receiver<Arc<Members>>,
    health: watch::Receiver<Arc<Health>>,
    own_facts: watch::Sender<Facts>,
    own_health: watch::Sender<Vec<String>>,
    counts: Arc<Counting>,
    gossip: Arc<ChitchatHandle>,
    address: SocketAddr,
    generation: u64,
    /// They end with it.
    _tasks: JoinSet<()>,
}

impl Membership {
    /// Begins to gossip. To be called inside of a Tokio runtime.
    ///
    /// # Errors
    ///
    /// The address cannot be used, or the folder cannot be written to.
    pub async fn start(
        settings: MembershipSettings,
        identity: Identity,
        datagrams: Arc<dyn Datagrams>,
    ) -> Result<Self, MembershipError> {
        let unbound = |error| MembershipError::Bind(settings.listen, error);
        let socket = datagrams.bind(settings.listen).await.map_err(unbound)?;
        let bound = socket.local_addr().map_err(unbound)?;
        let address = settings.advertise.unwrap_or(bound);
        if address.ip().is_unspecified() {
            return Err(MembershipError::Advertise(address));
        }
        let generation = next_generation(&settings, datagrams.unix_nanos()).await?;
        let salt = salt().map_err(|error| MembershipError::Start(error.to_string()))?;
        let counts = Arc::new(Counting::default());
        let sealer = Sealer::new(&settings.secrets, salt);
        let socket = SealedSocket {
            socket,
            sealer: sealer.map_err(|error| MembershipError::Start(error.to_string()))?,
            opener: Opener::new(settings.secrets.clone(), salt),
            counts: counts.clone(),
            rounds: Rounds::default(),
            datagrams: datagrams.clone(),
        };
        let id = ChitchatId::new(members::id(identity.node()), generation, address);
        let config = config(id, settings.mesh_name.clone(), bound);
        let gossip = spawn_chitchat(config, facts::write(&settings.facts), &Sealed::new(socket)).await;
        let gossip = Arc::new(gossip.map_err(|error| MembershipError::Start(error.to_string()))?);

        let (members_sender, members) = watch::channel(Arc::default());
        let (health_sender, health) = watch::channel(Arc::default());
        let (own_facts, facts) = watch::channel(settings.facts);
        let (own_health, said) = watch::channel(Vec::new());
        let tend =
            Tend { node: identity.node(), facts, said, members: members_sender, health: health_sender };
        let seeds = Seeds { names: settings.seeds, expected: settings.expected, own: address, datagrams };
        let mut tasks = JoinSet::new();
        tasks.spawn(tend.run(gossip.clone()));
        tasks.spawn(seeds.watch(gossip.clone(), members.clone()));
        Ok(Self {
            members,
            health,
            own_facts,
            own_health,
            counts,
            gossip,
            address,
            generation,
            _tasks: tasks,
        })
    }

    /// Who is there. It changes when somebody comes, goes, or says something else.
    pub fn members(&self) -> watch::Receiver<Arc<Members>> {
        self.members.clone()
    }

    /// What this node says of itself from now on. Only what changed is gossiped.
    pub fn publish(&self, facts: Facts) {
        self.own_facts.send_if_modified(|said| {
            let is_new = *said != facts;
            *said = facts;
            is_new
        });
    }

    /// What this node has seen of routes, opaque here. It takes the place of what was said before.
    ///
    /// # Errors
    ///
    /// More than 16 values, or one of more than 1 KiB; then what was said before stays.
    pub fn publish_health(&self, packed: Vec<String>) -> Result<(), HealthTooLarge> {
        health::check(&packed)?;
        self.own_health.send_if_modified(|said| {
            let is_new = *said != packed;
            *said = packed;
            is_new
        });
        Ok(())
    }

    /// What live peers have seen of routes.
    pub fn health(&self) -> watch::Receiver<Arc<Health>> {
        self.health.clone()
    }

    /// What became of datagrams.
    pub fn counts(&self) -> GossipCounts {
        self.counts.now()
    }

    /// Where peers reach this node by gossip.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Which run of the node this is.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Waits until gossip has ended, which it never should, and says why. The process is of no use to the mesh then.
    pub async fn ended(&self) -> String {
        match self.gossip.termination_watcher().await {
            Ok(()) => "gossip was stopped".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    /// Ends gossip as a failure would.
    pub(super) fn abort(&self) {
        self.gossip.abort();
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.abort();
    }
}

async fn next_generation(settings: &MembershipSettings, now: u64) -> Result<u64, MembershipError> {
    let folder = settings.folder.clone();
    let next = tokio::task::spawn_blocking(move || generation::next(&folder, now)).await;
    let next = next.unwrap_or_else(|error| Err(io::Error::other(error)));
    next.map_err(|error| MembershipError::Generation(settings.folder.clone(), error))
}

fn salt() -> io::Result<[u8; SALT_BYTES]> {
    let mut salt = [0; SALT_BYTES];
    getrandom::fill(&mut salt).map_err(io::Error::other)?;
    Ok(salt)
}

fn config(id: ChitchatId, mesh_name: String, listen: SocketAddr) -> ChitchatConfig {
    ChitchatConfig {
        chitchat_id: id,
        cluster_id: mesh_name,
        gossip_interval: ROUND,
        listen_addr: listen,
        // It would look names up once a minute; `Seeds` does.
        seed_nodes: Vec::new(),
        failure_detector_config: FailureDetectorConfig::new(PHI, INTERVALS, INTERVAL_MAX, ROUND, GRACE),
        marked_for_deletion_grace_period: GRACE,
        catchup_callback: None,
        extra_liveness_predicate: None,
    }
}

/// Carries what this node says to the gossip library, and what that knows to those who watch.
struct Tend {
    node: NodeId,
    facts: watch::Receiver<Facts>,
    said: watch::Receiver<Vec<String>>,
    members: watch::Sender<Arc<Members>>,
    health: watch::Sender<Arc<Health>>,
}

impl Tend {
    async fn run(mut self, gossip: Arc<ChitchatHandle>) {
        let chitchat = gossip.chitchat();
        let mut changes = chitchat.lock().await.live_nodes_watcher();
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut values_before = 0;
        loop {
            // An error: the other side is gone, and this task with it.
            let watched = tokio::select! {
                _ = look.tick() => Ok(()),
                changed = changes.changed() => changed,
                changed = self.facts.changed() => changed,
                changed = self.said.changed() => changed,
            };
            if watched.is_err() {
                return;
            }
            let mut chitchat = chitchat.lock().await;
            let facts = facts::write(&self.facts.borrow_and_update());
            let values = {
                let said = self.said.borrow_and_update();
                let values = health::write(&said, values_before);
                values_before = said.len();
                values
            };
            let own = chitchat.self_node_state();
            for (key, value) in facts.into_iter().chain(values) {
                // Does nothing where the value is the same.
                own.set(key, value);
            }
            self.tell(&chitchat);
        }
    }

    fn tell(&self, chitchat: &Chitchat) {
        let live: Vec<&ChitchatId> = chitchat.live_nodes().collect();
        let runs = chitchat.node_states().iter().map(|(id, state)| Seen {
            id: &id.node_id,
            generation: id.generation_id,
            gossip: id.gossip_advertise_addr,
            live: live.contains(&id),
            values: state.key_values().collect(),
        });
        let (members, health) = members::collect(runs, self.node);
        send_new(&self.members, members);
        send_new(&self.health, health);
    }
}

fn send_new<T: PartialEq>(sender: &watch::Sender<Arc<T>>, new: T) {
    sender.send_if_modified(|known| {
        let is_new = **known != new;
        if is_new {
            *known = Arc::new(new);
        }
        is_new
    });
}
