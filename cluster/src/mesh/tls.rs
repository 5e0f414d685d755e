//! TLS between nodes: who presents no certificate of this cluster gets no connection, in either direction.

use super::{
    network::Stream,
    tls_files::{Loaded, TlsError, TlsFiles},
};
use arc_swap::ArcSwap;
use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

const LOOK: Duration = Duration::from_secs(10);

/// Certificate, key and authority of a node, as they are now in their folder. A clone is the same.
#[derive(Clone)]
pub struct Tls {
    shared: Arc<Shared>,
}

struct Shared {
    folder: PathBuf,
    mesh_name: String,
    /// What new connections get. Running ones keep what they began with.
    loaded: ArcSwap<Loaded>,
    seen: Mutex<Seen>,
}

/// What was found at the last look.
struct Seen {
    files: TlsFiles,
    /// What was told last, so that it is told once.
    told: Option<String>,
}

impl Tls {
    /// Reads `tls.crt`, `tls.key` and `ca.crt` of a folder. Both sides of each connection must present a certificate of that
    /// authority which has the name of the mesh among its DNS names.
    ///
    /// # Errors
    ///
    /// A file cannot be read or used, the key is of another certificate, or the certificate is not one of this mesh. One
    /// that is out of date alone is no error: peers will refuse it, and the log says so.
    pub fn open(folder: &Path, mesh_name: &str) -> Result<Self, TlsError> {
        let files = TlsFiles::read(folder)?;
        let loaded = Loaded::new(folder, &files, mesh_name)?;
        let shared = Shared {
            folder: folder.to_owned(),
            mesh_name: mesh_name.to_owned(),
            loaded: ArcSwap::from_pointee(loaded),
            seen: Mutex::new(Seen { files, told: None }),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Looks at the files now; whether new connections get something new. Running connections go on. Waits for the disk.
    ///
    /// # Errors
    ///
    /// What is there now cannot be used; what was there before stays in use.
    pub fn reload(&self) -> Result<bool, TlsError> {
        let shared = &self.shared;
        // Held throughout: two looks at once must not leave the older one in use.
        let mut seen = shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let files = TlsFiles::read(&shared.folder)?;
        if files == seen.files {
            return Ok(false);
        }
        shared.loaded.store(Arc::new(Loaded::new(&shared.folder, &files, &shared.mesh_name)?));
        seen.files = files;
        Ok(true)
    }

    /// When the certificate that new connections get ends, if that can be read.
    pub fn ends_at(&self) -> Option<SystemTime> {
        self.shared.loaded.load().ends_at
    }

    /// Looks at the files every 10 s, for ever. What cannot be used is told once.
    pub async fn watch(self) {
        loop {
            tokio::time::sleep(LOOK).await;
            let tls = self.clone();
            let looked = tokio::task::spawn_blocking(move || tls.look());
            if looked.await.is_err() {
                tracing::error!("a look at the certificates of the mesh was interrupted");
            }
        }
    }

    /// Looks once; whether something was told.
    pub(super) fn look(&self) -> bool {
        let looked = self.reload();
        let mut seen = self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match looked {
            Ok(false) => {
                seen.told = None;
                false
            }
            Ok(true) => {
                seen.told = None;
                tracing::info!("new certificates of the mesh are in use");
                true
            }
            Err(error) => {
                let text = error.to_string();
                if seen.told.as_ref() == Some(&text) {
                    return false;
                }
                tracing::error!(%error, "new certificates of the mesh cannot be used: the earlier ones stay in use");
                seen.told = Some(text);
                true
            }
        }
    }

    /// The side that connects.
    pub(super) async fn connect<S: Stream>(&self, stream: S) -> io::Result<client::TlsStream<S>> {
        let loaded = self.shared.loaded.load_full();
        TlsConnector::from(loaded.client.clone()).connect(loaded.name.clone(), stream).await
    }

    /// The side that is connected to.
    pub(super) async fn accept<S: Stream>(&self, stream: S) -> io::Result<server::TlsStream<S>> {
        let config = self.shared.loaded.load().server.clone();
        TlsAcceptor::from(config).accept(stream).await
    }

    #[cfg(test)]
    pub(super) fn client_config(&self) -> rustls::ClientConfig {
        (*self.shared.loaded.load().client).clone()
    }
}
