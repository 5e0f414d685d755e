//! The counters of all limits of this process, and what each data thread keeps at hand of them.

use std::{
    cell::RefCell,
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};
use trestle_config::{Limit, Mode};
use trestle_counters::{
    Calendar, Cells, Counter, CounterId, CountersFull, Expired, Leases, LimitId, Share, Subject, View,
    Window, WindowId,
};

/// Permits that may be open on one thread; each is a request in flight.
const PERMITS_MAX: usize = 200_000;
/// Counters that a thread keeps at hand; beyond it begins anew.
const AT_HAND_MAX: usize = 100_000;
/// How long it is remembered what was counted once.
const ONCE_MS: u64 = 60 * 24 * 3600 * 1000;
/// A lease ends so long after the total limit of its request in time.
pub(crate) const LEASE_MARGIN: Duration = Duration::from_secs(60);

/// All counters of this process.
#[derive(Debug)]
pub(crate) struct Counted {
    /// Of this node, and what it knows of others.
    cells: Arc<Cells>,
    /// By data thread.
    leases: Vec<Arc<Leases>>,
    /// Leases are told in milliseconds since then, as no clock is set back while they run.
    origin: Instant,
}

impl Counted {
    /// The counters of a process with so many data threads.
    pub(crate) fn new(threads: usize, cells: Arc<Cells>) -> Self {
        Self {
            cells,
            leases: (0..threads).map(|_| Leases::new(PERMITS_MAX)).collect(),
            origin: Instant::now(),
        }
    }

    /// The leases of a data thread.
    pub(crate) fn leases(&self, thread: usize) -> Arc<Leases> {
        self.leases.get(thread).cloned().unwrap_or_else(|| Leases::new(0))
    }

    /// When a lease ends that lasts so long from now on.
    pub(crate) fn lease_until(&self, lasts: Duration) -> u64 {
        (self.origin.elapsed() + lasts).as_millis() as u64
    }

    /// The counter of a limit.
    pub(crate) fn open(&self, limit: &Limit, now_ms: u64) -> Result<Arc<Counter>, CountersFull> {
        self.cells.open(counter_id(limit), now_ms)
    }

    /// What a limit counts now. Nothing is made for a look.
    pub(crate) fn view(&self, limit: &Limit, now_ms: u64) -> View {
        self.cells.view(counter_id(limit), now_ms)
    }

    /// The share of a strict limit that this node has to itself in the view that ends with a window; none where it is alone.
    pub(crate) fn share(&self, limit: &Limit, window_id: WindowId) -> Option<Share> {
        let share = self.cells.rights().share(limit.window, window_id);
        share.filter(|_| limit.mode == Mode::Strict)
    }

    /// The counter of something that is counted once: for longer than vendors keep results, which is 30 days.
    pub(crate) fn open_once(&self, subject: u128, now_ms: u64) -> Result<Arc<Counter>, CountersFull> {
        let window = Window::rolling(ONCE_MS, 2).unwrap_or(Window::Calendar(Calendar::Day));
        let id = CounterId { limit: LimitId(0), subject: Subject(subject), window };
        self.cells.open(id, now_ms)
    }

    /// Ends the leases whose time has come, and drops counters that idle.
    pub(crate) fn sweep(&self, now_ms: u64) -> Expired {
        let now = self.origin.elapsed().as_millis() as u64;
        let mut all = Expired::default();
        for leases in &self.leases {
            all.permits += leases.sweep(now).permits;
        }
        // What changed is published here where nobody exchanges it, so that it is dropped with the rest.
        self.cells.collect(now_ms);
        self.cells.sweep(now_ms);
        all
    }

    /// How many counters there are.
    pub(crate) fn len(&self) -> usize {
        self.cells.counters_len()
    }
}

fn counter_id(limit: &Limit) -> CounterId {
    CounterId { limit: limit.id, subject: Subject(0), window: limit.window }
}

/// What one data thread keeps at hand of the counters.
#[derive(Debug, Default)]
pub(crate) struct AtHand {
    counters: RefCell<HashMap<LimitId, Arc<Counter>>>,
    /// The last warning of a limit, by its window.
    warned: RefCell<HashMap<LimitId, (WindowId, u8)>>,
}

impl AtHand {
    /// The counter of a limit.
    pub(crate) fn counter(
        &self,
        counted: &Counted,
        limit: &Limit,
        now_ms: u64,
    ) -> Result<Arc<Counter>, CountersFull> {
        let mut all = self.counters.borrow_mut();
        // A limit whose window was edited has another counter.
        if let Some(counter) = all.get(&limit.id).filter(|counter| counter.id().window == limit.window) {
            return Ok(Arc::clone(counter));
        }
        let counter = counted.open(limit, now_ms)?;
        if all.len() >= AT_HAND_MAX {
            all.clear();
        }
        all.insert(limit.id, Arc::clone(&counter));
        Ok(counter)
    }

    /// Whether a warning is due: once for each percent and window on this thread.
    pub(crate) fn is_news(&self, limit: LimitId, window: WindowId, percent: u8) -> bool {
        let mut all = self.warned.borrow_mut();
        if all.len() >= AT_HAND_MAX {
            all.clear();
        }
        let news = (window, percent);
        all.insert(limit, news).is_none_or(|last| last < news)
    }
}
