//! Applying changes of the document, its secrets and the certificate while requests run: whole or not at all.

use crate::{
    files::{ReadFiles, Watched},
    metric::{self, Reloaded},
    serve::Tls,
    source::{LoadError, Source},
};
use std::{sync::Arc, time::Duration};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::MissedTickBehavior,
};
use trestle_gateway::Gateway;

/// How often files are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Applies changes on SIGHUP, and as they happen.
pub(crate) struct Reload {
    source: Source,
    watched: Watched,
    watching: bool,
    revision: u64,
    gateway: Gateway,
    tls: Option<Arc<Tls>>,
    hangup: Signal,
}

impl Reload {
    /// From here on SIGHUP no longer ends the process. `read` is what revision 1 was made of. Changes of the
    /// certificate are applied as they happen, those of the document on the signal.
    pub(crate) fn install(
        source: Source,
        read: ReadFiles,
        gateway: Gateway,
        tls: Option<Arc<Tls>>,
    ) -> std::io::Result<Self> {
        let hangup = signal(SignalKind::hangup())?;
        Ok(Self { source, watched: Watched::new(read), watching: false, revision: 1, gateway, tls, hangup })
    }

    /// Applies changes of the document as they happen, too.
    pub(crate) fn watching(self) -> Self {
        Self { watching: true, ..self }
    }

    /// Runs as long as the process.
    pub(crate) async fn run(mut self) {
        let mut looks = tokio::time::interval(LOOK_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = self.hangup.recv() => tokio::task::block_in_place(|| {
                    tracing::info!("SIGHUP: applying what changed");
                    self.certificate();
                    self.document();
                }),
                _ = looks.tick() => tokio::task::block_in_place(|| self.look()),
            }
        }
    }

    fn look(&mut self) {
        if self.tls.as_ref().is_some_and(|tls| tls.changed()) {
            self.certificate();
        }
        if self.watching && self.watched.changed() {
            self.document();
        }
    }

    fn document(&mut self) {
        let load = self.source.load(self.revision + 1);
        // Also after a failure: the same wrong document is not tried again and again.
        self.watched = Watched::new(load.read);
        match load.outcome {
            Ok(compiled) => {
                for warning in &compiled.warnings {
                    tracing::warn!(path = warning.path, "{}", warning.message);
                }
                self.revision += 1;
                self.gateway.replace(compiled.snapshot);
                metric::revision(self.revision);
                metric::reloaded(Reloaded::Document, Ok(()));
                tracing::info!(revision = self.revision, "the document was applied");
            }
            Err(error) => {
                metric::reloaded(Reloaded::Document, Err(()));
                match &error {
                    LoadError::Invalid(problems) => {
                        for problem in &problems.0 {
                            tracing::error!(path = problem.path, "{}", problem.message);
                        }
                    }
                    LoadError::Unreadable { .. } => tracing::error!("{error}"),
                }
                tracing::error!(
                    revision = self.revision,
                    "the document was refused whole; the one before stays"
                );
            }
        }
    }

    fn certificate(&self) {
        let Some(tls) = &self.tls else { return };
        match tls.reload() {
            Ok(()) => {
                metric::reloaded(Reloaded::Certificate, Ok(()));
                tracing::info!("the certificate was applied to new connections");
            }
            Err(error) => {
                metric::reloaded(Reloaded::Certificate, Err(()));
                tracing::error!("the certificate was refused, the one before stays: {error:#}");
            }
        }
    }
}
