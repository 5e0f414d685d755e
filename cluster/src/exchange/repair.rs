//! Compares what two nodes know, and swaps what differs.

use super::{
    counts::add,
    service::answering,
    shared::Shared,
    wire::{self, MESSAGE_BYTES_MAX, Malformed, PAGE_CELLS_MAX},
};
use crate::{NodeId, Peer};
use std::time::Duration;
use tokio::time::timeout;
use tonic::Status;
use trestle_counters::{BUCKETS, CellId};
use trestle_proto::{
    counters::{
        Compare, RepairAnswer, RepairQuestion, Swap, counters_client::CountersClient,
        repair_question::Question,
    },
    prost::Message,
};

/// For one question.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Cells that one comparison of many asks for. Under much traffic all buckets differ by what is on its way, and without a
/// bound all cells would travel each time.
const CELLS_MAX: usize = 100_000;

/// How much of what differs is swapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All: after a connection was opened.
    All,
    /// What differs in some buckets, others each time.
    Some,
}

/// Why a comparison came to no end.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failed {
    #[error(transparent)]
    Status(#[from] Status),
    #[error("no answer within {ANSWER_WITHIN:?}")]
    Silent,
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error("there is said to be more, but nothing of it comes")]
    Endless,
}

/// Compares with a peer, and swaps what differs.
pub(super) async fn repair(
    shared: &Shared,
    (node, address): (NodeId, &str),
    extent: Extent,
) -> Result<(), Failed> {
    let result = compare_and_swap(shared, (node, address), extent).await;
    add(if result.is_ok() { &shared.tally.repairs } else { &shared.tally.repairs_failed }, 1);
    result
}

async fn compare_and_swap(
    shared: &Shared,
    (node, address): (NodeId, &str),
    extent: Extent,
) -> Result<(), Failed> {
    let mut asking = Asking::new(shared, node, address);
    let compare = Compare { hashes: shared.cells.hashes().to_vec() };
    let differ = asking.ask(Question::Compare(compare)).await?.differ;
    add(&shared.tally.buckets_differed, differ.len());
    if differ.is_empty() {
        return Ok(());
    }
    let buckets = match extent {
        Extent::All => differ.to_vec(),
        Extent::Some => some_of(shared, &differ),
    };
    asking.swap(&buckets, true).await?;
    Ok(())
}

/// From a peer all that it knows. Returns how many cells came.
pub(super) async fn pull(shared: &Shared, node: NodeId, address: &str) -> Result<usize, Failed> {
    let every: Vec<u8> = (0..=u8::MAX).collect();
    Asking::new(shared, node, address).swap(&every, false).await
}

/// Buckets from some place on, in a circle, that have no more cells here than one comparison may ask for; one at least.
fn some_of(shared: &Shared, differ: &[u8]) -> Vec<u8> {
    // As many in each, since they are filled by hashes.
    let cells = shared.cells.cells_len() / BUCKETS + 1;
    let most = (CELLS_MAX / cells).max(1).min(differ.len());
    let first = (shared.random() % differ.len() as u64) as usize;
    let mut some: Vec<u8> = differ.iter().cycle().skip(first).take(most).copied().collect();
    some.sort_unstable();
    some
}

/// Asks one peer.
struct Asking<'a> {
    shared: &'a Shared,
    node: NodeId,
    client: CountersClient<Peer>,
}

impl<'a> Asking<'a> {
    fn new(shared: &'a Shared, node: NodeId, address: &str) -> Self {
        let client = CountersClient::new(shared.channels.to(node, address));
        let client =
            client.max_decoding_message_size(MESSAGE_BYTES_MAX).max_encoding_message_size(MESSAGE_BYTES_MAX);
        Self { shared, node, client }
    }

    async fn ask(&mut self, question: Question) -> Result<RepairAnswer, Failed> {
        let cells = match &question {
            Question::Swap(swap) => swap.cells.len(),
            Question::Compare(_) => 0,
        };
        let caller = Some(wire::to_actor(self.shared.cells.own()));
        let question = RepairQuestion { caller, question: Some(question) };
        self.shared.tally.sent(question.encoded_len(), cells);
        let answer = timeout(ANSWER_WITHIN, self.client.repair(question)).await;
        let answer = answer.map_err(|_| Failed::Silent)??.into_inner();
        answering(answer.answering.as_ref(), self.node)?;
        self.shared.tally.received(answer.encoded_len(), answer.cells.len());
        Ok(answer)
    }

    /// Takes all cells of these buckets page by page, and gives all of this node's if it is to give. Returns how many were
    /// taken. Ends: each page is behind the one before, and buckets do not grow without bound.
    async fn swap(&mut self, buckets: &[u8], gives: bool) -> Result<usize, Failed> {
        let (mut taken, mut given_after, mut taken_after) = (0, None::<CellId>, None);
        let (mut giving, mut taking) = (gives, true);
        while giving || taking {
            let mut cells = Vec::new();
            if giving {
                let page = self.shared.cells.page(buckets, given_after, PAGE_CELLS_MAX);
                given_after = page.cells.last().map(|cell| cell.id).or(given_after);
                giving = page.more;
                cells = wire::to_cells(&page.cells);
            }
            let asked = if taking { buckets.to_vec() } else { Vec::new() };
            let swap = Swap { buckets: asked.into(), after: taken_after.take(), cells };
            let answer = self.ask(Question::Swap(swap)).await?;
            self.shared.take(&wire::from_cells(&answer.cells)?);
            taken += answer.cells.len();
            if taking && answer.more && answer.cells.is_empty() {
                return Err(Failed::Endless);
            }
            taking = taking && answer.more;
            taken_after = answer.cells.last().copied();
        }
        Ok(taken)
    }
}
