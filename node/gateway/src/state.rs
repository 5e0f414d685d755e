//! What outlives snapshots and is shared by all data threads: per provider its slots, the health of its keys and
//! what was learned of its models. Read with atomics on the request path; locks are touched only when something is
//! new or saturated.

use arc_swap::ArcSwapOption;
use std::{
    collections::{HashMap, HashSet, VecDeque},
    future::poll_fn,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicBool, AtomicU32, AtomicU64,
            Ordering::{AcqRel, Acquire, Relaxed, SeqCst},
        },
    },
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use trestle_provider::credential::Live;

/// Models whose learned quirk is remembered, per provider.
const LEARNED_MAX: usize = 1_000;

/// A lock that a panic elsewhere does not close.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state of one provider.
#[derive(Debug, Default)]
pub(crate) struct ProviderState {
    /// Calls that run and wait.
    pub(crate) slots: Slots,
    /// Connections opened so far.
    pub(crate) connections: AtomicU64,
    pub(crate) keys: Mutex<HashMap<[u8; 32], Arc<KeyHealth>>>,
    any_learned: AtomicBool,
    learned: Mutex<HashSet<Box<str>>>,
}

impl ProviderState {
    /// The health of a key by its fingerprint.
    pub(crate) fn key(&self, fingerprint: &[u8; 32]) -> Arc<KeyHealth> {
        Arc::clone(lock(&self.keys).entry(*fingerprint).or_default())
    }

    /// Whether a model was seen to want `max_completion_tokens`.
    pub(crate) fn wants_max_completion_tokens(&self, model: &str) -> bool {
        self.any_learned.load(Relaxed) && lock(&self.learned).contains(model)
    }

    /// Remembers that a model wants `max_completion_tokens`; false if that was known (or the memory is full).
    pub(crate) fn learn_max_completion_tokens(&self, model: &str) -> bool {
        let mut learned = lock(&self.learned);
        if learned.len() >= LEARNED_MAX {
            return false;
        }
        self.any_learned.store(true, Relaxed);
        learned.insert(model.into())
    }
}

/// Whether a key may be used now.
#[derive(Debug, Default)]
pub(crate) struct KeyHealth {
    /// Milliseconds since the process began; 0 means never benched.
    benched_until_ms: AtomicU64,
    /// What was fetched, for a key that is issued by a cloud.
    live: ArcSwapOption<Live>,
}

fn now_ms() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_millis() as u64
}

impl KeyHealth {
    /// Keeps the key out for a while.
    pub(crate) fn bench(&self, how_long: Duration) {
        let until = now_ms().saturating_add(how_long.as_millis() as u64).max(1);
        self.benched_until_ms.fetch_max(until, Relaxed);
    }

    /// From here on it is this credential that is fetched.
    pub(crate) fn follow(&self, live: Arc<Live>) {
        self.live.store(Some(live));
    }

    /// The credential that is fetched.
    pub(crate) fn live(&self) -> Option<Arc<Live>> {
        self.live.load_full()
    }

    /// How long it is still out; `None` if it may be used.
    pub(crate) fn benched(&self) -> Option<Duration> {
        let until = self.benched_until_ms.load(Relaxed);
        if until == 0 {
            return None;
        }
        until.checked_sub(now_ms()).filter(|ms| *ms > 0).map(Duration::from_millis)
    }
}

/// A provider's own concurrency limit and bounded queue. First come, first served, over all threads.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    used: AtomicU32,
    waiting: AtomicU32,
    queue: Mutex<VecDeque<Arc<Waiter>>>,
}

#[derive(Debug, Default)]
struct Waiter {
    called: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

/// A call that runs; ends its slot when dropped.
#[derive(Debug)]
pub(crate) struct Slot(Arc<ProviderState>);

/// The queue is full.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct QueueFull;

impl Slots {
    /// Calls that run now.
    pub(crate) fn used(&self) -> u32 {
        self.used.load(Relaxed)
    }

    /// Calls that wait now.
    pub(crate) fn waiting(&self) -> u32 {
        self.waiting.load(Relaxed)
    }

    fn take(&self, limit: u32) -> bool {
        let mut used = self.used.load(Acquire);
        while used < limit {
            match self.used.compare_exchange_weak(used, used + 1, SeqCst, Acquire) {
                Ok(_) => return true,
                Err(now) => used = now,
            }
        }
        false
    }

    fn call_next(&self) {
        if self.waiting.load(SeqCst) == 0 {
            return;
        }
        let next = lock(&self.queue).pop_front();
        if let Some(waiter) = next {
            waiter.called.store(true, SeqCst);
            if let Some(waker) = lock(&waiter.waker).take() {
                waker.wake();
            }
        }
    }
}

/// Takes a slot at once, or waits in the queue if there is room in it.
pub(crate) async fn acquire(state: &Arc<ProviderState>, limit: u32, queue: u32) -> Result<Slot, QueueFull> {
    let slots = &state.slots;
    if slots.waiting.load(Acquire) == 0 && slots.take(limit) {
        return Ok(Slot(Arc::clone(state)));
    }
    if slots.waiting.fetch_add(1, SeqCst) >= queue {
        slots.waiting.fetch_sub(1, AcqRel);
        return Err(QueueFull);
    }
    let mut place = Place { slots, waiter: None };
    poll_fn(|cx| place.poll(limit, cx)).await;
    drop(place);
    Ok(Slot(Arc::clone(state)))
}

/// A place in the queue; leaves it when dropped, and passes a call on that it can no longer answer.
struct Place<'a> {
    slots: &'a Slots,
    waiter: Option<Arc<Waiter>>,
}

impl Place<'_> {
    fn poll(&mut self, limit: u32, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if let Some(waiter) = &self.waiter
                && !waiter.called.load(SeqCst)
            {
                *lock(&waiter.waker) = Some(cx.waker().clone());
                // A call may have come between the two looks.
                if !waiter.called.load(SeqCst) {
                    return Poll::Pending;
                }
            }
            // New here, or called: a newcomer may have been quicker, then it is the end of the queue again. To stand
            // in the queue before trying is what makes sure that a slot that is freed now is not missed.
            let waiter = Arc::new(Waiter::default());
            lock(&self.slots.queue).push_back(Arc::clone(&waiter));
            self.waiter = Some(waiter);
            if self.slots.take(limit) {
                return Poll::Ready(());
            }
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.slots.waiting.fetch_sub(1, SeqCst);
        let Some(waiter) = self.waiter.take() else { return };
        let mut queue = lock(&self.slots.queue);
        let before = queue.len();
        queue.retain(|other| !Arc::ptr_eq(other, &waiter));
        let was_called = queue.len() == before;
        drop(queue);
        if was_called {
            self.slots.call_next();
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.slots.used.fetch_sub(1, SeqCst);
        self.0.slots.call_next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn calls_beyond_the_limit_wait_and_beyond_the_queue_are_refused() {
        let state = Arc::new(ProviderState::default());
        let first = acquire(&state, 1, 1).await.unwrap();
        let waiting = tokio::spawn({
            let state = Arc::clone(&state);
            async move { acquire(&state, 1, 1).await }
        });
        while state.slots.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(acquire(&state, 1, 1).await.unwrap_err(), QueueFull);
        drop(first);
        let second = waiting.await.unwrap().unwrap();
        assert_eq!((state.slots.used(), state.slots.waiting()), (1, 0));
        drop(second);
        assert_eq!(state.slots.used(), 0);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_call_is_forgotten_and_the_limit_holds() {
        let state = Arc::new(ProviderState::default());
        let running = Arc::new(AtomicU32::new(0));
        let tasks: Vec<_> = (0..64)
            .map(|i| {
                let (state, running) = (Arc::clone(&state), Arc::clone(&running));
                tokio::spawn(async move {
                    for round in 0..50 {
                        let wait = acquire(&state, 3, 1_000);
                        // Some give up while they wait.
                        if (i + round) % 7 == 0 {
                            let _ = tokio::time::timeout(Duration::from_micros(50), wait).await;
                            continue;
                        }
                        let slot = wait.await.unwrap();
                        assert!(running.fetch_add(1, SeqCst) < 3);
                        tokio::task::yield_now().await;
                        running.fetch_sub(1, SeqCst);
                        drop(slot);
                    }
                })
            })
            .collect();
        for task in tasks {
            tokio::time::timeout(Duration::from_secs(60), task)
                .await
                .expect("a waiter was forgotten")
                .unwrap();
        }
        assert_eq!((state.slots.used(), state.slots.waiting()), (0, 0));
        assert!(lock(&state.slots.queue).is_empty());
    }

    #[test]
    fn a_benched_key_comes_back() {
        let health = KeyHealth::default();
        assert_eq!(health.benched(), None);
        health.bench(Duration::from_secs(60));
        health.bench(Duration::from_secs(1));
        assert!(health.benched().unwrap() > Duration::from_secs(50));
    }

    #[test]
    fn what_was_learned_is_news_once() {
        let state = ProviderState::default();
        assert!(!state.wants_max_completion_tokens("o1"));
        assert!(state.learn_max_completion_tokens("o1"));
        assert!(!state.learn_max_completion_tokens("o1"));
        assert!(state.wants_max_completion_tokens("o1") && !state.wants_max_completion_tokens("gpt-4o"));
    }
}
