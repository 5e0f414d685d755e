//! One task for each peer: tells it what changes, over one stream, for as long as the peer is there.

use super::{
    clock::CLOCK_OFFSET_ALERT_MS,
    counts::add,
    outgoing::{ANSWER_WITHIN, Flags, Next, Outgoing},
    repair::{self, Extent},
    roster::Unwanted,
    service::answering,
    shared::Shared,
    wire::{self, DELTA_CELLS_MAX, MESSAGE_BYTES_MAX, Malformed},
};
use crate::NodeId;
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout},
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};
use trestle_counters::Actor;
use trestle_proto::{
    counters::{Heard, Told, counters_client::CountersClient},
    prost::Message,
};

/// Before a connection is tried again; twice that after each failure, up to the second.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// More than may wait for answers at once, so sending never waits.
const QUEUE: usize = 8;

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error(transparent)]
    Status(#[from] Status),
    #[error("no answer within {ANSWER_WITHIN:?}")]
    Silent,
    #[error("the peer has closed it")]
    Closed,
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error(transparent)]
    Unwanted(#[from] Unwanted),
    #[error("what both know could not be compared: {0}")]
    Repair(#[from] repair::Failed),
}

/// Tells a peer what changes, until it is dropped.
pub(super) async fn tell(shared: Arc<Shared>, node: NodeId, address: String) {
    let mut pause = PAUSE_MIN;
    loop {
        let begun = Instant::now();
        let Err(ended) = connection(&shared, node, &address).await;
        shared.disconnected(node);
        tracing::debug!(node, %address, %ended, "counters are not told to a peer for now");
        if begun.elapsed() > PAUSE_MAX * 2 {
            pause = PAUSE_MIN;
        }
        // From half to the whole of it, so that not all nodes come at once.
        let half_us = pause.as_micros() as u64 / 2;
        sleep(Duration::from_micros(half_us + shared.random() % half_us.max(1))).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// One connection, which only ends by an error.
async fn connection(shared: &Shared, node: NodeId, address: &str) -> Result<std::convert::Infallible, Ended> {
    let (telling, told) = mpsc::channel(QUEUE);
    let hello = Told {
        hello: Some(wire::to_actor(shared.cells.own())),
        sent_unix_ms: shared.clock.now_ms(),
        cut: shared.flags().cut,
        ..Told::default()
    };
    send(shared, &telling, hello).await?;
    let mut client = CountersClient::new(shared.channels.to(node, address))
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX);
    let answers = timeout(ANSWER_WITHIN, client.exchange(ReceiverStream::new(told))).await;
    let mut answers = answers.map_err(|_| Ended::Silent)??.into_inner();
    let mut talk = greet(shared, node, &mut answers).await?;
    add(&shared.tally.connections, 1);

    let mut beats = shared.beats.subscribe();
    let mut comparing = pin!(repair::repair(shared, (node, address), Extent::All));
    let mut compared = false;
    loop {
        // Ends: few messages wait for their answers at once.
        while let Some(told) = talk.next(shared) {
            send(shared, &telling, told).await?;
        }
        tokio::select! {
            heard = answers.message() => talk.hear(shared, &heard?.ok_or(Ended::Closed)?)?,
            // The sender lives as long as the exchange.
            _ = beats.changed() => {
                if talk.outgoing.is_stuck(Instant::now()) {
                    return Err(Ended::Silent);
                }
            }
            done = &mut comparing, if !compared => {
                done?;
                compared = true;
                shared.note(talk.peer, |known| known.synced = true)?;
                shared.look();
            }
        }
    }
}

async fn greet(shared: &Shared, node: NodeId, answers: &mut Streaming<Heard>) -> Result<Talk, Ended> {
    let heard = timeout(ANSWER_WITHIN, answers.message()).await.map_err(|_| Ended::Silent)??;
    let heard = heard.ok_or(Ended::Closed)?;
    let peer = answering(heard.hello.as_ref(), node)?;
    shared.meet(peer)?;
    let now = Instant::now();
    // More than there is cannot have been heard.
    let acknowledged = heard.acknowledged.min(shared.cells.sequence());
    let mut talk = Talk {
        peer,
        outgoing: Outgoing::new(acknowledged, shared.settings.heartbeat, now),
        clock_told: false,
    };
    talk.hear(shared, &heard)?;
    Ok(talk)
}

async fn send(shared: &Shared, telling: &mpsc::Sender<Told>, told: Told) -> Result<(), Ended> {
    shared.tally.sent(told.encoded_len(), told.cells.len());
    telling.send(told).await.map_err(|_| Ended::Closed)
}

/// What is said on one connection.
struct Talk {
    peer: Actor,
    outgoing: Outgoing,
    /// That its clock is off was logged.
    clock_told: bool,
}

impl Talk {
    /// The next message, if one is due.
    fn next(&mut self, shared: &Shared) -> Option<Told> {
        let (now, flags) = (Instant::now(), shared.flags());
        let sequence = *shared.beats.borrow();
        let mut told = Told { sent_unix_ms: shared.clock.now_ms(), cut: flags.cut, ..Told::default() };
        match self.outgoing.next(sequence, flags, now)? {
            Next::Delta(after) => {
                let delta = shared.cells.delta(after, DELTA_CELLS_MAX);
                let flags = Flags { ended: flags.ended && !delta.more, ..flags };
                (told.up_to, told.ended) = (delta.up_to, flags.ended);
                told.cells = wire::to_own_cells(&delta.cells);
                self.outgoing.sent(Some(delta.up_to), flags, now);
            }
            Next::Heartbeat => {
                told.ended = flags.ended;
                self.outgoing.sent(None, flags, now);
            }
        }
        Some(told)
    }

    /// An answer.
    fn hear(&mut self, shared: &Shared, heard: &Heard) -> Result<(), Ended> {
        let (now, now_ms) = (Instant::now(), shared.clock.now_ms());
        shared.tally.received(heard.encoded_len(), 0);
        let answered = self.outgoing.answered(heard.acknowledged, now);
        let (acknowledged, sequence) = (self.outgoing.acknowledged(), *shared.beats.borrow());
        let ended = self.outgoing.is_end_acknowledged();
        let (mut offset_ms, mut is_news) = (None, false);
        shared.note(self.peer, |known| {
            known.answered = Some(now);
            is_news = known.cut != heard.cut;
            known.cut = heard.cut;
            known.acknowledged = acknowledged;
            known.end_acknowledged = ended;
            if acknowledged >= sequence {
                known.even = Some(now);
            }
            if let Some(took) = answered {
                known.offset.sample(took, heard.sent_unix_ms, now_ms);
            }
            offset_ms = known.offset.ms();
        })?;
        if is_news {
            shared.look();
        }
        let is_off = offset_ms.is_some_and(|ms| ms.unsigned_abs() > CLOCK_OFFSET_ALERT_MS);
        if is_off && !self.clock_told {
            let node = self.peer.node.0;
            tracing::warn!(
                node,
                offset_ms,
                "the clock of a peer is off: windows begin at different times there"
            );
        }
        self.clock_told = is_off;
        shared.acknowledged.notify_waiters();
        Ok(())
    }
}
