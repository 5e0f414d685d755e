//! Who is there, made of what gossip knows: the last run of each node, and no other.

use super::{
    facts::{self, Facts},
    health,
};
use crate::mesh::NodeId;
use std::{collections::BTreeMap, net::SocketAddr};

/// A node as its peers know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its number.
    pub node: NodeId,
    /// Which run of it; a later one has a higher number.
    pub generation: u64,
    /// Where it gossips.
    pub gossip: SocketAddr,
    /// Whether it was heard of lately. A hint: nobody is removed for it.
    pub live: bool,
    /// What it says of itself.
    pub facts: Facts,
}

/// Nodes of a mesh, this one among them; those that are gone for some minutes too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members(BTreeMap<NodeId, Member>);

/// The health that nodes say, without this one.
pub type Health = BTreeMap<NodeId, Vec<String>>;

impl Members {
    /// All of them, by their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &Member> {
        self.0.values()
    }

    /// One of them.
    pub fn get(&self, node: NodeId) -> Option<&Member> {
        self.0.get(&node)
    }

    /// Those that were heard of lately.
    pub fn live(&self) -> impl Iterator<Item = &Member> {
        self.iter().filter(|member| member.live)
    }

    /// The node that has the name of this one and began after it: a node that lost its disk comes back so.
    pub fn replaced_by(&self, node: NodeId) -> Option<NodeId> {
        let replaced = self.get(node).filter(|member| !member.facts.name.is_empty())?;
        let began = |member: &Member| (member.generation, member.node);
        self.iter()
            .filter(|member| member.facts.name == replaced.facts.name && began(member) > began(replaced))
            .max_by_key(|member| began(member))
            .map(|member| member.node)
    }
}

impl FromIterator<Member> for Members {
    fn from_iter<I: IntoIterator<Item = Member>>(members: I) -> Self {
        let mut latest = BTreeMap::<NodeId, Member>::new();
        for member in members {
            let known = latest.get(&member.node);
            if known.is_none_or(|known| known.generation < member.generation) {
                latest.insert(member.node, member);
            }
        }
        Self(latest)
    }
}

/// One run of a node as gossip has it.
pub(super) struct Seen<'a> {
    pub(super) id: &'a str,
    pub(super) generation: u64,
    pub(super) gossip: SocketAddr,
    pub(super) live: bool,
    pub(super) values: BTreeMap<&'a str, &'a str>,
}

/// A node's number as gossip has it.
pub(super) fn id(node: NodeId) -> String {
    format!("{node:016x}")
}

/// Members and their health, of all runs that gossip knows. One that has not said all yet does not count yet.
pub(super) fn collect<'a>(runs: impl Iterator<Item = Seen<'a>>, own: NodeId) -> (Members, Health) {
    let mut said = BTreeMap::new();
    let members: Members = runs
        .filter_map(|run| {
            let node = NodeId::from_str_radix(run.id, 16).ok()?;
            let facts = facts::read(&run.values)?;
            said.insert((node, run.generation), health::read(&run.values));
            Some(Member { node, generation: run.generation, gossip: run.gossip, live: run.live, facts })
        })
        .collect();
    let health = members
        .live()
        .filter(|member| member.node != own)
        .filter_map(|member| Some((member.node, said.remove(&(member.node, member.generation))?)))
        .filter(|(_, values)| !values.is_empty())
        .collect();
    (members, health)
}
