//! The sessions of the process: how many there are, and how they are told that the node goes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};
use tokio::sync::watch;

/// How long sessions have for their goodbye, and how often it is looked whether they are done.
const GOODBYE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(5);

/// The sessions of the process.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    running: Arc<AtomicUsize>,
    leaving: watch::Sender<bool>,
}

/// One of them, counted until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    running: Arc<AtomicUsize>,
    leaving: watch::Receiver<bool>,
}

impl Sessions {
    /// A place for one more.
    pub(crate) fn place(&self) -> Place {
        self.running.fetch_add(1, SeqCst);
        Place { running: Arc::clone(&self.running), leaving: self.leaving.subscribe() }
    }

    /// Tells all that the node goes, and waits until they are gone, within a bound.
    pub(crate) fn end(&self) {
        self.leaving.send_replace(true);
        let deadline = Instant::now() + GOODBYE;
        while self.running.load(SeqCst) > 0 && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
    }
}

impl Place {
    /// Ready when the node goes.
    pub(crate) async fn told(&mut self) {
        // An error is the end of the process's part, and as good as being told.
        let _ = self.leaving.wait_for(|leaving| *leaving).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.running.fetch_sub(1, SeqCst);
    }
}
