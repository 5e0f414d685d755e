//! One loss each: a node is killed, told to end, loses its disk, is cut off or stands still, and comes back.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use rustix::process::Signal;
use serde::Serialize;

use super::ask::{admin, chat};
use super::limit::{Overshoot, Sight, exhaust};
use super::load::Load;
use super::nodes::{Nodes, until};
use super::place::{Link, Place};
use super::writes::Writes;

/// Between two rounds, and how long a node stays away at least.
const AWAY: Duration = Duration::from_secs(2);
/// Answers and writes that show that all goes on.
const ANSWERS: u64 = 500;
const WRITES: usize = 10;

/// How a node is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Loss {
    /// `SIGKILL`.
    Killed,
    /// `SIGTERM`.
    ToldToEnd,
    /// `SIGKILL`, and its data are deleted.
    Wiped,
    /// The others do not reach it; clients do.
    CutOff,
    /// `SIGSTOP`.
    Frozen,
}

/// What a round has shown.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Round {
    pub(super) loss: Loss,
    pub(super) node: usize,
    pub(super) led: bool,
    pub(super) failed_there: u64,
    pub(super) failed_elsewhere: u64,
    /// Until another one led, as all others see it, if this one did.
    pub(super) leader_ms: Option<u64>,
    /// Until all others saw it dead.
    pub(super) dead_ms: Option<u64>,
    /// Until a key was refused by all others once its removal was acknowledged.
    pub(super) revoked_ms: u64,
    /// Until it had all again.
    pub(super) back_ms: u64,
    pub(super) acknowledged: usize,
    pub(super) unready_max: usize,
    /// Of the limit, while the node was cut off.
    pub(super) overshoot: Option<Overshoot>,
    /// How long a node that was cut off took to refuse a change.
    pub(super) refused_ms: Option<u64>,
}

/// What goes on while nodes are lost.
pub(super) struct Stage {
    pub(super) nodes: Nodes,
    pub(super) load: Load,
    pub(super) writes: Writes,
}

impl Stage {
    /// Loses a node and has it back. `number` is of the round.
    pub(super) fn round(&mut self, loss: Loss, node: usize, number: usize) -> anyhow::Result<Round> {
        let (before, written) = (self.load.counts(), self.writes.acknowledged());
        let led = self.nodes.leader()? == node;
        eprintln!("round {number}: node {node}{} {loss:?}", if led { ", the leader," } else { "" });
        self.lose(loss, node)?;
        let begun = Instant::now();
        let others: Vec<_> = (0..self.nodes.size).filter(|other| *other != node).collect();
        // A leader that ends by itself hands over before it ends.
        let (leader_ms, dead_ms) = self.noticed(&others, node, (led, loss != Loss::ToldToEnd), begun)?;
        let revoked_ms = self.revoke(&others, number)?;
        let cut = (loss == Loss::CutOff).then(|| self.while_cut(node, number)).transpose()?;
        self.load.goes_on(ANSWERS)?;
        self.writes.go_on(WRITES)?;
        std::thread::sleep(AWAY.saturating_sub(begun.elapsed()));
        let back = Instant::now();
        let unready_max = self.back(loss, node)?;
        self.is_level(node)?;
        let back_ms = ms(back.elapsed());
        self.load.goes_on(ANSWERS)?;
        self.writes.go_on(WRITES)?;
        let after = self.load.counts();
        let (refused_ms, overshoot) = cut.unzip();
        Ok(Round {
            loss,
            node,
            led,
            failed_there: after.on_victim - before.on_victim,
            failed_elsewhere: after.elsewhere - before.elsewhere,
            leader_ms,
            dead_ms,
            revoked_ms,
            back_ms,
            acknowledged: self.writes.acknowledged() - written,
            unready_max,
            overshoot,
            refused_ms,
        })
    }

    fn lose(&mut self, loss: Loss, node: usize) -> anyhow::Result<()> {
        match loss {
            Loss::Killed | Loss::Wiped => {
                self.nodes.end(node, Signal::KILL)?;
                self.nodes.gone(node)
            }
            // It is waited for once another one leads.
            Loss::ToldToEnd => self.nodes.end(node, Signal::TERM),
            Loss::Frozen => self.nodes.end(node, Signal::STOP),
            Loss::CutOff => {
                self.writes.avoid(Some(node));
                self.nodes.place.link(node, self.nodes.size, Link::Cut)
            }
        }
    }

    /// Has it back; the most nodes that were not ready at once meanwhile.
    fn back(&mut self, loss: Loss, node: usize) -> anyhow::Result<usize> {
        match loss {
            Loss::Killed | Loss::ToldToEnd | Loss::Wiped => {
                if loss == Loss::ToldToEnd {
                    self.nodes.gone(node)?;
                }
                if loss == Loss::Wiped {
                    self.nodes.wipe(node)?;
                }
                self.nodes.spawn(node)?;
                let addresses: Vec<_> = (0..self.nodes.size).map(|node| self.nodes.http(node)).collect();
                let mut most = 0;
                until("it to be ready", || {
                    let ready: Vec<_> =
                        addresses.iter().map(|at| super::ask::revision(*at).is_some()).collect();
                    most = most.max(ready.iter().filter(|ready| !**ready).count());
                    ready.get(node).copied()?.then_some(())
                })?;
                self.nodes.is_ready(node)?;
                Ok(most)
            }
            Loss::Frozen => {
                self.nodes.thaw(node)?;
                Ok(0)
            }
            Loss::CutOff => {
                self.nodes.place.link(node, self.nodes.size, Link::Whole)?;
                self.is_level(node)?;
                self.writes.avoid(None);
                Ok(0)
            }
        }
    }

    /// When all others had another leader, and when all saw the node dead, as far as that is waited for: each at its own time.
    fn noticed(
        &self,
        others: &[usize],
        node: usize,
        (led, dies): (bool, bool),
        begun: Instant,
    ) -> anyhow::Result<(Option<u64>, Option<u64>)> {
        let (mut leader_ms, mut dead_ms) = (None, None);
        until("another leader, and all to see the node dead", || {
            let seen: Vec<_> = others.iter().map(|other| self.nodes.seen(*other).ok()).collect();
            let leaders: Vec<_> = seen.iter().map(|seen| seen.as_ref()?.leader()).collect();
            let first = leaders.first().copied().flatten();
            if first.is_some_and(|first| first != node) && leaders.iter().all(|leader| *leader == first) {
                leader_ms.get_or_insert_with(|| ms(begun.elapsed()));
            }
            if seen.iter().all(|seen| seen.as_ref().is_some_and(|seen| !seen.is_live(node))) {
                dead_ms.get_or_insert_with(|| ms(begun.elapsed()));
            }
            ((!led || leader_ms.is_some()) && (!dies || dead_ms.is_some())).then_some(())
        })?;
        Ok((leader_ms.filter(|_| led), dead_ms.filter(|_| dies)))
    }

    /// A key is removed by one node; how long others take it still.
    fn revoke(&self, others: &[usize], number: usize) -> anyhow::Result<u64> {
        let (by, rest) = others.split_first().context("there are no other nodes")?;
        let key = format!("sk-revoked-{number}");
        for node in rest {
            let answer = chat(self.nodes.http(*node), &key, "openai/gpt-4o-mini+tokens=2")?;
            ensure!(answer.status == 200, "the key is not taken: {answer:?}");
        }
        admin(self.nodes.http(*by), &format!("DELETE /api/keys/revoked{number}"), "")?.json()?;
        let begun = Instant::now();
        for node in rest {
            until("the key to be refused", || {
                let answer = chat(self.nodes.http(*node), &key, "openai/gpt-4o-mini+tokens=2").ok()?;
                (answer.status == 401).then_some(())
            })?;
        }
        Ok(ms(begun.elapsed()))
    }

    /// A node that is cut off serves, takes no changes, and spends its share of a limit.
    fn while_cut(&self, node: usize, number: usize) -> anyhow::Result<(u64, Overshoot)> {
        let begun = Instant::now();
        let answer = admin(self.nodes.http(node), "PUT /api/teams/of-nobody", "{}")?;
        ensure!(answer.status >= 500, "a node that is cut off took a change: {answer:?}");
        let refused_ms = ms(begun.elapsed());
        // By now all have noticed.
        let addresses: Vec<_> = (0..self.nodes.size).map(|node| self.nodes.http(node)).collect();
        let key = format!("sk-limited-{number}");
        Ok((refused_ms, exhaust(&addresses, &key, Sight::Shares, format!("node {node} cut off"))?))
    }

    /// Waits until a node has all that another one had.
    fn is_level(&self, node: usize) -> anyhow::Result<()> {
        let other = (node + 1) % self.nodes.size;
        let wanted = until("a revision", || super::ask::revision(self.nodes.http(other)))?;
        until("a node to catch up", || {
            super::ask::revision(self.nodes.http(node)).filter(|revision| *revision >= wanted)
        })?;
        Ok(())
    }

    /// How a node is cut off here.
    pub(super) fn cutting(&self) -> Loss {
        if self.nodes.place == Place::Namespaces { Loss::CutOff } else { Loss::Frozen }
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
