//! A credential as requests see it: ready, or why not. Read with one atomic load; written by the keeper alone.

use super::{Ready, keeper::Bell};
use arc_swap::ArcSwap;
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::AcqRel},
    },
    time::{Duration, Instant, SystemTime},
};

/// A vendor that refuses what is new is not asked for newer ones all the time.
const RENEWAL_EVERY: Duration = Duration::from_secs(60);

/// Why a credential cannot be used now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotReady {
    /// It is being fetched.
    Pending,
    /// It could not be fetched; it is tried again.
    Failed,
}

/// A credential as requests see it.
#[derive(Debug)]
pub struct Live {
    state: ArcSwap<State>,
    /// Somebody found out that it is no longer taken.
    refused: AtomicBool,
    renewed: Mutex<Option<Instant>>,
    bell: Arc<Bell>,
}

#[derive(Debug, Default, Clone)]
struct State {
    ready: Option<Arc<Ready>>,
    failing: bool,
}

impl Live {
    pub(super) fn new(bell: Arc<Bell>) -> Self {
        Self { state: ArcSwap::default(), refused: AtomicBool::new(false), renewed: Mutex::default(), bell }
    }

    /// The credential, if it can be used now.
    pub fn get(&self, now: SystemTime) -> Result<Arc<Ready>, NotReady> {
        let state = self.state.load();
        match &state.ready {
            Some(ready) if ready.expires_at.is_none_or(|end| now < end) => Ok(Arc::clone(ready)),
            _ if state.failing => Err(NotReady::Failed),
            _ => Err(NotReady::Pending),
        }
    }

    /// The vendor refused this one. True if another is there or on its way; false if there is no point in one: it has no
    /// end, or the last one that was fetched for this reason was refused as well, less than a minute ago.
    pub fn refuse(&self, ready: &Arc<Ready>, now: Instant) -> bool {
        let mut renewed = self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.state.load_full();
        if !state.ready.as_ref().is_some_and(|held| Arc::ptr_eq(held, ready)) {
            return true;
        }
        let just_now = renewed.is_some_and(|at| now.saturating_duration_since(at) < RENEWAL_EVERY);
        if ready.expires_at.is_none() || just_now {
            return false;
        }
        *renewed = Some(now);
        self.state.store(Arc::new(State { ready: None, failing: false }));
        self.refused.store(true, std::sync::atomic::Ordering::Release);
        drop(renewed);
        self.bell.ring();
        true
    }

    pub(super) fn take_refused(&self) -> bool {
        self.refused.swap(false, AcqRel)
    }

    pub(super) fn succeed(&self, ready: Ready) {
        // Under the lock, so that a refusal of the one before does not throw this one away.
        let _renewing = self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        self.state.store(Arc::new(State { ready: Some(Arc::new(ready)), failing: false }));
    }

    pub(super) fn fail(&self) {
        let _renewing = self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        let ready = self.state.load().ready.clone();
        self.state.store(Arc::new(State { ready, failing: true }));
    }

    pub(super) fn expires_at(&self) -> Option<SystemTime> {
        self.state.load().ready.as_ref()?.expires_at
    }
}
