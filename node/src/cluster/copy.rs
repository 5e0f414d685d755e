//! Copies the ledger of this node to its peers, as it comes to the disk.

use super::{
    keep::held_by,
    place::{Candidates, Places},
    wire::MESSAGE_BYTES_MAX,
};
use crate::{
    ledger::{now_ms, room_for_copies},
    metric,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::{
    sync::{mpsc, oneshot},
    task::spawn_blocking,
    time::{Instant, sleep, timeout},
};
use trestle_cluster::{Census, Cluster, NodeId, Other, Peer};
use trestle_proto::{
    copies::{AppendQuestion, copies_client::CopiesClient},
    tonic::{Code, Status},
};
use trestle_store::{Copied, Copies, Copyable, Ledger, Name};

/// What came to the disk is copied so often.
const ROUND: Duration = Duration::from_secs(1);
/// Old copies of others are dropped each so many rounds.
const TRIM: u32 = 10;
/// One message.
const PIECE_BYTES: usize = 256 * 1024;
/// No more than that goes out in a second, however much there is: a node that serves comes first.
const BYTES_A_SECOND: usize = 16 << 20;
/// An answer that takes longer is none.
const DEADLINE: Duration = Duration::from_secs(5);
/// Members that may hold copies are waited for after a start before what is sealed is copied anew.
const SETTLED: Duration = Duration::from_secs(60);
/// Answers without progress before a segment is left for the next round.
const STALLS_MAX: u32 = 3;

/// Ends what copies.
pub(crate) struct Copier {
    flush: mpsc::Sender<oneshot::Sender<()>>,
}

struct Copying {
    cluster: Cluster,
    ledger: Ledger,
    copies: Copies,
    keep: Option<Duration>,
    places: Places,
    known: BTreeSet<NodeId>,
    begun: Instant,
    /// When others had all of it.
    even: Instant,
}

/// A peer is left alone until the next round.
struct Away;

impl Copier {
    /// Copies from here on, and keeps what others copy here within its bounds.
    pub(super) fn start(cluster: Cluster, ledger: Ledger, copies: Copies, keep: Option<Duration>) -> Self {
        let (flush, flushes) = mpsc::channel(1);
        let (own, now) = (cluster.consensus().node(), Instant::now());
        let known = BTreeSet::new();
        let places = Places::new(own);
        let copying = Copying { cluster, ledger, copies, keep, places, known, begun: now, even: now };
        tokio::spawn(copying.run(flushes));
        Self { flush }
    }

    /// Copies what is on the disk now, after the last request.
    pub(crate) async fn flush(&self, within: Duration) {
        let (done, is_done) = oneshot::channel();
        let flushed = async {
            // An error: it has ended.
            let _ = self.flush.send(done).await;
            let _ = is_done.await;
        };
        if timeout(within, flushed).await.is_err() {
            tracing::warn!("the last lines of the ledger are not copied to a peer");
        }
    }
}

impl Copying {
    async fn run(mut self, mut flushes: mpsc::Receiver<oneshot::Sender<()>>) {
        for rounds in 0_u32.. {
            let flush = timeout(ROUND, flushes.recv()).await;
            if let Ok(None) = flush {
                return;
            }
            match self.cluster.census().await {
                Ok(census) => self.round(&census).await,
                Err(error) => tracing::debug!(%error, "nobody knows who may have copies"),
            }
            if let Ok(Some(done)) = flush {
                let _ = done.send(());
            }
            if rounds.is_multiple_of(TRIM) {
                self.trim().await;
            }
        }
    }

    async fn round(&mut self, census: &Census) {
        let peers: BTreeMap<_, _> =
            census.others.iter().filter(|other| other.live).map(|other| (other.node, other)).collect();
        self.known.retain(|node| peers.contains_key(node));
        for (node, other) in &peers {
            if !self.known.contains(node) && self.meet(other).await.is_ok() {
                self.known.insert(*node);
            }
        }
        let round = Instant::now();
        let mut there = self.ledger.copyable();
        self.places.retain(&there);
        // What is written now, then the latest of what is sealed.
        there.sort_by_key(|copyable| (copyable.is_sealed, std::cmp::Reverse(copyable.name)));
        let members: BTreeSet<_> = census.others.iter().map(|other| other.node).collect();
        let is_settled = members.len() == self.known.len() || self.begun.elapsed() > SETTLED;
        let mut among = Candidates { members, known: self.known.clone(), is_settled };
        for copyable in &there {
            let Some((node, from)) = self.places.next(copyable, &among, Instant::now()) else { continue };
            let Some(other) = peers.get(&node) else { continue };
            if self.copy(other, copyable.name, from).await.is_err() {
                among.known.remove(&node);
                self.known.remove(&node);
            }
            // What is written now comes first, always.
            if copyable.is_sealed && round.elapsed() > ROUND {
                break;
            }
        }
        self.tell(&there, &among.members, round);
    }

    /// Asks what a peer holds of this node.
    async fn meet(&mut self, other: &Other) -> Result<(), Away> {
        let held = async { held_by(self.client(other)?, self.cluster.consensus().node()).await };
        let held = timeout(DEADLINE, held).await.map_err(|_| Away)?.map_err(|_| Away)?;
        self.places.learn(other.node, held);
        Ok(())
    }

    /// Copies a segment from a byte on to its end.
    async fn copy(&mut self, other: &Other, name: Name, mut from: u64) -> Result<(), Away> {
        let mut stalls = 0;
        while stalls < STALLS_MAX {
            let ledger = self.ledger.clone();
            let read = spawn_blocking(move || ledger.piece(name, from, PIECE_BYTES)).await;
            let piece = match read {
                Ok(Ok(Some(piece))) => piece,
                // Dropped meanwhile.
                Ok(Ok(None)) => return Ok(()),
                Ok(Err(error)) => {
                    tracing::error!(%error, "the ledger cannot be read to copy it");
                    return Ok(());
                }
                Err(_) => return Ok(()),
            };
            if piece.bytes.is_empty() && piece.crc_of_all.is_none() {
                return Ok(());
            }
            let bytes = piece.bytes.len();
            let question = AppendQuestion {
                sequence: name.sequence,
                thread: name.thread,
                offset: from,
                bytes: piece.bytes.into(),
                crc: piece.crc,
                sealed: piece.is_sealed,
                crc_of_all: piece.crc_of_all,
            };
            let asked = async { self.client(other)?.append(question).await };
            let answer = match timeout(DEADLINE, asked).await.map_err(|_| Away)? {
                Ok(answer) => answer.into_inner(),
                Err(status) if status.code() == Code::ResourceExhausted => {
                    self.places.refused(name, Instant::now());
                    return Ok(());
                }
                Err(status) => {
                    tracing::debug!(node = other.name, %status, "a peer takes no copies");
                    return Err(Away);
                }
            };
            self.places.copied(other.node, Copied { name, bytes: answer.bytes, is_sealed: answer.sealed });
            if answer.sealed {
                return Ok(());
            }
            stalls = if answer.bytes > from { 0 } else { stalls + 1 };
            from = answer.bytes;
            sleep(Duration::from_secs_f64(bytes as f64 / BYTES_A_SECOND as f64)).await;
        }
        Ok(())
    }

    fn client(&self, other: &Other) -> Result<CopiesClient<Peer>, Status> {
        let channels = self.cluster.channels().ok_or_else(|| Status::unavailable("there is no mesh"))?;
        let client = CopiesClient::new(channels.to(other.node, &other.address));
        Ok(client.max_decoding_message_size(MESSAGE_BYTES_MAX).max_encoding_message_size(MESSAGE_BYTES_MAX))
    }

    fn tell(&mut self, there: &[Copyable], members: &BTreeSet<NodeId>, round: Instant) {
        let behind = self.places.behind(there, members);
        if behind == 0 {
            self.even = round;
        }
        let lag = if behind == 0 { Duration::ZERO } else { self.even.elapsed() };
        metric::copies(behind, lag, self.copies.bytes());
    }

    async fn trim(&self) {
        let (copies, room) = (self.copies.clone(), room_for_copies(&self.ledger));
        let keep_ms = self.keep.map_or(u64::MAX, |keep| keep.as_millis() as u64);
        let since_ms = now_ms().saturating_sub(keep_ms);
        if let Ok(Err(error)) = spawn_blocking(move || copies.trim(room, since_ms)).await {
            tracing::error!(%error, "old copies of the ledgers of others cannot be dropped");
        }
    }
}
