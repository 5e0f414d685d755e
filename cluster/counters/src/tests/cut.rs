//! Nodes that lose sight of each other, and nodes that begin anew: what they spend together stays within what is said.

use super::{MINUTE, MINUTE_MS, actor, counter_id};
use crate::{Bound, CellId, Cells, CounterId, NodeId, Rule, Settled, Settlement, Window, hold::Hold};
use proptest::prelude::*;

const NODES: usize = 4;
const LIMIT: u64 = 100;

/// What may happen.
#[derive(Debug, Clone)]
enum Step {
    /// A node charges, and will settle so much less.
    Charge { node: usize, amount: u64, less: u64 },
    /// A node settles its oldest hold.
    Settle { node: usize },
    /// A node sends all that it has to another one, if the way is open.
    Send { from: usize, to: usize },
    /// Time goes on.
    Wait { ms: u64 },
}

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let node = || 0..NODES;
    let step = prop_oneof![
        6 => (node(), 0u64..15, 0u64..15).prop_map(|(node, amount, less)| Step::Charge { node, amount, less }),
        3 => node().prop_map(|node| Step::Settle { node }),
        4 => (node(), node()).prop_map(|(from, to)| Step::Send { from, to }),
        1 => (0u64..30_000).prop_map(|ms| Step::Wait { ms }),
    ];
    prop::collection::vec(step, 0..most)
}

struct Cluster {
    id: CounterId,
    nodes: Vec<(Cells, Vec<(Hold, u64)>)>,
    /// Pairs that do not hear each other.
    cut: Vec<(usize, usize)>,
    rule: Rule,
    now_ms: u64,
}

impl Cluster {
    fn new(window: Window, rule: Rule) -> Self {
        let node = |at| (Cells::new(actor(at as u64, 1), &Settled::new(0), 10, 1_000), Vec::new());
        let (id, now_ms) = (counter_id(1, window), 10 * MINUTE_MS);
        Self { id, nodes: (0..NODES).map(node).collect(), cut: Vec::new(), rule, now_ms }
    }

    /// Runs a step and returns what was charged by it.
    fn run(&mut self, step: &Step) -> u64 {
        match *step {
            Step::Charge { node, amount, less } => {
                let (cells, holds) = &mut self.nodes[node];
                let counter = cells.open(self.id, self.now_ms).unwrap();
                let Ok(hold) = counter.charge(amount, Bound { amount: LIMIT, rule: self.rule }, self.now_ms)
                else {
                    return 0;
                };
                holds.push((hold, amount.saturating_sub(less)));
                return amount;
            }
            Step::Settle { node } if !self.nodes[node].1.is_empty() => {
                let (hold, used) = self.nodes[node].1.remove(0);
                hold.settle(used);
            }
            Step::Settle { .. } => {}
            Step::Send { from, to } => self.send(from, to),
            Step::Wait { ms } => self.now_ms += ms,
        }
        0
    }

    fn send(&self, from: usize, to: usize) {
        if from == to || self.cut.contains(&(from.min(to), from.max(to))) {
            return;
        }
        self.nodes[from].0.collect(self.now_ms);
        let delta = self.nodes[from].0.delta(0, 1_000);
        self.nodes[to].0.merge(&delta.cells, self.now_ms);
    }

    fn send_all(&self) {
        for (from, to) in (0..NODES).flat_map(|from| (0..NODES).map(move |to| (from, to))) {
            self.send(from, to);
        }
    }

    /// What all nodes counted in the view, as only they know it.
    fn truth(&self) -> u64 {
        let window = self.id.window;
        let oldest = window.oldest_in_view(window.id_at(self.now_ms));
        let own = |(cells, _): &(Cells, Vec<_>)| {
            cells.collect(self.now_ms);
            let own = cells.delta(0, 1_000).cells;
            let in_view = own.into_iter().filter(|cell| cell.id.window_id >= oldest);
            in_view.map(|cell| cell.totals.contribution()).sum::<u64>()
        };
        self.nodes.iter().map(own).sum()
    }
}

fn windows() -> impl Strategy<Value = Window> {
    prop_oneof![Just(MINUTE), Just(Window::rolling(MINUTE_MS, 6).unwrap()), Just(Window::Standing)]
}

fn cuts() -> impl Strategy<Value = Vec<(usize, usize)>> {
    let pairs: Vec<_> = (0..NODES).flat_map(|to| (0..to).map(move |from| (from, to))).collect();
    let count = pairs.len();
    prop::sample::subsequence(pairs, 0..=count)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// However long it lasts and whichever links are cut: beyond the limit goes no more than what was charged between
    /// the last time that all had told each other and the moment at which all were frozen.
    #[test]
    fn frozen_nodes_pass_a_limit_by_no_more_than_they_had_not_told(
        window in windows(), cut in cuts(), before in steps(20), until_found in steps(8), after in steps(80),
    ) {
        let mut cluster = Cluster::new(window, Rule::Share);
        cluster.nodes.iter().for_each(|(cells, _)| (0..NODES).for_each(|at| cells.alive(actor(at as u64, 1))));
        before.iter().for_each(|step| { cluster.run(step); });
        cluster.send_all();
        let start = cluster.truth();
        cluster.cut = cut;
        let untold: u64 = until_found.iter().map(|step| cluster.run(step)).sum();
        cluster.nodes.iter().for_each(|(cells, _)| cells.rights().freeze(NODES as u32));
        for step in &after {
            cluster.run(step);
            let truth = cluster.truth();
            prop_assert!(truth <= LIMIT.max(start) + untold, "{truth}, {untold} of it not told");
        }
        // All agree again, and spend what is left.
        cluster.cut.clear();
        cluster.send_all();
        cluster.nodes.iter().for_each(|(cells, _)| cells.rights().heal());
        let truth = cluster.truth();
        for (cells, _) in &cluster.nodes {
            prop_assert_eq!(cells.view(cluster.id, cluster.now_ms).used(), truth);
        }
        let left = LIMIT.saturating_sub(truth);
        let counter = cluster.nodes[0].0.open(cluster.id, cluster.now_ms).unwrap();
        prop_assert!(counter.charge(left + 1, LIMIT, cluster.now_ms).is_err());
        prop_assert!(truth > LIMIT || counter.charge(left, LIMIT, cluster.now_ms).is_ok());
    }

    /// No telling and no cut makes a difference to a strict limit.
    #[test]
    fn a_strict_limit_is_never_passed(window in windows(), cut in cuts(), steps in steps(120)) {
        let mut cluster = Cluster::new(window, Rule::Strict);
        cluster.cut = cut;
        for (cells, _) in &cluster.nodes {
            let shares = crate::FixedShares::new(10);
            let share = crate::Share::new(1, NODES as u32).unwrap();
            shares.fix(window, Default::default(), crate::WindowId(u64::MAX), share).unwrap();
            cells.rights().share_by(std::sync::Arc::new(shares));
        }
        for step in &steps {
            cluster.run(step);
            prop_assert!(cluster.truth() <= LIMIT);
        }
    }

    /// A node that begins anew counts what its journal says, whatever of its earlier lives comes back, and when.
    #[test]
    fn a_restart_counts_earlier_lives_once(
        lives in prop::collection::vec((steps(12), any::<bool>(), any::<bool>()), 1..5),
        mine in 0u64..20,
    ) {
        let (id, now_ms) = (counter_id(1, MINUTE), 10 * MINUTE_MS);
        let peer = Cells::new(actor(9, 1), &Settled::new(0), 10, 1_000);
        peer.open(id, now_ms).unwrap().charge(mine, u64::MAX, now_ms).unwrap().settle(mine);
        let mut journal = Settled::new(10);
        let every: Vec<u8> = (0..=u8::MAX).collect();
        for (at, (steps, told, pulled)) in lives.iter().enumerate() {
            let cells = Cells::new(actor(1, at as u64 + 1), &journal, 10, 1_000);
            peer.collect(now_ms);
            if *pulled {
                cells.merge(&peer.page(&every, None, 1_000).cells, now_ms);
            }
            for step in steps {
                let Step::Charge { amount, less, .. } = *step else { continue };
                let counter = cells.open(id, now_ms).unwrap();
                let used = amount.saturating_sub(less);
                counter.charge(amount, u64::MAX, now_ms).unwrap().settle(used);
                journal.add(Settlement { counter: id, window_id: MINUTE.id_at(now_ms), amount: used }).unwrap();
            }
            cells.collect(now_ms);
            if *told {
                peer.merge(&cells.page(&every, None, 1_000).cells, now_ms);
            }
            cells.merge(&peer.page(&every, None, 1_000).cells, now_ms);
            let settled: u64 = journal.checkpoint().map(|settlement| settlement.amount).sum();
            prop_assert_eq!(cells.view(id, now_ms).used(), settled + mine);
            let known: u64 = peer.page(&every, None, 1_000).cells.iter()
                .filter(|cell| cell.id.actor.node == NodeId(1)).map(|cell| cell.totals.contribution()).sum();
            prop_assert!(known <= settled, "a peer knows of no more than there was");
        }
    }

    /// Once a node has swept a window, none of its cells comes back, by whatever way and however often.
    #[test]
    fn nothing_comes_back_after_a_sweep(
        steps in steps(60), late in prop::collection::vec((0..NODES, 0u64..400_000), 1..10),
    ) {
        let mut cluster = Cluster::new(Window::rolling(MINUTE_MS, 6).unwrap(), Rule::Optimistic);
        steps.iter().for_each(|step| { cluster.run(step); });
        cluster.send_all();
        let old: Vec<_> = cluster.nodes.iter().flat_map(|(cells, _)| cells.delta(0, 1_000).cells).collect();
        let kept_until = |id: &CellId| id.counter.window.kept_until_ms(id.window_id).unwrap();
        for (node, later) in late {
            cluster.now_ms += later;
            let (cells, now_ms) = (&cluster.nodes[node].0, cluster.now_ms);
            cells.sweep(now_ms);
            // The clock of whoever brings them may be behind.
            cells.merge(&old, now_ms.saturating_sub(1_000_000));
            let all = cells.page(&(0..=u8::MAX).collect::<Vec<_>>(), None, 1_000).cells;
            prop_assert!(all.iter().all(|cell| kept_until(&cell.id) > now_ms));
        }
    }
}
