//! Applying changes of the document's file, of secrets and of the certificate while requests run: whole or not at all.

use crate::{
    control::Control,
    files::{DOCUMENT_BYTES_MAX, ReadFiles, Watched},
    metric::{self, Reloaded},
    serve::Tls,
};
use std::{sync::Arc, time::Duration};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    task::block_in_place,
    time::MissedTickBehavior,
};

/// How often files are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Applies changes on SIGHUP, and as they happen.
pub(crate) struct Reload {
    control: Control,
    /// The document's file, if its changes are applied as they happen.
    watched: Option<Watched>,
    tls: Option<Arc<Tls>>,
    hangup: Signal,
}

impl Reload {
    /// From here on SIGHUP no longer ends the process. Changes of the certificate are applied as they happen, those of the
    /// document's file on the signal.
    pub(crate) fn install(control: Control, tls: Option<Arc<Tls>>) -> std::io::Result<Self> {
        Ok(Self { control, watched: None, tls, hangup: signal(SignalKind::hangup())? })
    }

    /// Applies changes of the document's file as they happen, too.
    pub(crate) fn watching(self) -> Self {
        Self { watched: self.read(), ..self }
    }

    /// Runs as long as the process.
    pub(crate) async fn run(mut self) {
        let mut looks = tokio::time::interval(LOOK_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = self.hangup.recv() => {
                    tracing::info!("SIGHUP: applying what changed");
                    block_in_place(|| {
                        self.certificate();
                        self.control.refresh();
                    });
                    self.document().await;
                }
                _ = looks.tick() => {
                    if block_in_place(|| self.tls.as_ref().is_some_and(|tls| tls.changed())) {
                        self.certificate();
                    }
                    if block_in_place(|| self.watched.as_mut().is_some_and(Watched::changed)) {
                        self.document().await;
                    }
                }
            }
        }
    }

    fn read(&self) -> Option<Watched> {
        let mut read = ReadFiles::default();
        // An error is remembered as well: it is gone once the file can be read.
        let _ = read.text(self.control.file()?, DOCUMENT_BYTES_MAX);
        Some(Watched::new(read))
    }

    async fn document(&mut self) {
        if self.watched.is_some() {
            // Before it is applied: what comes meanwhile is another change. Also if it is wrong: it is not tried again
            // and again.
            self.watched = block_in_place(|| self.read());
        }
        self.control.apply_file().await;
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
