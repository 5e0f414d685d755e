//! Which peer has the copy of a segment: decided here, without asking anybody.

use std::collections::{BTreeMap, BTreeSet};
use tokio::time::{Duration, Instant};
use trestle_cluster::NodeId;
use trestle_store::{Copied, Copyable, Name};

/// After a peer had no room for a segment it is asked again.
const REFUSED: Duration = Duration::from_secs(60);

/// Where the copy of a segment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) node: NodeId,
    /// As much as there is of it.
    pub(super) bytes: u64,
    /// It is whole.
    pub(super) is_sealed: bool,
    /// There was no room then.
    refused: Option<Instant>,
}

/// Where the copies of all segments of this node are.
pub(super) struct Places {
    own: NodeId,
    placed: BTreeMap<Name, Placed>,
}

/// Who may have copies.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Members, whether they are there or not.
    pub(super) members: BTreeSet<NodeId>,
    /// Those who are there and have said what they hold.
    pub(super) known: BTreeSet<NodeId>,
    /// All have said so, or have been waited for.
    pub(super) is_settled: bool,
}

impl Places {
    pub(super) fn new(own: NodeId) -> Self {
        Self { own, placed: BTreeMap::new() }
    }

    /// Takes what a peer says that it holds: of several copies the largest is gone on with.
    pub(super) fn learn(&mut self, node: NodeId, held: impl IntoIterator<Item = Copied>) {
        for Copied { name, bytes, is_sealed } in held {
            let known = self.placed.get(&name);
            if known.is_none_or(|known| (known.is_sealed, known.bytes) < (is_sealed, bytes)) {
                self.placed.insert(name, Placed { node, bytes, is_sealed, refused: None });
            }
        }
    }

    /// Forgets segments that are gone here.
    pub(super) fn retain(&mut self, there: &[Copyable]) {
        let names: BTreeSet<_> = there.iter().map(|copyable| copyable.name).collect();
        self.placed.retain(|name, _| names.contains(name));
    }

    /// To whom a segment is copied now, and from which byte on; `None` if nothing is to be done or nobody is there.
    pub(super) fn next(&mut self, of: &Copyable, among: &Candidates, now: Instant) -> Option<(NodeId, u64)> {
        if let Some(placed) = self.placed.get(&of.name).filter(|placed| among.members.contains(&placed.node))
        {
            if placed.is_sealed || (placed.bytes >= of.bytes && !of.is_sealed) {
                return None;
            }
            if among.known.contains(&placed.node) {
                let waits = placed.refused.is_some_and(|at| now.duration_since(at) < REFUSED);
                return (!waits).then_some((placed.node, placed.bytes));
            }
        }
        // Whoever has it already may just not have said so.
        if of.is_sealed && !among.is_settled {
            return None;
        }
        let node = choose(self.own, of.name.sequence, &among.known)?;
        self.placed.insert(of.name, Placed { node, bytes: 0, is_sealed: false, refused: None });
        Some((node, 0))
    }

    /// What a peer has of a segment now.
    pub(super) fn copied(&mut self, node: NodeId, Copied { name, bytes, is_sealed }: Copied) {
        self.placed.insert(name, Placed { node, bytes, is_sealed, refused: None });
    }

    /// A peer has no room for a segment.
    pub(super) fn refused(&mut self, name: Name, now: Instant) {
        if let Some(placed) = self.placed.get_mut(&name) {
            placed.refused = Some(now);
        }
    }

    /// Bytes that nobody else has.
    pub(super) fn behind(&self, there: &[Copyable], members: &BTreeSet<NodeId>) -> u64 {
        let has = |of: &Copyable| {
            let placed = self.placed.get(&of.name).filter(|placed| members.contains(&placed.node));
            placed.map_or(0, |placed| placed.bytes)
        };
        there.iter().map(|of| of.bytes.saturating_sub(has(of))).sum()
    }
}

/// One of the candidates, by chance that is the same each time: another one that comes or goes moves no more segments than
/// need be (rendezvous hashing).
fn choose(own: NodeId, sequence: u64, among: &BTreeSet<NodeId>) -> Option<NodeId> {
    among.iter().copied().max_by_key(|node| mix(mix(own ^ mix(sequence)) ^ node))
}

/// The finalizer of splitmix64: each bit of the number moves all bits.
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(sequence: u64, bytes: u64, is_sealed: bool) -> Copyable {
        Copyable { name: Name { sequence, thread: 0 }, bytes, is_sealed }
    }

    fn among(members: &[NodeId], known: &[NodeId]) -> Candidates {
        let set = |nodes: &[NodeId]| nodes.iter().copied().collect();
        Candidates { members: set(members), known: set(known), is_settled: true }
    }

    fn copied(of: Copyable, bytes: u64) -> Copied {
        Copied { name: of.name, bytes, is_sealed: of.is_sealed && bytes == of.bytes }
    }

    #[test]
    fn segments_are_spread_and_few_move() {
        let three = [11, 22, 33].into();
        let two = [11, 33].into();
        let mut counts = BTreeMap::<_, u32>::new();
        for sequence in 0..300 {
            let chosen = choose(7, sequence, &three).unwrap();
            *counts.entry(chosen).or_default() += 1;
            if chosen != 22 {
                assert_eq!(choose(7, sequence, &two), Some(chosen));
            }
        }
        assert!(counts.len() == 3 && counts.values().all(|count| *count > 60), "{counts:?}");
        assert_eq!(choose(7, 1, &BTreeSet::new()), None);
    }

    #[test]
    fn a_copy_stays_where_it_is_while_that_peer_is_there() {
        let (mut places, now) = (Places::new(1), Instant::now());
        let live = segment(5, 20_000, false);
        let (node, from) = places.next(&live, &among(&[2, 3], &[2, 3]), now).unwrap();
        assert_eq!(from, 0);
        places.copied(node, copied(live, 20_000));
        assert_eq!(places.next(&live, &among(&[2, 3], &[2, 3]), now), None);
        let other = 5 - node;
        let more = Copyable { bytes: 30_000, ..live };
        assert_eq!(places.next(&more, &among(&[2, 3, 4], &[2, 3, 4]), now), Some((node, 20_000)));
        // It is away: another one has it from the begin.
        assert_eq!(places.next(&more, &among(&[2, 3], &[other]), now), Some((other, 0)));
        assert_eq!(places.behind(&[more], &[2, 3].into()), 30_000);
        places.copied(other, copied(more, 30_000));
        assert_eq!(places.behind(&[more], &[2, 3].into()), 0);
        // Back, with less.
        places.learn(node, [copied(live, 20_000)]);
        let sealed = Copyable { bytes: 30_000, is_sealed: true, ..live };
        assert_eq!(places.next(&sealed, &among(&[2, 3], &[2, 3]), now), Some((other, 30_000)));
        places.copied(other, copied(sealed, 30_000));
        // A whole copy is as good while its holder is away, and none once it is no member.
        assert_eq!(places.next(&sealed, &among(&[2, 3], &[node]), now), None);
        assert_eq!(places.next(&sealed, &among(&[node], &[node]), now), Some((node, 0)));
        assert_eq!(places.behind(&[sealed], &[node].into()), 30_000);
    }

    #[test]
    fn what_is_sealed_waits_for_those_who_may_have_it_and_for_room() {
        let (mut places, now) = (Places::new(1), Instant::now());
        let sealed = segment(5, 20_000, true);
        let early = Candidates { is_settled: false, ..among(&[2, 3], &[2]) };
        assert_eq!(places.next(&sealed, &early, now), None);
        places.learn(3, [copied(sealed, 10_000)]);
        assert_eq!(places.next(&sealed, &among(&[2, 3], &[2, 3]), now), Some((3, 10_000)));
        places.refused(sealed.name, now);
        assert_eq!(places.next(&sealed, &among(&[2, 3], &[2, 3]), now), None);
        let later = now + REFUSED;
        assert_eq!(places.next(&sealed, &among(&[2, 3], &[2, 3]), later), Some((3, 10_000)));
        places.retain(&[]);
        assert_eq!(places.behind(&[sealed], &[2, 3].into()), 20_000);
    }
}
