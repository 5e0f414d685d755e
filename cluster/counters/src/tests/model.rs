//! One node through all that may happen to it, beside a model that says what each step must do.

mod oracle;

use super::{MINUTE, actor, counter_id};
use crate::{
    Charge, Counter, CounterId, Counters, Leases, LimitId, NotAdmitted, Permit, Settled, Settlement, Table,
    Window, counters,
};
use oracle::{Key, Oracle};
use proptest::prelude::*;
use std::sync::Arc;

/// What a clock may go back, below what windows are kept.
const BACK_MS_MAX: u64 = 300_000;
const LEASE_MS_MAX: u64 = 200_000;
/// A minute that may become an hour, a rolling window, and concurrency.
pub(super) const LIMITS: usize = 3;
const HOUR: Window = Window::Calendar(crate::Calendar::Hour);

/// What may happen.
#[derive(Debug, Clone)]
enum Step {
    Admit {
        amounts: [u64; LIMITS],
        lease_ms: u64,
    },
    Extend {
        which: usize,
        at: usize,
        amounts: Vec<(usize, u64)>,
    },
    Shrink {
        which: usize,
        at: usize,
        amount: u64,
    },
    /// To what is held, and so much more or less.
    Settle {
        which: usize,
        differences: [i64; LIMITS],
    },
    /// Given up before a call was made: nothing is used.
    Drop {
        which: usize,
    },
    /// Never settled or dropped: its call never ends.
    Leak {
        which: usize,
    },
    Forward {
        ms: u64,
    },
    Back {
        ms: u64,
    },
    Amount {
        at: usize,
        amount: u64,
    },
    ChangeWindow,
    Expire,
    Checkpoint,
    /// What is in memory is lost; what is in the journal and the checkpoint is not.
    Crash,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let some = || 0..LIMITS;
    let which = || any::<usize>();
    let charge = (some(), 0u64..8);
    let step = prop_oneof![
        8 => (prop::array::uniform3(0u64..12), 1..LEASE_MS_MAX)
            .prop_map(|(amounts, lease_ms)| Step::Admit { amounts, lease_ms }),
        4 => (which(), some(), prop::collection::vec(charge, 0..4))
            .prop_map(|(which, at, amounts)| Step::Extend { which, at, amounts }),
        2 => (which(), some(), 0u64..8).prop_map(|(which, at, amount)| Step::Shrink { which, at, amount }),
        4 => (which(), prop::array::uniform3(-10i64..10))
            .prop_map(|(which, differences)| Step::Settle { which, differences }),
        1 => which().prop_map(|which| Step::Drop { which }),
        1 => which().prop_map(|which| Step::Leak { which }),
        4 => prop_oneof![0u64..30_000, 0u64..200_000, 0u64..9_000_000].prop_map(|ms| Step::Forward { ms }),
        1 => (0..BACK_MS_MAX).prop_map(|ms| Step::Back { ms }),
        1 => (some(), 0u64..40).prop_map(|(at, amount)| Step::Amount { at, amount }),
        1 => Just(Step::ChangeWindow),
        1 => Just(Step::Expire),
        1 => Just(Step::Checkpoint),
        1 => Just(Step::Crash),
    ];
    prop::collection::vec(step, 1..80)
}

/// A permit, and what the model has of it.
struct Open {
    /// Nothing once it leaked.
    permit: Option<Permit>,
    key: Key,
}

struct Node {
    incarnation: u64,
    counters: Counters,
    table: Table,
    leases: Arc<Leases>,
    open: Vec<Open>,
    wall_ms: u64,
    wall_ms_most: u64,
    /// The clock of the leases, which never goes back.
    lease_clock_ms: u64,
    first_window: Window,
    amounts: [u64; LIMITS],
    /// Lines, and what each open call is to be closed with, as a journal has them.
    journal: Vec<Vec<Settlement>>,
    /// As bytes, and how many lines it has seen.
    checkpoint: (Vec<[u8; Settlement::BYTES]>, usize),
    /// What folds the journal while the node runs, and how many lines it has seen.
    folded: (Settled, usize),
    oracle: Oracle,
}

impl Node {
    fn new() -> Self {
        let (counters, _) = counters(actor(1, 1), 100);
        Self {
            incarnation: 1,
            counters,
            table: Table::new(actor(1, 1), 0),
            leases: Leases::new(1_000),
            open: Vec::new(),
            wall_ms: 10_000_000,
            wall_ms_most: 10_000_000,
            lease_clock_ms: 0,
            first_window: MINUTE,
            amounts: [20, 30, 10],
            journal: Vec::new(),
            checkpoint: (Vec::new(), 0),
            folded: (Settled::new(10_000), 0),
            oracle: Oracle::default(),
        }
    }

    fn ids(&self) -> [CounterId; LIMITS] {
        let windows = [self.first_window, Window::rolling(60_000, 6).unwrap(), Window::Standing];
        std::array::from_fn(|at| counter_id(at as u64, windows[at]))
    }

    fn counter(&mut self, at: usize) -> Arc<Counter> {
        let id = self.ids()[at];
        self.oracle.open(id, self.wall_ms);
        self.counters.open(id, &self.table, self.wall_ms).unwrap()
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Admit { amounts, lease_ms } => self.admit(amounts, *lease_ms),
            Step::Extend { which, at, amounts } => self.extend(*which, *at, amounts),
            Step::Shrink { which, at, amount } => self.shrink(*which, *at, *amount),
            Step::Settle { which, differences } => self.settle(*which, differences),
            Step::Drop { which } => self.give_up(*which),
            Step::Leak { which } => self.leak(*which),
            Step::Forward { ms } => self.forward(*ms),
            Step::Back { ms } => {
                let least = self.wall_ms_most - BACK_MS_MAX;
                self.wall_ms = self.wall_ms.saturating_sub(*ms).max(least);
            }
            Step::Amount { at, amount } => self.amounts[*at] = *amount,
            Step::ChangeWindow => self.first_window = if self.first_window == MINUTE { HOUR } else { MINUTE },
            Step::Expire => {
                self.counters.expire(self.wall_ms);
                self.oracle.expire(self.wall_ms);
                self.folded.0.expire(self.wall_ms);
            }
            Step::Checkpoint => {
                self.fold();
                let bytes = self.folded.0.checkpoint().map(|sum| sum.to_bytes()).collect();
                self.checkpoint = (bytes, self.folded.1);
            }
            Step::Crash => self.crash(),
        }
    }

    /// The place of one of the permits that did not leak.
    fn alive(&self, which: usize) -> Option<usize> {
        let alive: Vec<_> = (0..self.open.len()).filter(|at| self.open[*at].permit.is_some()).collect();
        (!alive.is_empty()).then(|| alive[which % alive.len()])
    }

    fn admit(&mut self, amounts: &[u64; LIMITS], lease_ms: u64) {
        let asked: Vec<_> = amounts.iter().copied().enumerate().collect();
        let counters: Vec<_> = (0..LIMITS).map(|at| self.counter(at)).collect();
        let charges = self.charges(&counters, &asked);
        let until_ms = self.lease_clock_ms + lease_ms;
        let key = self.oracle.begin(until_ms);
        let expected = self.oracle.take(key, &self.asked(&asked), self.wall_ms);
        let result = self.leases.admit(&charges, self.wall_ms, until_ms);
        self.check(&counters, &asked, result.as_ref().map(|_| ()).map_err(|error| *error), expected);
        match result {
            Ok(permit) => self.open.push(Open { permit: Some(permit), key }),
            Err(_) => self.oracle.forget(key),
        }
    }

    fn extend(&mut self, which: usize, first: usize, amounts: &[(usize, u64)]) {
        let Some(at) = self.alive(which) else { return };
        let counters: Vec<_> = (0..LIMITS).map(|at| self.counter(at)).collect();
        let asked: Vec<_> = amounts.iter().map(|(at, amount)| ((at + first) % LIMITS, *amount)).collect();
        let charges = self.charges(&counters, &asked);
        let Open { permit, key } = &mut self.open[at];
        let (key, result) = (*key, permit.as_mut().unwrap().extend(&charges, self.wall_ms));
        if self.oracle.has_ended(key) {
            assert_eq!(result, Err(NotAdmitted::LeaseEnded));
            return;
        }
        let expected = self.oracle.take(key, &self.asked(&asked), self.wall_ms);
        self.check(&counters, &asked, result, expected);
    }

    fn charges<'a>(&self, counters: &'a [Arc<Counter>], asked: &[(usize, u64)]) -> Vec<Charge<'a>> {
        let charge = |(at, amount): &(usize, u64)| Charge {
            counter: &counters[*at],
            amount: *amount,
            limit: self.amounts[*at].into(),
        };
        asked.iter().map(charge).collect()
    }

    fn asked(&self, asked: &[(usize, u64)]) -> Vec<oracle::Asked> {
        let ids = self.ids();
        let one = |(at, amount): &(usize, u64)| (ids[*at], *amount, self.amounts[*at]);
        asked.iter().map(one).collect()
    }

    /// Whether it went as the model says, and no limit that was asked in its running window is passed.
    fn check(
        &self,
        counters: &[Arc<Counter>],
        asked: &[(usize, u64)],
        result: Result<(), NotAdmitted>,
        expected: Result<(), (usize, u64)>,
    ) {
        match (result, expected) {
            (Ok(()), Ok(())) => {
                for (at, amount) in asked.iter().filter(|(_, amount)| *amount > 0) {
                    let (view, limit) = (counters[*at].view(self.wall_ms), self.amounts[*at]);
                    let other_window = matches!(counters[*at].id().window, Window::Calendar(_));
                    assert!(view.used() <= limit || other_window, "{view:?} after {amount} of {limit}");
                }
            }
            (Err(NotAdmitted::Refused(refused)), Err(expected)) => {
                assert_eq!((refused.at, refused.left), expected);
                assert_eq!(refused.limit, LimitId(asked[refused.at].0 as u64));
                assert!(refused.left < asked[refused.at].1.max(1));
            }
            (result, expected) => panic!("{result:?} instead of {expected:?}"),
        }
    }

    fn shrink(&mut self, which: usize, limit: usize, amount: u64) {
        let Some(at) = self.alive(which) else { return };
        let limit = LimitId(limit as u64);
        self.oracle.shrink(self.open[at].key, limit, amount);
        self.open[at].permit.as_mut().unwrap().shrink_to(limit, amount);
    }

    fn settle(&mut self, which: usize, differences: &[i64; LIMITS]) {
        let Some(at) = self.alive(which) else { return };
        let Open { permit, key } = self.open.swap_remove(at);
        let permit = permit.unwrap();
        let used: Vec<_> = permit
            .held()
            .zip(differences.iter().cycle())
            .map(|(held, difference)| (held, held.amount.saturating_add_signed(*difference)))
            .collect();
        let line: Vec<_> = used.iter().map(|(held, amount)| held.settlement(*amount)).collect();
        self.oracle.settle(key, &line);
        self.journal.push(line);
        // Concurrency is not asked about.
        let mut amounts = used.iter().filter(|(held, _)| held.counter.window != Window::Standing);
        permit.settle(|asked| {
            let (held, amount) = amounts.next().unwrap();
            assert_eq!(held, asked, "the order of what is held");
            *amount
        });
        assert!(amounts.next().is_none());
    }

    fn give_up(&mut self, which: usize) {
        let Some(at) = self.alive(which) else { return };
        let Open { permit, key } = self.open.swap_remove(at);
        self.oracle.forget(key);
        drop(permit);
    }

    fn leak(&mut self, which: usize) {
        let Some(at) = self.alive(which) else { return };
        std::mem::forget(self.open[at].permit.take());
    }

    fn forward(&mut self, ms: u64) {
        self.wall_ms += ms;
        self.wall_ms_most = self.wall_ms_most.max(self.wall_ms);
        self.lease_clock_ms += ms;
        let ended = self.oracle.sweep(self.lease_clock_ms);
        assert_eq!(self.leases.sweep(self.lease_clock_ms).permits, ended);
    }

    /// Folds the lines that were not.
    fn fold(&mut self) {
        let (settled, seen) = &mut self.folded;
        for settlement in self.journal.iter().skip(*seen).flatten() {
            settled.add(*settlement).unwrap();
        }
        *seen = self.journal.len();
    }

    fn crash(&mut self) {
        // Each call that never ended is closed by its estimate.
        for Open { permit, key } in std::mem::take(&mut self.open) {
            std::mem::forget(permit);
            let line = self.oracle.estimate(key);
            self.oracle.settle(key, &line);
            self.journal.push(line);
        }
        let mut settled = Settled::new(10_000);
        for bytes in &self.checkpoint.0 {
            settled.add(Settlement::from_bytes(bytes).unwrap()).unwrap();
        }
        self.folded = (settled, self.checkpoint.1);
        self.fold();
        self.incarnation += 1;
        let own = actor(1, self.incarnation);
        (self.counters, _) = counters(own, 100);
        self.table = Table::new(own, 0);
        self.counters.restore(&self.folded.0);
        self.leases = Leases::new(1_000);
        self.oracle.restart();
    }

    /// What every counter shows is what the model has.
    fn compare(&mut self) {
        assert_eq!(self.leases.len(), self.oracle.open_permits());
        for at in 0..LIMITS {
            let counter = self.counter(at);
            let view = counter.view(self.wall_ms);
            let expected = self.oracle.view(*counter.id(), self.wall_ms);
            assert_eq!((view.spent, view.held, view.window_id), expected, "{}", counter.id().window);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_node_counts_as_the_model_does(steps in steps()) {
        let mut node = Node::new();
        for step in &steps {
            node.run(step);
            node.compare();
        }
        // In the end all calls do, or their leases do.
        while node.alive(0).is_some() {
            node.settle(0, &[0; LIMITS]);
        }
        node.forward(LEASE_MS_MAX);
        assert!(node.leases.is_empty());
        let mut all = Settled::new(10_000);
        for settlement in node.journal.iter().flatten() {
            all.add(*settlement).unwrap();
        }
        for at in 0..LIMITS {
            let counter = node.counter(at);
            let (id, view) = (*counter.id(), counter.view(node.wall_ms));
            let in_view = id.window.oldest_in_view(view.window_id)..=view.window_id;
            let lines = all.checkpoint().filter(|sum| sum.counter == id && in_view.contains(&sum.window_id));
            prop_assert_eq!((view.spent, view.held), (lines.map(|sum| sum.amount).sum(), 0), "{}", id.window);
        }
    }
}
