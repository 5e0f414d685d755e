//! What one data thread owns: its connections, its ids, its place among the others.

use crate::{
    budget::Budget,
    estimate::Learned,
    gateway::Shared,
    limits::{AtHand, Counting},
    record::Record,
    state::{KeyHealth, ProviderState},
    thread::Seat,
    upstream::Pool,
};
use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    hash::BuildHasherDefault,
    rc::Rc,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use trestle_config::{FirstBytes, Snapshot};
use trestle_counters::Leases;
use trestle_store::{Journal, Ledger};

/// Records that may wait for the writer, per thread.
const RING: usize = 8192;

/// What a worker is made of; sent to its thread.
pub(crate) struct WorkerParts {
    /// The process's part.
    pub(crate) shared: Arc<Shared>,
    /// Which seat it takes.
    pub(crate) index: usize,
    /// Where its records go.
    pub(crate) records: rtrb::Producer<Box<Record>>,
    /// Seeds its ids.
    pub(crate) seed: u128,
    /// Where it writes what calls come to; nowhere, where no ledger is kept.
    pub(crate) ledger: Option<Ledger>,
}

impl WorkerParts {
    /// The two ends of a record ring.
    pub(crate) fn ring() -> (rtrb::Producer<Box<Record>>, rtrb::Consumer<Box<Record>>) {
        rtrb::RingBuffer::new(RING)
    }
}

/// What one data thread owns. Never leaves its thread.
pub struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) index: usize,
    records: RefCell<rtrb::Producer<Box<Record>>>,
    ids: Cell<u128>,
    providers: RefCell<HashMap<Box<str>, Rc<ProviderLocal>>>,
    journal: Option<Journal>,
    at_hand: AtHand,
    leases: Arc<Leases>,
}

/// A provider as one thread knows it.
pub(crate) struct ProviderLocal {
    /// Shared by all threads.
    pub(crate) state: Arc<ProviderState>,
    /// This thread's connections.
    pub(crate) pool: Rc<RefCell<Pool>>,
    /// What requests to its models came to.
    pub(crate) learned: Learned,
    keys: RefCell<HashMap<[u8; 32], Arc<KeyHealth>, BuildHasherDefault<FirstBytes>>>,
}

impl ProviderLocal {
    /// The health of a key by its fingerprint.
    pub(crate) fn key(&self, fingerprint: &[u8; 32]) -> Arc<KeyHealth> {
        if let Some(health) = self.keys.borrow().get(fingerprint) {
            return Arc::clone(health);
        }
        let health = self.state.key(fingerprint);
        self.keys.borrow_mut().insert(*fingerprint, Arc::clone(&health));
        health
    }
}

impl Worker {
    /// Takes its seat.
    pub(crate) fn new(parts: WorkerParts) -> Self {
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
        Self {
            journal: parts.ledger.map(|ledger| ledger.journal(parts.index as u32, now_ms)),
            at_hand: AtHand::default(),
            leases: parts.shared.counted.leases(parts.index),
            shared: parts.shared,
            index: parts.index,
            records: RefCell::new(parts.records),
            ids: Cell::new(parts.seed | 1),
            providers: RefCell::default(),
        }
    }

    /// The snapshot that requests see now.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.shared.snapshot.load_full()
    }

    /// Its place among the threads.
    pub(crate) fn seat(&self) -> &Seat {
        &self.shared.seats[self.index]
    }

    /// The bound on held bytes.
    pub(crate) fn budget(&self) -> &Arc<Budget> {
        &self.shared.budget
    }

    /// A number nobody else has; good as an id and for chance, not for secrets.
    pub(crate) fn random(&self) -> u128 {
        // xorshift128 with a Weyl step.
        let mut x = self.ids.get();
        x ^= x << 23;
        x ^= x >> 17;
        x ^= x << 26;
        self.ids.set(x);
        x.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)
    }

    /// A number from 0 up to and without 1.
    pub(crate) fn chance(&self) -> f64 {
        ((self.random() >> 75) as f64) / ((1u64 << 53) as f64)
    }

    /// Where this thread writes what calls come to.
    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    /// The counters at hand.
    pub(crate) fn at_hand(&self) -> &AtHand {
        &self.at_hand
    }

    /// Where a request that began is counted.
    pub(crate) fn counting(&self, now_ms: u64, lasts: Duration) -> Counting<'_> {
        let (counted, at_hand, leases) = (&self.shared.counted, &self.at_hand, &self.leases);
        Counting { counted, at_hand, leases, now_ms, lasts }
    }

    /// What this thread knows of a provider.
    pub(crate) fn provider(&self, name: &str) -> Rc<ProviderLocal> {
        if let Some(local) = self.providers.borrow().get(name) {
            return Rc::clone(local);
        }
        let state = self.shared.provider(name);
        let local = Rc::new(ProviderLocal {
            pool: Rc::new(RefCell::new(Pool::new(Arc::clone(&state)))),
            state,
            learned: Learned::default(),
            keys: RefCell::default(),
        });
        self.providers.borrow_mut().insert(name.into(), Rc::clone(&local));
        local
    }

    /// Hands a record to the writer, or counts it as lost.
    pub(crate) fn log(&self, record: Box<Record>) {
        if self.shared.logging && self.records.borrow_mut().push(record).is_err() {
            self.seat().records_dropped.fetch_add(1, Relaxed);
        }
    }
}
