//! Answers for a node that is away, from copies of its ledger that others have: each segment from one of them.

use super::{answer::Answers, keep::held_by, wire::MESSAGE_BYTES_MAX};
use futures_util::future::join_all;
use std::{collections::BTreeMap, time::Duration};
use tokio::time::timeout;
use trestle_cluster::{Channels, NodeId, Other, Peer};
use trestle_proto::{
    copies::{NodesQuestion, copies_client::CopiesClient},
    queries::OfCopy,
    tonic::Status,
};
use trestle_store::Copied;

/// For each of the two questions.
const DEADLINE: Duration = Duration::from_secs(3);

/// Who has copies.
#[derive(Clone, Copy)]
pub(super) enum Holder<'a> {
    /// This node.
    Own,
    /// Another one.
    Peer(&'a Other),
}

/// Copies of one node, and who tells of which.
pub(super) struct StandIn<'a> {
    /// Of whom.
    pub(super) node: NodeId,
    /// Each segment is asked for once.
    pub(super) shares: Vec<(Holder<'a>, OfCopy)>,
    /// All who may have copies said what they have.
    pub(super) is_whole: bool,
}

/// Where holders are found.
pub(super) struct Holders<'a> {
    pub(super) answers: &'a Answers,
    pub(super) channels: &'a Channels,
    /// Other members that answer.
    pub(super) there: Vec<&'a Other>,
}

impl<'a> Holders<'a> {
    /// Finds copies of these nodes; nothing is said of those of whom there are none.
    pub(super) async fn find(&self, wanted: &[NodeId]) -> Vec<StandIn<'a>> {
        if wanted.is_empty() {
            return Vec::new();
        }
        let mut have: Vec<(Holder<'a>, Vec<NodeId>)> = Vec::new();
        have.extend(self.answers.copies.as_ref().map(|copies| (Holder::Own, copies.nodes())));
        let asking = self.there.iter().map(|other| async {
            let mut client = self.client(other);
            timeout(DEADLINE, client.nodes(NodesQuestion {})).await.ok()?.ok()
        });
        let mut all_said = true;
        for (other, answer) in self.there.iter().zip(join_all(asking).await) {
            match answer {
                Some(answer) => have.push((Holder::Peer(other), answer.into_inner().nodes)),
                None => all_said = false,
            }
        }
        let mut found = Vec::new();
        for node in wanted {
            let holders: Vec<_> =
                have.iter().filter(|(_, nodes)| nodes.contains(node)).map(|(holder, _)| *holder).collect();
            if !holders.is_empty() {
                found.push(self.share(*node, holders, all_said).await);
            }
        }
        found
    }

    async fn share(&self, node: NodeId, holders: Vec<Holder<'a>>, mut is_whole: bool) -> StandIn<'a> {
        let held = join_all(holders.iter().map(|holder| self.held(*holder, node))).await;
        is_whole &= held.iter().all(Result::is_ok);
        let shares = divide(held.into_iter().map(Result::unwrap_or_default).collect());
        let shares = holders.into_iter().zip(shares).filter(|(_, sequences)| !sequences.is_empty());
        let shares = shares.map(|(holder, sequences)| (holder, OfCopy { node, sequences }));
        StandIn { node, shares: shares.collect(), is_whole }
    }

    async fn held(&self, holder: Holder<'a>, node: NodeId) -> Result<Vec<Copied>, Status> {
        match holder {
            Holder::Own => {
                Ok(self.answers.copies.as_ref().map(|copies| copies.held(node)).unwrap_or_default())
            }
            Holder::Peer(other) => {
                let late = |_| Err(Status::deadline_exceeded("no answer"));
                timeout(DEADLINE, held_by(self.client(other), node)).await.unwrap_or_else(late)
            }
        }
    }

    fn client(&self, other: &Other) -> CopiesClient<Peer> {
        CopiesClient::new(self.channels.to(other.node, &other.address))
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX)
    }
}

/// Which segments each holder tells of: each one is told of by the holder that has most of it, the first of several.
fn divide(held: Vec<Vec<Copied>>) -> Vec<Vec<u64>> {
    let mut best: BTreeMap<u64, (u64, usize)> = BTreeMap::new();
    for (at, copied) in
        held.iter().enumerate().flat_map(|(at, held)| held.iter().map(move |copied| (at, copied)))
    {
        let known = best.entry(copied.name.sequence).or_insert((copied.bytes, at));
        if known.0 < copied.bytes {
            *known = (copied.bytes, at);
        }
    }
    let mut shares = vec![Vec::new(); held.len()];
    for (sequence, (_, at)) in best {
        shares[at].push(sequence);
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use trestle_store::Name;

    #[test]
    fn each_segment_is_told_of_once() {
        let held = |segments: &[(u64, u64)]| {
            let of = |(sequence, bytes): &(u64, u64)| Copied {
                name: Name { sequence: *sequence, thread: 1 },
                bytes: *bytes,
                is_sealed: false,
            };
            segments.iter().map(of).collect::<Vec<_>>()
        };
        let shares =
            divide(vec![held(&[(1, 10), (2, 5), (4, 7)]), held(&[(2, 6), (3, 9), (4, 7)]), held(&[])]);
        assert_eq!(shares, [vec![1, 4], vec![2, 3], vec![]]);
    }
}
