//! The handle of what operators set: consensus, what is compiled of it, and who may ask.

use super::{
    Kept, Keyring, SECRETS, TOKENS, TokenEntity, Tokens, Wrapped,
    compiled::{self, Compiled, Made},
};
use crate::metric::{self, Reloaded};
use arc_swap::ArcSwap;
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{sync::watch, task::block_in_place, time::MissedTickBehavior};
use trestle_cluster::{Changed, Consensus};
use trestle_config::{Difference, Problem, Problems, Snapshot};
use trestle_gateway::Gateway;

/// How often the files of secrets are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// What operators set. A clone is another handle to the same.
#[derive(Clone)]
pub(crate) struct Control(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) consensus: Consensus,
    pub(super) keyring: Keyring,
    /// One change of this node at a time.
    pub(super) turn: tokio::sync::Mutex<()>,
    /// The file that alone changes the document, if there is one.
    pub(super) file: Option<PathBuf>,
    compiled: Mutex<Compiled>,
    tokens: ArcSwap<Tokens>,
    /// The token of the node settings.
    own_token: Option<TokenEntity>,
    /// The last revision that requests see.
    pub(super) applied: watch::Sender<u64>,
    gateway: OnceLock<Gateway>,
    closing: AtomicBool,
}

impl Control {
    /// Compiles what consensus holds and follows it, on this runtime.
    pub(super) fn new(
        consensus: Consensus,
        keyring: Keyring,
        file: Option<PathBuf>,
        own_token: Option<TokenEntity>,
    ) -> anyhow::Result<Self> {
        let compiled = Compiled::load(&consensus, &keyring)?;
        let control = Self(Arc::new(Inner {
            applied: watch::Sender::new(compiled.revision),
            compiled: Mutex::new(compiled),
            tokens: ArcSwap::default(),
            turn: tokio::sync::Mutex::default(),
            gateway: OnceLock::new(),
            closing: AtomicBool::new(false),
            consensus,
            keyring,
            file,
            own_token,
        }));
        control.read_tokens()?;
        tokio::spawn(control.clone().follow());
        tokio::spawn(control.clone().watch_store());
        Ok(control)
    }

    /// Consensus itself, to look at.
    pub(crate) fn consensus(&self) -> &Consensus {
        &self.0.consensus
    }

    /// Whether the document is changed by a file alone; which one.
    pub(crate) fn file(&self) -> Option<&PathBuf> {
        self.0.file.as_ref()
    }

    /// Who may use the admin API.
    pub(crate) fn tokens(&self) -> Arc<Tokens> {
        self.0.tokens.load_full()
    }

    /// The snapshot that requests see or will see.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.compiled().compilation.snapshot().clone()
    }

    /// A warning that nobody can ask, if that is so.
    pub(crate) fn nobody(&self) -> Option<Problem> {
        self.compiled().compilation.nobody()
    }

    /// Why the entities as they are now do not compile.
    pub(crate) fn broken(&self) -> Option<Problems> {
        self.compiled().broken.clone()
    }

    /// From here on each change reaches the requests of a gateway.
    pub(crate) fn drive(&self, gateway: Gateway) {
        let compiled = self.compiled();
        let _ = self.0.gateway.set(gateway);
        self.publish(&compiled);
    }

    /// Ends consensus: what was acknowledged is on the disk already.
    pub(crate) async fn close(&self) {
        self.0.closing.store(true, Relaxed);
        if let Err(error) = self.0.consensus.clone().close().await {
            tracing::warn!("{error}");
        }
    }

    /// Reads all secrets anew, and so compiles all anew.
    pub(crate) fn refresh(&self) {
        let mut compiled = self.compiled();
        self.rebuild(&mut compiled);
        metric::reloaded(Reloaded::Secrets, compiled.broken.as_ref().map_or(Ok(()), |_| Err(())));
    }

    /// What the entities would be compiled to with these changes.
    pub(super) fn candidate(
        &self,
        revision: u64,
        changes: &[Difference],
    ) -> anyhow::Result<Result<Made, Problems>> {
        let compiled = self.compiled();
        if compiled.broken.is_none() {
            return Ok(compiled.with(revision, changes, &self.0.keyring).0);
        }
        drop(compiled);
        let mut entities = BTreeMap::new();
        for stored in self.0.consensus.entities()?.1 {
            if let Some(kept) = Kept::read(stored)? {
                let name = (kept.entity.kind, kept.entity.id.clone());
                entities.insert(name, Difference::Set(kept.entity));
            }
        }
        Ok(compiled::mended(entities, changes, (revision, &self.0.keyring)))
    }

    /// Whether a file that a secret came from is no longer what was read.
    pub(super) fn files_changed(&self) -> bool {
        self.compiled().watched.changed()
    }

    fn compiled(&self) -> MutexGuard<'_, Compiled> {
        self.0.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn follow(self) {
        let mut revisions = self.0.consensus.revisions();
        let mut looks = tokio::time::interval(LOOK_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // What came before we began to follow.
        revisions.mark_changed();
        loop {
            tokio::select! {
                changed = revisions.changed() => match changed {
                    Ok(()) => block_in_place(|| self.catch_up()),
                    Err(_) => return,
                },
                _ = looks.tick() => block_in_place(|| {
                    if self.files_changed() {
                        tracing::info!("a file with a secret has changed");
                        self.refresh();
                    }
                }),
            }
        }
    }

    /// Requests are served without it, so somebody must be told.
    async fn watch_store(self) {
        metric::store(true);
        let why = self.0.consensus.ended().await;
        if self.0.closing.load(Relaxed) {
            return;
        }
        metric::store(false);
        tracing::error!(
            "the store has ended: requests are served on, changes are not taken until a restart: {why}"
        );
    }

    fn catch_up(&self) {
        let mut compiled = self.compiled();
        let caught_up = match self.0.consensus.changed_since(compiled.revision) {
            Ok(Some((revision, changed))) => self.apply(&mut compiled, revision, changed),
            Ok(None) => {
                let read = self.read_tokens().and_then(|()| self.read_data_key());
                self.rebuild(&mut compiled);
                read
            }
            Err(error) => Err(error.into()),
        };
        if let Err(error) = caught_up {
            tracing::error!("the entities cannot be followed: {error:#}");
        }
    }

    fn apply(&self, compiled: &mut Compiled, revision: u64, changed: Vec<Changed>) -> anyhow::Result<()> {
        let (mut changes, mut tokens, mut data_key) = (Vec::new(), false, false);
        for Changed { kind, id, now } in changed {
            tokens |= kind == TOKENS;
            data_key |= kind == SECRETS;
            changes.extend(Kept::difference(&kind, id, now)?);
        }
        if tokens {
            self.read_tokens()?;
        }
        if data_key {
            self.read_data_key()?;
        }
        if compiled.broken.is_some() || data_key {
            self.rebuild(compiled);
            return Ok(());
        }
        let made = compiled.with(revision, &changes, &self.0.keyring);
        compiled.take(revision, made);
        self.publish(compiled);
        Ok(())
    }

    fn rebuild(&self, compiled: &mut Compiled) {
        let revision = self.0.consensus.revision();
        match compiled::all(&self.0.consensus, &self.0.keyring, revision) {
            Ok(attempt) => compiled.take_all(revision, attempt),
            Err(error) => tracing::error!("the entities cannot be read: {error:#}"),
        }
        self.publish(compiled);
    }

    fn publish(&self, compiled: &Compiled) {
        if let Some(gateway) = self.0.gateway.get() {
            gateway.replace(compiled.compilation.snapshot().clone());
            metric::revision(compiled.compilation.snapshot().revision);
            metric::broken(compiled.broken.is_some());
        }
        self.0.applied.send_replace(compiled.revision);
    }

    fn read_tokens(&self) -> anyhow::Result<()> {
        let mut tokens = Tokens::default();
        for stored in self.0.consensus.page(TOKENS, None, usize::MAX)?.1 {
            tokens.add(&stored.id, serde_json::from_slice(&stored.value)?);
        }
        if let Some(token) = &self.0.own_token {
            tokens.add("settings", token.clone());
        }
        self.0.tokens.store(Arc::new(tokens));
        Ok(())
    }

    fn read_data_key(&self) -> anyhow::Result<()> {
        if let Some(kept) = data_key(&self.0.consensus)? {
            self.0.keyring.unlock(Some(&kept))?;
        }
        Ok(())
    }
}

/// The data key that is kept.
pub(super) fn data_key(consensus: &Consensus) -> anyhow::Result<Option<Wrapped>> {
    let kept = consensus.entity(SECRETS, super::DATA_KEY)?;
    Ok(kept.map(|kept| serde_json::from_slice(&kept.value)).transpose()?)
}
