//! The exchange of counters of one node with all others: begun, run, asked, ended.

use super::{
    clock::Clock,
    counts::{ExchangeCounts, PeerCounts},
    peer, repair,
    roster::Known,
    service::Service,
    settings::ExchangeSettings,
    shared::Shared,
    wire::MESSAGE_BYTES_MAX,
};
use crate::{Channels, NodeId};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    future::Future,
    pin::pin,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::watch,
    task::{AbortHandle, JoinSet},
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use trestle_counters::{Actor, Cells};
use trestle_proto::counters::counters_server::CountersServer;

/// Between two looks for a peer to pull from.
const PULL_AGAIN: Duration = Duration::from_millis(50);

/// Who is around. Both may change at any time.
#[derive(Debug, Clone)]
pub struct Neighbours {
    /// The peers that are alive, each with the address of its mesh, without this node.
    pub live: watch::Receiver<Vec<(NodeId, String)>>,
    /// The members of the cluster as consensus has them, dead or alive, this node among them. How many there are is
    /// what limits are divided by while one of them is out of reach.
    pub members: watch::Receiver<Vec<NodeId>>,
}

/// Tells peers what this node counts, and takes in what they count. A clone is the same.
///
/// Bounds: one stream to each live peer and one from each; four messages of at most 2,000 cells wait for their answers
/// on each. What a peer has not heard is remembered as a sequence, never as cells.
#[derive(Clone)]
pub struct Exchange {
    shared: Arc<Shared>,
    neighbours: Neighbours,
}

/// What a pull brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pulled {
    /// From whom.
    pub from: NodeId,
    /// How many cells, of all actors.
    pub cells: usize,
}

/// What was handed over at the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flushed {
    /// So many peers have all that this life counted, and know that it ended.
    pub peers: usize,
    /// So many were connected.
    pub of: usize,
}

impl Exchange {
    /// Of the node whose cells these are. Until each member was reached it spends by shares.
    pub fn new(
        cells: Arc<Cells>,
        channels: Channels,
        neighbours: Neighbours,
        clock: Arc<dyn Clock>,
        settings: ExchangeSettings,
    ) -> Self {
        let exchange = Self { shared: Arc::new(Shared::new(cells, channels, clock, settings)), neighbours };
        exchange.see_members();
        exchange.shared.look();
        exchange
    }

    /// Answers peers; to be served by the mesh.
    pub fn service(&self) -> CountersServer<impl trestle_proto::counters::counters_server::Counters + use<>> {
        CountersServer::new(Service { shared: Arc::clone(&self.shared) })
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX)
    }

    /// Takes all that one peer knows, before anything is admitted. Nothing if none is around, or none answered in time.
    pub async fn pull(&self, within: Duration) -> Option<Pulled> {
        timeout(within, self.pull_from_anyone()).await.ok().flatten()
    }

    async fn pull_from_anyone(&self) -> Option<Pulled> {
        // Ends with the deadline of the caller at the latest.
        loop {
            self.see_members();
            self.shared.look();
            let mut live = self.neighbours.live.borrow().clone();
            if live.is_empty() && self.neighbours.members.borrow().len() <= 1 {
                return None;
            }
            if !live.is_empty() {
                let first = self.shared.random() % live.len() as u64;
                live.rotate_left(first as usize);
            }
            for (from, address) in live {
                match repair::pull(&self.shared, from, &address).await {
                    Ok(cells) => return Some(Pulled { from, cells }),
                    Err(error) => tracing::debug!(from, %address, %error, "no counters were pulled"),
                }
            }
            tokio::time::sleep(PULL_AGAIN).await;
        }
    }

    /// Exchanges until `stop` resolves.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        let settings = self.shared.settings;
        let Neighbours { mut live, mut members } = self.neighbours.clone();
        let mut beat = interval(settings.every);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut next_repair = Instant::now() + settings.repair_every;
        let (mut telling, mut tasks) = (Telling::default(), JoinSet::new());
        let mut repairing: Option<AbortHandle> = None;
        telling.follow(&self.shared, &mut tasks, live.borrow_and_update().clone());
        let mut stop = pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                _ = beat.tick() => {
                    self.shared.beat();
                    if self.shared.owes() {
                        tasks.spawn(owe(Arc::clone(&self.shared), self.connected()));
                    }
                    let is_idle = repairing.as_ref().is_none_or(AbortHandle::is_finished);
                    if is_idle && Instant::now() >= next_repair {
                        next_repair = Instant::now() + settings.repair_every;
                        repairing = self.repair_with_one(&mut tasks);
                    }
                }
                Ok(()) = live.changed() => {
                    let now = live.borrow_and_update().clone();
                    telling.follow(&self.shared, &mut tasks, now);
                    self.shared.look();
                }
                Ok(()) = members.changed() => {
                    members.mark_unchanged();
                    self.see_members();
                    self.shared.look();
                }
                // Only takes the ended ones out.
                Some(_) = tasks.join_next() => {}
            }
        }
        tasks.shutdown().await;
    }

    /// Compares with one peer of those that are connected.
    fn repair_with_one(&self, tasks: &mut JoinSet<()>) -> Option<AbortHandle> {
        let connected = self.connected();
        let at = self.shared.random().checked_rem(connected.len() as u64)?;
        let (node, address) = connected.into_iter().nth(at as usize)?;
        let shared = Arc::clone(&self.shared);
        Some(tasks.spawn(async move { compare(&shared, node, &address).await }))
    }

    /// The peers that were compared with since the connection to them was opened.
    fn connected(&self) -> Vec<(NodeId, String)> {
        let live = self.neighbours.live.borrow().clone();
        let roster = self.shared.roster();
        let synced = |node: &NodeId| roster.get(*node).is_some_and(|known| known.synced);
        live.into_iter().filter(|(node, _)| synced(node)).collect()
    }

    fn see_members(&self) {
        let members = self.neighbours.members.borrow().iter().copied().collect();
        self.shared.roster().set_members(members);
    }

    /// Hands over what no peer has yet, after the last request was settled; [`Self::run`] is still running. Waits until
    /// all connected peers have it, or the deadline. From here on this life counts no more: so peers need not
    /// spend by shares while the node is away.
    pub async fn flush(&self, within: Duration) -> Flushed {
        self.shared.cells.collect(self.shared.clock.now_ms());
        self.shared.end();
        self.shared.beat();
        let deadline = Instant::now() + within;
        loop {
            let woken = self.shared.acknowledged.notified();
            let flushed = self.flushed();
            if flushed.of == 0 || flushed.peers == flushed.of {
                return flushed;
            }
            if tokio::time::timeout_at(deadline, woken).await.is_err() {
                return self.flushed();
            }
        }
    }

    fn flushed(&self) -> Flushed {
        let roster = self.shared.roster();
        let connected = || roster.iter().map(|(_, known)| known).filter(|known| known.answered.is_some());
        let peers = connected().filter(|known| known.end_acknowledged).count();
        Flushed { peers, of: connected().count() }
    }

    /// What it did, and how it stands with each peer.
    pub fn counts(&self) -> ExchangeCounts {
        let now = Instant::now();
        let sequence = *self.shared.beats.borrow();
        let lag = |known: &Known| match known.even {
            _ if known.acknowledged >= sequence => 0,
            Some(even) => now.duration_since(even).as_millis() as u64,
            None => 0,
        };
        let roster = self.shared.roster();
        let peers = roster.iter().map(|(node, known)| PeerCounts {
            node,
            connected: known.answered.is_some(),
            lag_ms: lag(known),
            clock_offset_ms: known.offset.ms(),
        });
        let peers = peers.collect();
        let frozen = self.shared.cells.rights().is_frozen();
        ExchangeCounts { frozen, peers, ..self.shared.tally.counts() }
    }

    #[cfg(test)]
    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Exchange").field("own", &self.shared.cells.own()).finish_non_exhaustive()
    }
}

/// Compares with a peer; what fails is for the next time.
async fn compare(shared: &Shared, node: NodeId, address: &str) {
    if let Err(error) = repair::repair(shared, (node, address), repair::Extent::Some).await {
        tracing::debug!(node, %address, %error, "what both know could not be compared");
    }
}

/// Puts what only the journal knows into the table, and compares with all peers at once if there was any.
async fn owe(shared: Arc<Shared>, peers: Vec<(NodeId, String)>) {
    let mut owed = 0;
    for bucket in 0..=u8::MAX {
        owed += shared.cells.owe(bucket, shared.clock.now_ms());
        // Others have their turn.
        tokio::task::yield_now().await;
    }
    if owed == 0 {
        return;
    }
    tracing::info!(cells = owed, "peers are told what this node's journal knows, and they do not");
    for (node, address) in peers {
        compare(&shared, node, &address).await;
    }
}

/// The tasks that tell peers, one for each that is alive.
#[derive(Default)]
struct Telling {
    tasks: BTreeMap<NodeId, (String, AbortHandle)>,
}

impl Telling {
    /// Begins what is missing, and ends what is there no more, or somewhere else.
    fn follow(&mut self, shared: &Arc<Shared>, tasks: &mut JoinSet<()>, live: Vec<(NodeId, String)>) {
        let own = shared.own();
        let live: BTreeMap<_, _> = live.into_iter().filter(|(node, _)| *node != own).collect();
        self.tasks.retain(|node, (address, task)| {
            let stays = live.get(node) == Some(address);
            if !stays {
                task.abort();
                shared.disconnected(*node);
            }
            stays
        });
        let gone = shared.roster().set_live(live.keys().copied().collect::<BTreeSet<_>>());
        for (node, incarnation) in gone {
            // Its concurrency ended, as far as anybody can tell.
            shared.cells.dead(Actor { node: trestle_counters::NodeId(node), incarnation });
            shared.channels.forget(node);
        }
        for (node, address) in live {
            self.tasks.entry(node).or_insert_with(|| {
                let task = tasks.spawn(peer::tell(Arc::clone(shared), node, address.clone()));
                (address, task)
            });
        }
    }
}
