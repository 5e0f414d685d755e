//! The cluster as nodes see it.

use std::net::SocketAddr;

use serde_json::Value;

use super::ask::look;

/// More do not vote.
const VOTERS_MAX: usize = 7;

/// What one node says of all.
#[derive(Debug)]
pub(super) struct Seen(Value);

impl Seen {
    /// Asks a node.
    pub(super) fn by(address: SocketAddr) -> anyhow::Result<Self> {
        Ok(Self(look(address, "/api/cluster")?))
    }

    fn members(&self) -> impl Iterator<Item = &Value> {
        self.0["members"].as_array().into_iter().flatten()
    }

    /// Who leads.
    pub(super) fn leader(&self) -> Option<usize> {
        let leader = self.members().find(|member| member["leads"] == true)?;
        leader["name"].as_str()?.strip_prefix("node-")?.parse().ok()
    }

    /// Whether a node was heard of lately.
    pub(super) fn is_live(&self, node: usize) -> bool {
        let name = format!("node-{node}");
        self.members().any(|member| member["name"] == *name && member["live"] == true)
    }

    /// Whether there are so many members, of which as many vote as may: the largest odd number, at most seven.
    pub(super) fn is_complete(&self, nodes: usize) -> bool {
        let voters = self.members().filter(|member| member["votes"] == true).count();
        self.members().count() == nodes && voters == (nodes - 1 + nodes % 2).min(VOTERS_MAX)
    }
}
