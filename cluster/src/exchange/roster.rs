//! What is known of each peer in both directions, and whether a member of the cluster is out of reach.

use super::clock::Offset;
use crate::NodeId;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::time::Instant;
use trestle_counters::Actor;

/// Many more than a cluster has nodes.
const NODES_MAX: usize = 1_024;

/// All peers that are known.
#[derive(Debug, Default)]
pub(super) struct Roster {
    peers: BTreeMap<NodeId, Known>,
    /// Those that membership says are alive.
    live: BTreeSet<NodeId>,
    /// Those of the cluster, this node among them.
    members: BTreeSet<NodeId>,
}

/// What is known of one.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Its latest life.
    pub(super) incarnation: u64,
    /// What of that life is known here, whole.
    pub(super) received: u64,
    /// When it last told something.
    pub(super) told: Option<Instant>,
    /// It says that a member is out of its reach.
    pub(super) cut: bool,
    /// It counts no more in that life, and all that it counted is known here.
    pub(super) ended: bool,
    /// When it last answered, on the connection that is open.
    pub(super) answered: Option<Instant>,
    /// Since the connection was opened all that it knows was compared.
    pub(super) synced: bool,
    /// What it has acknowledged of this node's life.
    pub(super) acknowledged: u64,
    /// Its acknowledgement covers the end of this node's life.
    pub(super) end_acknowledged: bool,
    /// When it last had all that this node had changed.
    pub(super) even: Option<Instant>,
    pub(super) offset: Offset,
}

/// A node that says to be an earlier life than one that is known, or one too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unwanted {
    #[error("a later life of node {0} is known here, {1}: this one is over")]
    Superseded(NodeId, u64),
    #[error("more than {NODES_MAX} nodes have called")]
    TooMany,
    #[error("node {0} is this one")]
    Oneself(NodeId),
}

/// Whether all members are within reach.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Reach {
    /// A member is out of this node's own reach.
    pub(super) cut: bool,
    /// Somebody is cut off, be it this node or one that says so.
    pub(super) frozen: bool,
}

impl Roster {
    /// What is known of a node; none if it never called and was never called.
    pub(super) fn get(&self, node: NodeId) -> Option<&Known> {
        self.peers.get(&node)
    }

    pub(super) fn get_mut(&mut self, node: NodeId) -> Option<&mut Known> {
        self.peers.get_mut(&node)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (NodeId, &Known)> {
        self.peers.iter().map(|(node, known)| (*node, known))
    }

    /// A node says who it is. What is known of it from then on is of this life.
    pub(super) fn meet(&mut self, actor: Actor, own: NodeId) -> Result<&mut Known, Unwanted> {
        let node = actor.node.0;
        if node == own {
            return Err(Unwanted::Oneself(node));
        }
        if !self.peers.contains_key(&node) && self.peers.len() >= NODES_MAX {
            return Err(Unwanted::TooMany);
        }
        let known = self.peers.entry(node).or_default();
        if actor.incarnation < known.incarnation {
            return Err(Unwanted::Superseded(node, known.incarnation));
        }
        if actor.incarnation > known.incarnation {
            *known = Known { incarnation: actor.incarnation, ..Known::default() };
        }
        Ok(known)
    }

    /// Those that membership says are alive. Returns the lives that are no longer among them.
    pub(super) fn set_live(&mut self, live: BTreeSet<NodeId>) -> Vec<(NodeId, u64)> {
        let gone = self.live.difference(&live);
        let gone = gone.filter_map(|node| Some((*node, self.peers.get(node)?.incarnation))).collect();
        self.live = live;
        self.forget();
        gone
    }

    pub(super) fn set_members(&mut self, members: BTreeSet<NodeId>) {
        self.members = members;
        self.forget();
    }

    /// How many members there are.
    pub(super) fn members_len(&self) -> usize {
        self.members.len()
    }

    /// Forgets nodes that are neither alive nor members. One that calls again begins anew, and tells all.
    fn forget(&mut self) {
        let Self { peers, live, members } = self;
        peers.retain(|node, _| live.contains(node) || members.contains(node));
    }

    /// Whether all members were heard, both ways, since that long, and have compared what they know.
    ///
    /// Who hears of a peer that a member is out of that peer's reach is frozen too, as all spend of the same remainder.
    /// That goes one step and no further: a node is cut off itself, or has all members within reach, those among them
    /// that say so. So what was told on cannot keep nodes frozen in a circle.
    pub(super) fn reach(&self, own: NodeId, within: Duration, now: Instant) -> Reach {
        let recent = |at: Option<Instant>| at.is_some_and(|at| now.duration_since(at) <= within);
        let others = || self.members.iter().filter(|node| **node != own);
        let reached = |node: &NodeId| {
            self.peers.get(node).is_some_and(|known| {
                let heard = recent(known.told) && recent(known.answered) && known.synced;
                heard || known.ended && !self.live.contains(node)
            })
        };
        let cut = !others().all(reached);
        let told =
            others().filter_map(|node| self.peers.get(node)).any(|known| known.cut && recent(known.told));
        Reach { cut, frozen: cut || told }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trestle_counters as counters;

    const WITHIN: Duration = Duration::from_secs(2);

    fn actor(node: u64, incarnation: u64) -> Actor {
        Actor { node: counters::NodeId(node), incarnation }
    }

    fn heard(roster: &mut Roster, node: u64, now: Instant) {
        let known = roster.meet(actor(node, 1), 1).unwrap();
        known.told = Some(now);
        known.answered = Some(now);
        known.synced = true;
    }

    fn of_three(now: Instant) -> Roster {
        let mut roster = Roster::default();
        roster.set_members(BTreeSet::from([1, 2, 3]));
        roster.set_live(BTreeSet::from([2, 3]));
        heard(&mut roster, 2, now);
        heard(&mut roster, 3, now);
        roster
    }

    #[test]
    fn a_member_is_within_reach_if_it_was_heard_both_ways() {
        let now = Instant::now();
        let reach = |roster: &Roster, after| roster.reach(1, WITHIN, now + after);
        let cut = Reach { cut: true, frozen: true };
        assert_eq!(Roster::default().reach(1, WITHIN, now), Reach::default(), "alone");
        let mut roster = of_three(now);
        assert_eq!(reach(&roster, WITHIN), Reach::default());
        assert_eq!(reach(&roster, WITHIN + Duration::from_millis(1)), cut);
        roster.get_mut(3).unwrap().synced = false;
        assert_eq!(reach(&roster, WITHIN), cut, "what it knows was not compared yet");
        let mut roster = of_three(now);
        roster.get_mut(3).unwrap().answered = None;
        assert_eq!(reach(&roster, WITHIN), cut);
        roster.set_members(BTreeSet::from([1, 2]));
        assert_eq!(reach(&roster, WITHIN), Reach::default(), "it was removed");
        roster.set_members(BTreeSet::from([1, 2, 4]));
        assert_eq!(reach(&roster, WITHIN), cut, "a member that nobody has seen");
    }

    #[test]
    fn who_hears_of_a_cut_is_frozen_and_tells_it_no_further() {
        let now = Instant::now();
        let mut roster = of_three(now);
        roster.get_mut(2).unwrap().cut = true;
        assert_eq!(roster.reach(1, WITHIN, now), Reach { cut: false, frozen: true });
    }

    #[test]
    fn who_said_that_it_ends_is_not_missed_until_it_lives_again() {
        let now = Instant::now();
        let later = now + WITHIN * 2;
        let mut roster = of_three(now);
        roster.get_mut(3).unwrap().ended = true;
        heard(&mut roster, 2, later);
        assert!(roster.reach(1, WITHIN, later).cut, "it is said to be alive");
        assert_eq!(roster.set_live(BTreeSet::from([2])), [(3, 1)]);
        assert_eq!(roster.reach(1, WITHIN, later), Reach::default());
        roster.meet(actor(3, 2), 1).unwrap();
        assert!(roster.reach(1, WITHIN, later).cut, "another life has not been compared");
    }

    #[test]
    fn a_life_that_is_over_is_refused() {
        let mut roster = Roster::default();
        roster.set_live(BTreeSet::from([2]));
        roster.meet(actor(2, 5), 1).unwrap().received = 7;
        assert_eq!(roster.meet(actor(2, 5), 1).unwrap().received, 7);
        assert_eq!(roster.meet(actor(2, 4), 1).unwrap_err(), Unwanted::Superseded(2, 5));
        assert_eq!(roster.meet(actor(2, 6), 1).unwrap().received, 0);
        assert_eq!(roster.meet(actor(1, 6), 1).unwrap_err(), Unwanted::Oneself(1));
        for node in 10..10 + NODES_MAX as u64 - 1 {
            roster.meet(actor(node, 1), 1).unwrap();
        }
        assert_eq!(roster.meet(actor(9, 1), 1).unwrap_err(), Unwanted::TooMany);
        roster.set_live(BTreeSet::from([2]));
        assert_eq!((roster.iter().count(), roster.get(2).map(|known| known.incarnation)), (1, Some(6)));
    }
}
