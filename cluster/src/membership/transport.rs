//! The socket of the gossip library: its messages, sealed and in parts. Nothing that goes wrong here ends its loop.

use super::{
    counts::Counting,
    datagrams::{DatagramSocket, Datagrams},
    open::Opener,
    rounds::Rounds,
    seal::{DATAGRAM_BYTES_MAX, Sealer},
};
use chitchat::{
    ChitchatMessage, Deserializable, Serializable,
    transport::{Socket, Transport},
};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering::Relaxed},
    time::Duration,
};
use tonic::async_trait;

/// After an error of the socket: it must not become a busy loop.
const PAUSE: Duration = Duration::from_millis(10);

/// A socket that is handed to the gossip library once.
pub(super) struct Sealed(Mutex<Option<Box<SealedSocket>>>);

impl Sealed {
    pub(super) fn new(socket: SealedSocket) -> Self {
        Self(Mutex::new(Some(Box::new(socket))))
    }
}

#[async_trait]
impl Transport for Sealed {
    async fn open(&self, _: SocketAddr) -> anyhow::Result<Box<dyn Socket>> {
        let socket = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(socket.ok_or_else(|| anyhow::anyhow!("the socket was handed out before"))?)
    }
}

/// What seals and opens, and the socket below it.
pub(super) struct SealedSocket {
    pub(super) socket: Arc<dyn DatagramSocket>,
    pub(super) sealer: Sealer,
    pub(super) opener: Opener,
    pub(super) counts: Arc<Counting>,
    pub(super) rounds: Rounds,
    pub(super) datagrams: Arc<dyn Datagrams>,
}

impl SealedSocket {
    fn unix_ms(&self) -> u64 {
        self.datagrams.unix_nanos() / 1_000_000
    }
}

#[async_trait]
impl Socket for SealedSocket {
    async fn send(&mut self, to: SocketAddr, message: ChitchatMessage) -> anyhow::Result<()> {
        self.rounds.sent(to, &message);
        let mut bytes = Vec::new();
        message.serialize(&mut bytes);
        let unix_ms = self.unix_ms();
        let Some(datagrams) = self.sealer.seal(&bytes, unix_ms)? else {
            if self.counts.too_large.fetch_add(1, Relaxed) == 0 {
                tracing::error!(
                    bytes = bytes.len(),
                    "gossip is too large to be sent: nodes say too much of themselves"
                );
            }
            return Ok(());
        };
        self.counts.message_bytes_max.fetch_max(bytes.len() as u64, Relaxed);
        for datagram in datagrams {
            match self.socket.send_to(&datagram, to).await {
                Ok(length) => {
                    self.counts.bytes_sent.fetch_add(length as u64, Relaxed);
                    self.counts.sent.fetch_add(1, Relaxed)
                }
                Err(error) => {
                    tracing::debug!(%to, %error, "gossip was not sent");
                    self.counts.not_sent.fetch_add(1, Relaxed)
                }
            };
        }
        Ok(())
    }

    /// May be dropped at its awaits: nothing is held across them.
    async fn recv(&mut self) -> anyhow::Result<(SocketAddr, ChitchatMessage)> {
        // One byte more: what is larger is none of ours, and cannot be opened.
        let mut buffer = [0; DATAGRAM_BYTES_MAX + 1];
        loop {
            let (length, from) = match self.socket.recv_from(&mut buffer).await {
                Ok(received) => received,
                Err(error) => {
                    tracing::debug!(%error, "gossip was not received");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let unix_ms = self.unix_ms();
            let datagram = buffer.get_mut(..length).unwrap_or_default();
            match self.opener.open(datagram, unix_ms) {
                Ok(message) => {
                    self.counts.received.fetch_add(1, Relaxed);
                    self.counts.bytes_received.fetch_add(length as u64, Relaxed);
                    match message.map(|bytes| ChitchatMessage::deserialize(&mut bytes.as_slice())) {
                        Some(Ok(message)) => {
                            self.rounds.received(from, &message);
                            return Ok((from, message));
                        }
                        Some(Err(error)) => tracing::warn!(%from, %error, "gossip of a peer cannot be read"),
                        None => {}
                    }
                }
                Err(refused) => {
                    let count = self.counts.refuse(refused);
                    // Strangers cannot fill the log.
                    if count.is_power_of_two() {
                        tracing::warn!(%from, ?refused, count, "a datagram was refused");
                    }
                }
            }
        }
    }
}
