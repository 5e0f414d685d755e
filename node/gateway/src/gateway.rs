//! The handle of a running gateway: snapshot, data threads, metrics, drain.

use crate::Worker;
use std::{future::Future, io::Write, rc::Rc, sync::Arc};
use trestle_config::{Problems, Snapshot};

/// A running gateway; clones are handles of the same one.
#[derive(Clone)]
pub struct Gateway {
    _shared: Arc<()>,
}

/// How to run.
pub struct Options {
    /// Data threads; 0 means as many as the cgroup quota gives.
    pub threads: usize,
    /// Where the request log goes, one JSON object a line; `None` for nowhere.
    pub log: Option<Box<dyn Write + Send>>,
}

/// Why a gateway could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The document is wrong.
    #[error("the document is not valid:\n{0}")]
    Document(#[from] Problems),
    /// Threads or sockets.
    #[error("cannot start: {0}")]
    Io(#[from] std::io::Error),
}

#[allow(unused_variables, clippy::unimplemented)]
impl Gateway {
    /// Starts the data threads.
    pub fn start(snapshot: Snapshot, options: Options) -> std::io::Result<Self> {
        unimplemented!()
    }

    /// Starts a gateway inside of this process from the text of a document; secrets come from environment and files.
    pub fn open(document: &str) -> Result<Self, OpenError> {
        unimplemented!()
    }

    /// The snapshot that requests see now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        unimplemented!()
    }

    /// Lets requests from now on see another snapshot; running ones keep theirs.
    pub fn replace(&self, snapshot: Snapshot) {
        unimplemented!()
    }

    /// Requests that run now.
    pub fn in_flight(&self) -> usize {
        unimplemented!()
    }

    /// Metrics of the data plane in the Prometheus text format.
    pub fn metrics(&self) -> String {
        unimplemented!()
    }

    /// Runs a task (a connection) on the data thread with the least in flight; it counts there until it ends.
    pub fn spawn<F, T>(&self, task: F)
    where
        F: FnOnce(Rc<Worker>) -> T + Send + 'static,
        T: Future<Output = ()> + 'static,
    {
        unimplemented!()
    }

    /// Ends the data threads; what still runs on them is cut off. Returns when the log is written.
    pub fn stop(&self) {
        unimplemented!()
    }
}
