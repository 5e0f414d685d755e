//! Several nodes that tell each other: they agree, and count no more than was charged, whatever is lost or repeated.

use super::{MINUTE, MINUTE_MS, actor, counter_id};
use crate::{Actor, Cells, CounterId, Settled, Totals, Window, hold::Hold};
use proptest::prelude::*;
use std::collections::BTreeMap;

const NODES: usize = 3;

struct Node {
    own: Actor,
    cells: Cells,
    /// The sequence that each peer has acknowledged.
    acknowledged: [u64; NODES],
    holds: Vec<(Hold, u64)>,
}

/// What may happen.
#[derive(Debug, Clone)]
enum Step {
    /// A node charges a counter, and will settle to the second amount.
    Charge { node: usize, counter: usize, amount: u64, used: u64 },
    /// A node settles its oldest hold.
    Settle { node: usize },
    /// A node sends its delta; it arrives so many times.
    Send { from: usize, to: usize, times: usize },
    /// Two nodes compare hashes and swap the cells of buckets that differ.
    Repair { one: usize, other: usize },
    /// A node loses what it had in memory and begins a new incarnation.
    Restart { node: usize },
    /// Time goes on.
    Wait { ms: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let node = || 0..NODES;
    let step = prop_oneof![
        6 => (node(), 0usize..3, 0u64..10, 0u64..15)
            .prop_map(|(node, counter, amount, used)| Step::Charge { node, counter, amount, used }),
        4 => node().prop_map(|node| Step::Settle { node }),
        4 => (node(), node(), 0usize..3).prop_map(|(from, to, times)| Step::Send { from, to, times }),
        1 => (node(), node()).prop_map(|(one, other)| Step::Repair { one, other }),
        1 => node().prop_map(|node| Step::Restart { node }),
        1 => (0u64..20_000).prop_map(|ms| Step::Wait { ms }),
    ];
    prop::collection::vec(step, 1..80)
}

fn ids() -> [CounterId; 3] {
    [
        counter_id(1, MINUTE),
        counter_id(2, Window::rolling(MINUTE_MS, 6).unwrap()),
        counter_id(3, Window::Standing),
    ]
}

impl Node {
    fn new(at: usize, incarnation: u64) -> Self {
        let own = actor(at as u64, incarnation);
        let cells = Cells::new(own, &Settled::new(0), 100, 10_000);
        Self { own, cells, acknowledged: [0; NODES], holds: Vec::new() }
    }

    fn used(&mut self, id: CounterId, now_ms: u64) -> u64 {
        self.cells.open(id, now_ms).unwrap().view(now_ms).used()
    }
}

struct Cluster {
    nodes: Vec<Node>,
    /// All that each actor ever charged and gave back.
    truth: BTreeMap<(Actor, CounterId), Totals>,
    now_ms: u64,
}

impl Cluster {
    fn new() -> Self {
        let mut cluster = Self {
            nodes: (0..NODES).map(|at| Node::new(at, 1)).collect(),
            truth: BTreeMap::new(),
            now_ms: 600_000,
        };
        cluster.greet();
        cluster
    }

    /// All nodes learn who lives.
    fn greet(&mut self) {
        let actors: Vec<_> = self.nodes.iter().map(|node| node.own).collect();
        for node in &mut self.nodes {
            actors.iter().for_each(|actor| node.cells.alive(*actor));
        }
    }

    fn run(&mut self, step: &Step) {
        let now_ms = self.now_ms;
        match *step {
            Step::Charge { node, counter, amount, used } => {
                let node = &mut self.nodes[node];
                let counter = node.cells.open(ids()[counter], now_ms).unwrap();
                // A limit without a window holds what runs, and nothing is used in the end.
                let used = if counter.id().window == Window::Standing { 0 } else { used };
                self.truth.entry((node.own, *counter.id())).or_default().charged += amount;
                node.holds.extend(counter.charge(amount, u64::MAX, now_ms).map(|hold| (hold, used)));
            }
            Step::Settle { node } if !self.nodes[node].holds.is_empty() => {
                let (hold, used) = self.nodes[node].holds.remove(0);
                let held = hold.held();
                let truth = self.truth.entry((self.nodes[node].own, held.counter)).or_default();
                truth.charged += used.saturating_sub(held.amount);
                truth.refunded += held.amount.saturating_sub(used);
                hold.settle(used);
            }
            Step::Settle { .. } => {}
            Step::Send { from, to, times } => self.send(from, to, times),
            Step::Repair { one, other } => self.repair(one, other),
            Step::Restart { node } => {
                let incarnation = self.nodes[node].own.incarnation + 1;
                self.nodes[node] = Node::new(node, incarnation);
                for peer in &mut self.nodes {
                    peer.acknowledged[node] = 0;
                }
                self.greet();
            }
            Step::Wait { ms } => self.now_ms += ms,
        }
    }

    fn send(&mut self, from: usize, to: usize, times: usize) {
        let now_ms = self.now_ms;
        let sender = &mut self.nodes[from];
        sender.cells.collect(now_ms);
        if times > 0 && from != to {
            // In pieces, so that some changes are sent and others not yet.
            let delta = sender.cells.delta(sender.acknowledged[to], 2);
            sender.acknowledged[to] = delta.up_to;
            for _ in 0..times {
                self.nodes[to].cells.merge(&delta.cells, now_ms);
            }
        }
    }

    fn repair(&mut self, one: usize, other: usize) {
        let now_ms = self.now_ms;
        for at in [one, other] {
            self.nodes[at].cells.collect(now_ms);
        }
        let (left, right) = (self.nodes[one].cells.hashes(), self.nodes[other].cells.hashes());
        let differ = |bucket: &u8| left[usize::from(*bucket)] != right[usize::from(*bucket)];
        let buckets: Vec<_> = (0..=u8::MAX).filter(differ).collect();
        for (from, to) in [(one, other), (other, one)] {
            let mut after = None;
            loop {
                let page = self.nodes[from].cells.page(&buckets, after, 3);
                self.nodes[to].cells.merge(&page.cells, now_ms);
                after = page.cells.last().map(|cell| cell.id);
                if !page.more {
                    break;
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nodes_agree_after_deltas_and_repair(steps in steps()) {
        let mut cluster = Cluster::new();
        for step in &steps {
            cluster.run(step);
        }
        let now_ms = cluster.now_ms;
        for node in &mut cluster.nodes {
            node.cells.sweep(now_ms);
        }
        // Around twice, so that what was lost on one way arrives by another.
        for _ in 0..2 {
            for (one, other) in [(0, 1), (1, 2), (2, 0)] {
                cluster.repair(one, other);
            }
        }
        let hashes = cluster.nodes[0].cells.hashes();
        for id in ids() {
            let used = cluster.nodes[0].used(id, now_ms);
            for node in &mut cluster.nodes {
                prop_assert_eq!(node.cells.hashes(), hashes);
                prop_assert_eq!(node.used(id, now_ms), used, "{:?}", id.window);
            }
        }
    }

    /// Whatever is lost, repeated or late, and whoever begins anew: no node knows of more than there was.
    #[test]
    fn nobody_knows_of_more_than_there_was(steps in steps()) {
        let mut cluster = Cluster::new();
        for step in &steps {
            cluster.run(step);
            for node in &cluster.nodes {
                let mut known: BTreeMap<_, Totals> = BTreeMap::new();
                for cell in node.cells.page(&(0..=u8::MAX).collect::<Vec<_>>(), None, 10_000).cells {
                    let sum = known.entry((cell.id.actor, cell.id.counter)).or_default();
                    sum.charged += cell.totals.charged;
                    sum.refunded += cell.totals.refunded;
                }
                for (key, known) in known {
                    let truth = cluster.truth.get(&key).copied().unwrap_or_default();
                    prop_assert_eq!(truth.merged(known), truth, "{:?}", key);
                }
            }
        }
    }

    /// Without restarts nothing is lost: what all see is what was charged and given back.
    #[test]
    fn what_nodes_see_is_what_happened(steps in steps()) {
        let mut cluster = Cluster::new();
        let kept = steps.iter().filter(|step| !matches!(step, Step::Restart { .. } | Step::Wait { .. }));
        let (mut expected, mut open) = ([0; 3], [const { Vec::new() }; NODES]);
        for step in kept {
            match *step {
                Step::Charge { node, counter, amount, used } => {
                    let used = if counter == 2 { 0 } else { used };
                    expected[counter] += amount;
                    open[node].push((counter, amount, used));
                }
                Step::Settle { node } if !open[node].is_empty() => {
                    let (counter, amount, used) = open[node].remove(0);
                    expected[counter] = expected[counter] - amount + used;
                }
                _ => {}
            }
            cluster.run(step);
        }
        for (one, other) in [(0, 1), (1, 2), (2, 0), (0, 1)] {
            cluster.repair(one, other);
        }
        for (id, expected) in ids().into_iter().zip(expected) {
            let now_ms = cluster.now_ms;
            for node in &mut cluster.nodes {
                prop_assert_eq!(node.used(id, now_ms), expected, "{:?}", id.window);
            }
        }
    }
}
