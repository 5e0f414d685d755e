//! Who should be a member, and who should vote: decided by the leader from what it sees of the nodes, one change at a time. A
//! pure function; `members` carries out what it says.
//!
//! Silence removes nobody, and takes no vote from anybody: a node goes by command, or because another one has come with its
//! name. The number of voters is always odd but between two changes: with an even one, one more could not fail.

use super::{
    types::{Node, NodeId},
    version::Mismatch,
};
use crate::{membership::Member, mesh::ClusterId};
use std::collections::{BTreeMap, BTreeSet};

/// More voters would only make each change slower.
const VOTERS_MAX: usize = 7;
/// A cluster has at most so many nodes.
const NODES_MAX: usize = 32;
/// A node that has all but so many entries has caught up: it will have these in a moment.
const LAG_MAX: u64 = 50;

/// How many of so many nodes vote: the largest odd number, at most 7.
pub(super) fn voters_wanted(nodes: usize) -> usize {
    let odd = if nodes.is_multiple_of(2) { nodes.saturating_sub(1) } else { nodes };
    odd.clamp(1, VOTERS_MAX)
}

/// What is seen of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Its number.
    pub(super) node: NodeId,
    /// Grows with each start of it.
    pub(super) generation: u64,
    /// Heard of lately.
    pub(super) live: bool,
    /// About to stop: not given a vote.
    pub(super) leaving: bool,
    /// Its stable name, if it has one.
    pub(super) name: String,
    /// Where others reach it.
    pub(super) address: String,
    /// The cluster that it is of, if it is of one.
    pub(super) cluster: Option<ClusterId>,
    /// The version of the cluster up to which it can.
    pub(super) version: u32,
}

impl From<&Member> for Seen {
    fn from(member: &Member) -> Self {
        let Member { node, generation, live, facts, .. } = member;
        Self {
            node: *node,
            generation: *generation,
            live: *live,
            leaving: facts.leaving,
            name: facts.name.clone(),
            address: facts.address.clone(),
            cluster: facts.cluster,
            version: facts.version,
        }
    }
}

/// What the leader knows.
#[derive(Debug, Clone, Default)]
pub(super) struct Situation {
    pub(super) leader: NodeId,
    pub(super) cluster: Option<ClusterId>,
    /// More than one while a change of voters is half done; the last one is what they become.
    pub(super) voters: Vec<BTreeSet<NodeId>>,
    /// All members.
    pub(super) nodes: BTreeMap<NodeId, Node>,
    /// How far the log of each is known to be the leader's.
    pub(super) matched: BTreeMap<NodeId, u64>,
    pub(super) last_log: u64,
    /// Of the cluster.
    pub(super) version: u32,
    /// Nodes that went for good.
    pub(super) retired: BTreeSet<NodeId>,
    pub(super) seen: Vec<Seen>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// A change of voters was half done: finish it.
    Settle(BTreeSet<NodeId>),
    /// A node takes the place of another one, which goes for good.
    Replace { old: NodeId, new: NodeId },
    /// A member goes for good.
    Remove(NodeId),
    /// A member is elsewhere now, or has another name.
    Move(NodeId, Node),
    /// A node becomes a member without a vote.
    Learn(NodeId, Node),
    /// Members get votes.
    Promote(BTreeSet<NodeId>),
    /// Members have no votes any more.
    Demote(BTreeSet<NodeId>),
}

/// The next change, if there is something to change.
pub(super) fn decide(situation: &Situation) -> Option<Step> {
    let voters = situation.voters.last()?;
    if situation.voters.len() > 1 {
        return Some(Step::Settle(voters.clone()));
    }
    situation
        .replace()
        .or_else(|| situation.remove())
        .or_else(|| situation.relocate())
        .or_else(|| situation.learn())
        .or_else(|| situation.promote(voters))
        .or_else(|| situation.demote(voters))
}

impl Situation {
    fn live(&self, node: NodeId) -> Option<&Seen> {
        self.seen.iter().find(|seen| seen.node == node && seen.live)
    }

    fn caught_up(&self, node: NodeId) -> bool {
        self.matched.get(&node).is_some_and(|matched| matched + LAG_MAX >= self.last_log)
    }

    /// Whether a node that is there now has come with the name of another one after that.
    fn supersedes(&self, new: &Seen, old: NodeId) -> bool {
        let later = self.live(old).is_none_or(|old| old.generation < new.generation);
        let may = self.is_of_this(new) && !self.retired.contains(&new.node);
        new.live && new.node != old && later && may
    }

    fn superseded(&self, seen: &Seen) -> bool {
        let named = |other: &&Seen| !other.name.is_empty() && other.name == seen.name;
        self.seen.iter().filter(named).any(|other| self.supersedes(other, seen.node))
    }

    fn replace(&self) -> Option<Step> {
        let news =
            self.seen.iter().filter(|seen| self.nodes.contains_key(&seen.node) && !seen.name.is_empty());
        news.filter(|new| self.caught_up(new.node)).find_map(|new| {
            let named = |(old, at): &(&NodeId, &Node)| at.name == new.name && self.supersedes(new, **old);
            // A leader does not replace itself: another one will.
            let mut olds = self.nodes.iter().filter(|(old, _)| **old != self.leader);
            let (old, _) = olds.find(named)?;
            Some(Step::Replace { old: *old, new: new.node })
        })
    }

    fn remove(&self) -> Option<Step> {
        let retired = || self.nodes.keys().filter(|node| self.retired.contains(node));
        // The leader last.
        let node = retired().find(|node| **node != self.leader).or_else(|| retired().next())?;
        Some(Step::Remove(*node))
    }

    fn relocate(&self) -> Option<Step> {
        let moved = self.seen.iter().filter(|seen| seen.live && !seen.address.is_empty());
        moved.filter(|seen| self.is_of_this(seen)).find_map(|seen| {
            let known = self.nodes.get(&seen.node)?;
            let name = if seen.name.is_empty() { &known.name } else { &seen.name };
            let now = Node { address: seen.address.clone(), name: name.clone() };
            (now != *known).then_some(Step::Move(seen.node, now))
        })
    }

    fn is_of_this(&self, seen: &Seen) -> bool {
        seen.cluster.is_none() || seen.cluster == self.cluster
    }

    /// How many nodes are there of a cluster.
    fn size(&self, cluster: ClusterId) -> usize {
        self.seen.iter().filter(|seen| seen.live && seen.cluster == Some(cluster)).count()
    }

    /// Whether another cluster that is not smaller gossips with the same secret, which is a mistake of somebody: a new node could
    /// be meant for either, and a cluster that strays in must take none from the one whose nodes they are.
    pub(super) fn is_contested(&self) -> bool {
        let own = self.cluster.map_or(0, |cluster| self.size(cluster));
        let others = self.seen.iter().filter(|seen| seen.live && !self.is_of_this(seen));
        others.filter_map(|seen| seen.cluster).any(|other| self.size(other) >= own)
    }

    fn learn(&self) -> Option<Step> {
        if self.nodes.len() >= NODES_MAX {
            return None;
        }
        let contested = self.is_contested();
        let new = self.seen.iter().find(|seen| {
            if contested && seen.cluster.is_none() {
                return false;
            }
            let able = seen.live && !seen.leaving && !seen.address.is_empty() && self.is_of_this(seen);
            let gone = self.retired.contains(&seen.node) || self.superseded(seen);
            let fits = Mismatch::of(seen.version, self.version).is_ok();
            able && fits && !gone && !self.nodes.contains_key(&seen.node)
        })?;
        Some(Step::Learn(new.node, Node { address: new.address.clone(), name: new.name.clone() }))
    }

    fn promote(&self, voters: &BTreeSet<NodeId>) -> Option<Step> {
        let missing = voters_wanted(self.nodes.len()).checked_sub(voters.len())?;
        let able = |node: &&NodeId| {
            let seen = self.live(**node);
            self.caught_up(**node) && seen.is_some_and(|seen| !seen.leaving && !self.superseded(seen))
        };
        let learners = self.nodes.keys().filter(|node| !voters.contains(node));
        let mut ready: Vec<_> = learners.filter(able).copied().take(missing).collect();
        if (voters.len() + ready.len()).is_multiple_of(2) {
            ready.pop();
        }
        (!ready.is_empty()).then(|| Step::Promote(ready.into_iter().collect()))
    }

    fn demote(&self, voters: &BTreeSet<NodeId>) -> Option<Step> {
        let over = voters.len().checked_sub(voters_wanted(self.nodes.len())).filter(|over| *over > 0)?;
        let mut others: Vec<_> = voters.iter().copied().filter(|node| *node != self.leader).collect();
        // Those first that are not there, then those that have come last by their number.
        others.sort_by_key(|node| (self.live(*node).is_some(), std::cmp::Reverse(*node)));
        Some(Step::Demote(others.into_iter().take(over).collect()))
    }
}

#[cfg(test)]
mod tests;
