//! Keeps credentials fresh: each is fetched when it is wanted, and again well before its end. One thread watches the
//! clock; fetches run on a few short-lived threads beside it, one at a time for each credential.

use super::{
    Live, Ready, Spec,
    fetch::{FetchError, fetch},
    files::Stamps,
    schedule::{renew_in, retry_in},
};
use crate::Cloud;
use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime},
};

/// Fetches at once; more wait for their turn.
const FETCHES_MAX: usize = 8;
/// How often files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Longest sleep of the watching thread.
const SLEEP_MAX: Duration = Duration::from_secs(60);

/// A credential that is wanted.
#[derive(Debug)]
pub struct Wanted {
    /// The provider, for logs and metrics.
    pub provider: Box<str>,
    /// The name of the key, for logs and metrics.
    pub name: Box<str>,
    /// The same for as long as it is the same credential: another spec under the same id takes the place of the one before
    /// once it has been fetched.
    pub id: [u8; 32],
    /// How it is fetched.
    pub spec: Arc<Spec>,
}

/// How a credential fares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The provider.
    pub provider: Box<str>,
    /// The name of the key.
    pub name: Box<str>,
    /// Whose it is.
    pub cloud: Cloud,
    /// Whether requests can be sent with it.
    pub ready: bool,
    /// When it ends.
    pub expires_at: Option<SystemTime>,
    /// Fetches that went well, and that did not.
    pub fetches: (u64, u64),
}

/// Keeps credentials fresh. Until the first one is wanted it runs no thread.
#[derive(Debug, Default)]
pub struct Keeper {
    shared: Arc<Shared>,
    watching: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    kept: Mutex<HashMap<[u8; 32], Kept>>,
    bell: Arc<Bell>,
}

/// Wakes the watching thread.
#[derive(Debug, Default)]
pub(super) struct Bell {
    state: Mutex<Rung>,
    wake: Condvar,
}

#[derive(Debug, Default, Clone, Copy)]
struct Rung {
    rung: bool,
    closed: bool,
}

#[derive(Debug)]
struct Kept {
    provider: Box<str>,
    name: Box<str>,
    spec: Arc<Spec>,
    live: Arc<Live>,
    /// When it is fetched next; `None` for one that has no end and needs no more than a look at its files.
    due: Option<Instant>,
    fetching: bool,
    /// It is due again, whatever the fetch that runs brings.
    again: bool,
    failures: u32,
    fetches: (u64, u64),
    stamps: Stamps,
}

/// A fetch that begins. Whom it is for tells whether it still is wanted at its end: under the same id there may be another
/// one by then.
struct Fetch {
    id: [u8; 32],
    spec: Arc<Spec>,
    live: Arc<Live>,
}

impl Bell {
    pub(super) fn ring(&self) {
        lock(&self.state).rung = true;
        self.wake.notify_all();
    }

    /// Waits until it rings, or for a while; false once it is closed.
    fn wait(&self, at_most: Duration) -> bool {
        let state = lock(&self.state);
        let waited = self.wake.wait_timeout_while(state, at_most, |state| !state.rung && !state.closed);
        let mut state = waited.map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state);
        state.rung = false;
        !state.closed
    }
}

impl Keeper {
    /// From now on these credentials are kept and no others: what requests look at, in the order of what is wanted.
    /// Fetches begin at once and are not waited for.
    pub fn keep(&self, wanted: Vec<Wanted>) -> Vec<Arc<Live>> {
        let mut kept = lock(&self.shared.kept);
        let mut before = std::mem::take(&mut *kept);
        let (mut lives, mut idle) = (Vec::new(), true);
        for Wanted { provider, name, id, spec } in wanted {
            let mut one = match before.remove(&id) {
                Some(one) if one.spec == spec => one,
                Some(one) => {
                    Kept { due: Some(Instant::now()), again: one.fetching, failures: 0, spec, ..one }
                }
                None => Kept::new((provider, name), spec, &self.shared.bell),
            };
            if one.due.is_some() && one.spec.is_known() && !one.fetching {
                one.finish(fetch(&one.spec, SystemTime::now()));
            }
            idle &= one.due.is_none() && one.spec.files().is_empty();
            lives.push(Arc::clone(&one.live));
            kept.insert(id, one);
        }
        drop(kept);
        if !idle {
            self.watch();
        }
        self.shared.bell.ring();
        lives
    }

    /// How all of them fare, by provider and name.
    pub fn seen(&self) -> Vec<Seen> {
        let now = SystemTime::now();
        let of = |one: &Kept| Seen {
            provider: one.provider.clone(),
            name: one.name.clone(),
            cloud: one.spec.cloud(),
            ready: one.live.get(now).is_ok(),
            expires_at: one.live.expires_at(),
            fetches: one.fetches,
        };
        let mut seen: Vec<_> = lock(&self.shared.kept).values().map(of).collect();
        seen.sort_by(|a, b| (&a.provider, &a.name).cmp(&(&b.provider, &b.name)));
        seen
    }

    /// Whether each was fetched, or could not be.
    pub fn is_settled(&self) -> bool {
        lock(&self.shared.kept).values().all(|one| one.fetches != (0, 0))
    }

    /// Ends; what is there stays as it is.
    pub fn close(&self) {
        lock(&self.shared.bell.state).closed = true;
        self.shared.bell.wake.notify_all();
        if let Some(watching) = lock(&self.watching).take() {
            let _ = watching.join();
        }
    }

    fn watch(&self) {
        let mut watching = lock(&self.watching);
        if watching.is_none() && !lock(&self.shared.bell.state).closed {
            let shared = Arc::clone(&self.shared);
            match thread::Builder::new().name("credentials".to_owned()).spawn(move || run(&shared)) {
                Ok(thread) => *watching = Some(thread),
                Err(error) => tracing::error!("no thread for credentials: {error}"),
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.close();
    }
}

/// Begins what is due and takes up what was fetched, until the bell is closed.
fn run(shared: &Arc<Shared>) {
    let (done, finished) = mpsc::channel();
    let mut running = 0;
    loop {
        let mut next = SLEEP_MAX;
        let begun: Vec<Fetch> = {
            let mut kept = lock(&shared.kept);
            while let Ok((id, live, result)) = finished.try_recv() {
                running -= 1;
                if let Some(one) = kept.get_mut(&id).filter(|one| Arc::ptr_eq(&one.live, &live)) {
                    one.finish(result);
                }
            }
            let begun = begin(&mut kept, FETCHES_MAX - running, &mut next);
            running += begun.len();
            begun
        };
        for Fetch { id, spec, live } in begun {
            let (done, bell) = (done.clone(), Arc::clone(&shared.bell));
            let fetching = move || {
                let fetched = catch_unwind(AssertUnwindSafe(|| fetch(&spec, SystemTime::now())));
                let fetched = fetched.unwrap_or_else(|_| Err(FetchError::failed("the fetch panicked")));
                let _ = done.send((id, live, fetched));
                bell.ring();
            };
            if let Err(error) = thread::Builder::new().name("credential".to_owned()).spawn(fetching) {
                running -= 1;
                let failed = FetchError::failed(format!("no thread for it: {error}"));
                if let Some(one) = lock(&shared.kept).get_mut(&id) {
                    one.finish(Err(failed));
                }
            }
        }
        if !shared.bell.wait(next) {
            return;
        }
    }
}

/// Which fetches begin now, and when to look again.
fn begin(kept: &mut HashMap<[u8; 32], Kept>, room: usize, next: &mut Duration) -> Vec<Fetch> {
    let now = Instant::now();
    let mut begun = Vec::new();
    for (id, one) in kept {
        one.look(now);
        if one.fetching {
            continue;
        }
        let left = one.due.map(|due| due.saturating_duration_since(now));
        match left {
            Some(Duration::ZERO) if begun.len() < room => {
                one.fetching = true;
                begun.push(Fetch { id: *id, spec: Arc::clone(&one.spec), live: Arc::clone(&one.live) });
            }
            // The end of another fetch rings the bell.
            Some(Duration::ZERO) => {}
            Some(left) => *next = (*next).min(left),
            None => {}
        }
        if !one.spec.files().is_empty() {
            *next = (*next).min(LOOK_EVERY);
        }
    }
    begun
}

impl Kept {
    fn new((provider, name): (Box<str>, Box<str>), spec: Arc<Spec>, bell: &Arc<Bell>) -> Self {
        let (live, due) = (Arc::new(Live::new(Arc::clone(bell))), Some(Instant::now()));
        let stamps = Stamps::of(&spec.files());
        let (fetching, again, failures, fetches) = (false, false, 0, (0, 0));
        Self { provider, name, spec, live, due, fetching, again, failures, fetches, stamps }
    }

    /// Whether it was refused, or a file of it has changed.
    fn look(&mut self, now: Instant) {
        let stamps = Stamps::of(&self.spec.files());
        let changed = stamps != self.stamps;
        self.stamps = stamps;
        if self.live.take_refused() || changed {
            self.due = Some(now);
            self.again = self.fetching;
        }
    }

    /// Takes up the end of a fetch.
    fn finish(&mut self, fetched: Result<Ready, FetchError>) {
        self.fetching = false;
        let was_ready = self.live.get(SystemTime::now()).is_ok();
        let (provider, key) = (&*self.provider, &*self.name);
        let wait = match fetched {
            Ok(ready) => {
                let left =
                    ready.expires_at.map(|end| end.duration_since(SystemTime::now()).unwrap_or_default());
                if self.fetches == (0, 0) || self.failures > 0 || !was_ready {
                    tracing::info!(provider, key, "the credentials are ready");
                }
                self.live.succeed(ready);
                (self.failures, self.fetches.0) = (0, self.fetches.0 + 1);
                left.map(|left| renew_in(left, chance()))
            }
            Err(error) => {
                self.failures = self.failures.saturating_add(1);
                self.fetches.1 += 1;
                self.live.fail();
                if self.failures == 1 {
                    tracing::warn!(
                        provider,
                        key,
                        still_ready = was_ready,
                        "the credentials cannot be fetched: {error}"
                    );
                } else {
                    tracing::debug!(
                        provider,
                        key,
                        failures = self.failures,
                        "the credentials cannot be fetched: {error}"
                    );
                }
                Some(retry_in(self.failures, chance()))
            }
        };
        let again = std::mem::take(&mut self.again).then_some(Duration::ZERO);
        self.due = again.or(wait).map(|wait| Instant::now() + wait);
    }
}

/// From 0 to 1.
fn chance() -> f64 {
    let random = getrandom::u32().unwrap_or(u32::MAX / 2);
    f64::from(random) / f64::from(u32::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
