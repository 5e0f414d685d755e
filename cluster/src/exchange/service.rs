//! Answers peers: takes what they tell, and shows them what they do not know.

use super::{
    roster::Unwanted,
    shared::Shared,
    wire::{self, Malformed, PAGE_CELLS_MAX},
};
use futures_util::stream::{self, Stream};
use std::{pin::Pin, sync::Arc, time::Duration};
use tokio::time::{Instant, timeout};
use tonic::{Request, Response, Status, Streaming, metadata::MetadataMap};
use trestle_counters::{Actor, BUCKETS};
use trestle_proto::{
    counters::{self as proto, Heard, RepairAnswer, RepairQuestion, Told, repair_question::Question},
    prost::Message,
};

/// A peer tells something each second. One that does not is gone, and connects again.
const SILENCE_MAX: Duration = Duration::from_secs(10);

impl From<Unwanted> for Status {
    fn from(unwanted: Unwanted) -> Self {
        match unwanted {
            Unwanted::TooMany => Self::resource_exhausted(unwanted.to_string()),
            _ => Self::failed_precondition(unwanted.to_string()),
        }
    }
}

/// Answers peers.
#[derive(Clone)]
pub(super) struct Service {
    pub(super) shared: Arc<Shared>,
}

#[tonic::async_trait]
impl proto::counters_server::Counters for Service {
    type ExchangeStream = Pin<Box<dyn Stream<Item = Result<Heard, Status>> + Send>>;

    async fn exchange(
        &self,
        request: Request<Streaming<Told>>,
    ) -> Result<Response<Self::ExchangeStream>, Status> {
        let caller = caller(request.metadata());
        let listening = Listening { shared: Arc::clone(&self.shared), caller, actor: None };
        let answers =
            stream::try_unfold((listening, request.into_inner()), |(mut listening, mut told)| async {
                let next = timeout(SILENCE_MAX, told.message()).await;
                let next = next.map_err(|_| Status::deadline_exceeded("nothing was told for long"))??;
                let Some(next) = next else { return Ok(None) };
                let heard = listening.hear(&next)?;
                Ok(Some((heard, (listening, told))))
            });
        Ok(Response::new(Box::pin(answers)))
    }

    async fn repair(&self, request: Request<RepairQuestion>) -> Result<Response<RepairAnswer>, Status> {
        let caller = caller(request.metadata());
        let question = request.into_inner();
        let actor = wire::from_actor(question.caller.as_ref())?;
        check_caller(caller, actor)?;
        let answer = match &question.question {
            Some(Question::Compare(compare)) => self.compare(compare)?,
            Some(Question::Swap(swap)) => self.swap(swap)?,
            None => return Err(Status::invalid_argument("the question is none that this node knows")),
        };
        let cells = match &question.question {
            Some(Question::Swap(swap)) => swap.cells.len(),
            _ => 0,
        };
        self.shared.tally.received(question.encoded_len(), cells);
        self.shared.tally.sent(answer.encoded_len(), answer.cells.len());
        Ok(Response::new(answer))
    }
}

impl Service {
    fn compare(&self, compare: &proto::Compare) -> Result<RepairAnswer, Status> {
        if compare.hashes.len() != BUCKETS {
            let message = format!("there are {} hashes, not {BUCKETS}", compare.hashes.len());
            return Err(Status::invalid_argument(message));
        }
        let own = self.shared.cells.hashes();
        let pairs = (0..=u8::MAX).zip(own.iter().zip(&compare.hashes));
        let differ: Vec<u8> = pairs.filter(|(_, (own, theirs))| own != theirs).map(|(at, _)| at).collect();
        Ok(RepairAnswer { answering: Some(self.own()), differ: differ.into(), ..RepairAnswer::default() })
    }

    fn swap(&self, swap: &proto::Swap) -> Result<RepairAnswer, Status> {
        let cells = wire::from_cells(&swap.cells)?;
        let after = swap.after.as_ref().map(wire::from_cell).transpose()?;
        if swap.buckets.len() > BUCKETS {
            return Err(Status::invalid_argument("there are more buckets than there may be"));
        }
        self.shared.take(&cells);
        let page = self.shared.cells.page(&swap.buckets, after.map(|cell| cell.id), PAGE_CELLS_MAX);
        Ok(RepairAnswer {
            answering: Some(self.own()),
            cells: wire::to_cells(&page.cells),
            more: page.more,
            ..RepairAnswer::default()
        })
    }

    fn own(&self) -> proto::Actor {
        wire::to_actor(self.shared.cells.own())
    }
}

/// One stream of a peer.
struct Listening {
    shared: Arc<Shared>,
    caller: Option<u64>,
    /// Nothing before the first message.
    actor: Option<Actor>,
}

impl Listening {
    fn hear(&mut self, told: &Told) -> Result<Heard, Status> {
        let mut hello = None;
        let actor = match self.actor {
            Some(actor) => actor,
            None => {
                let actor = wire::from_actor(told.hello.as_ref())?;
                check_caller(self.caller, actor)?;
                self.shared.meet(actor)?;
                hello = Some(wire::to_actor(self.shared.cells.own()));
                *self.actor.insert(actor)
            }
        };
        let shared = &self.shared;
        let cells = wire::from_own_cells(&told.cells, actor)?;
        shared.tally.received(told.encoded_len(), cells.len());
        if cells.is_empty() || !shared.loses() {
            shared.take(&cells);
        }
        let (mut acknowledged, mut is_news) = (0, false);
        shared.note(actor, |known| {
            known.told = Some(Instant::now());
            is_news = known.cut != told.cut;
            known.cut = told.cut;
            known.ended = told.ended;
            known.received = known.received.max(told.up_to);
            acknowledged = known.received;
        })?;
        if is_news {
            // A cut is heard of at once, not at the next beat.
            shared.look();
        }
        let sent_unix_ms = shared.clock.now_ms();
        let heard = Heard { hello, acknowledged, sent_unix_ms, cut: shared.flags().cut };
        shared.tally.sent(heard.encoded_len(), 0);
        Ok(heard)
    }
}

/// Who calls, as the mesh has checked it; nothing where there is no mesh.
fn caller(metadata: &MetadataMap) -> Option<u64> {
    metadata.get("trestle-from")?.to_str().ok()?.parse().ok()
}

/// Nobody tells of what another one counts as if it were its own.
fn check_caller(caller: Option<u64>, actor: Actor) -> Result<(), Status> {
    match caller {
        Some(caller) if caller != actor.node.0 => {
            let message = format!("the caller is node {caller}, and says that it is {}", actor.node.0);
            Err(Status::invalid_argument(message))
        }
        _ => Ok(()),
    }
}

/// Used by the calling side alone.
pub(super) fn answering(actor: Option<&proto::Actor>, called: u64) -> Result<Actor, Malformed> {
    let actor = wire::from_actor(actor)?;
    if actor.node.0 == called { Ok(actor) } else { Err(Malformed::Nobody) }
}
