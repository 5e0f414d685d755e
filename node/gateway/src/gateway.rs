//! The handle of a running gateway: snapshot, data threads, metrics, drain.

use crate::{
    budget::Budget,
    limits::{self, Counted, LimitPage, LimitsAsked},
    log,
    metrics::{self, Family, KeyNames},
    realtime::Sessions,
    spans::{Sampling, Tracing},
    state::{ProviderState, lock},
    thread::{self, Job, Seat},
    trace::Recent,
    worker::{Worker, WorkerParts},
};
use arc_swap::ArcSwap;
use std::{
    collections::HashMap,
    future::Future,
    io::{self, Write},
    rc::Rc,
    sync::{Arc, Mutex, atomic::Ordering::Relaxed},
    thread::JoinHandle,
    time::Duration,
};
use tokio::sync::oneshot;
use trestle_config::{Problems, Secrets, Snapshot};
use trestle_counters::{Actor, Cells, NodeId, Settled, Window};
use trestle_provider::credential::{Keeper, Wanted};
use trestle_store::Ledger;

/// How often it is looked whether credentials are there.
const SETTLE_POLL: Duration = Duration::from_millis(10);

/// A running gateway; clones are handles of the same one.
#[derive(Clone)]
pub struct Gateway {
    shared: Arc<Shared>,
    running: Arc<Mutex<Running>>,
}

/// The process's part of a gateway: what all data threads share.
pub(crate) struct Shared {
    /// What requests read.
    pub(crate) snapshot: ArcSwap<Snapshot>,
    /// One for each data thread.
    pub(crate) seats: Vec<Seat>,
    /// The bound on held bytes.
    pub(crate) budget: Arc<Budget>,
    /// Whether anybody reads the records.
    pub(crate) logging: bool,
    /// Which requests are traced; `None`: none is.
    pub(crate) sampling: Option<Sampling>,
    /// Fetches the credentials that clouds issue.
    pub(crate) keeper: Keeper,
    /// Sessions over WebSocket.
    pub(crate) sessions: Sessions,
    /// What limits count.
    pub(crate) counted: Counted,
    /// Which keys have series of their own.
    pub(crate) key_names: KeyNames,
    /// The last requests, for who asks about one.
    pub(crate) recent: Recent,
    providers: Mutex<HashMap<Box<str>, Arc<ProviderState>>>,
}

impl Shared {
    /// The state of a provider.
    pub(crate) fn provider(&self, name: &str) -> Arc<ProviderState> {
        Arc::clone(lock(&self.providers).entry(name.into()).or_default())
    }

    /// All providers that were called, by name.
    pub(crate) fn providers(&self) -> Vec<(Box<str>, Arc<ProviderState>)> {
        let mut all: Vec<_> = lock(&self.providers).iter().map(|(n, s)| (n.clone(), Arc::clone(s))).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    /// Has the credentials of a snapshot fetched, before it is the one that requests see.
    fn keep_credentials(&self, snapshot: &Snapshot) {
        let (mut wanted, mut health) = (Vec::new(), Vec::new());
        for provider in snapshot.providers.values() {
            for credential in &provider.credentials {
                let Some(spec) = &credential.spec else { continue };
                wanted.push(Wanted {
                    provider: provider.name.clone(),
                    name: credential.name.clone(),
                    id: credential.fingerprint,
                    spec: Arc::clone(spec),
                });
                health.push(self.provider(&provider.name).key(&credential.fingerprint));
            }
        }
        for (health, live) in health.into_iter().zip(self.keeper.keep(wanted)) {
            health.follow(live);
        }
    }

    /// The seat with the least in flight.
    pub(crate) fn idlest(&self) -> usize {
        self.seats.iter().enumerate().min_by_key(|(_, seat)| seat.load()).map_or(0, |(index, _)| index)
    }
}

#[derive(Default)]
struct Running {
    stops: Vec<oneshot::Sender<()>>,
    threads: Vec<JoinHandle<()>>,
    writer: Option<log::Writer>,
}

/// Counters of all limits together. One takes about 300 bytes; a request whose counter finds no room is answered 503.
pub const COUNTERS_MAX: usize = 2_000_000;

/// How to run.
pub struct Options {
    /// Data threads; 0 means as many as the cgroup quota gives.
    pub threads: usize,
    /// Where the request log goes, one JSON object a line; `None` for nowhere.
    pub log: Option<Box<dyn Write + Send>>,
    /// Where each call of a provider gets a line; nowhere, where no ledger is kept.
    pub ledger: Option<Ledger>,
    /// What limits count.
    pub cells: Arc<Cells>,
    /// So many keys have metrics of their own; what others use is counted together.
    pub key_series_max: usize,
    /// How requests are traced; `None`: not at all.
    pub tracing: Option<Tracing>,
}

impl Default for Options {
    /// As many threads as there are processors; no log, no ledger, nothing counted, no metrics of keys.
    fn default() -> Self {
        let own = Actor { node: NodeId(0), incarnation: 0 };
        let cells = Cells::new(own, &Settled::new(0), COUNTERS_MAX, 0);
        Self { threads: 0, log: None, ledger: None, cells: Arc::new(cells), key_series_max: 0, tracing: None }
    }
}

/// Why a gateway could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The document is wrong.
    #[error("the document is not valid:\n{0}")]
    Document(#[from] Problems),
    /// Threads or sockets.
    #[error("cannot start: {0}")]
    Io(#[from] io::Error),
}

/// Secrets from the environment and the file system of this process.
#[derive(Debug, Clone, Copy)]
pub struct HostSecrets;

impl Secrets for HostSecrets {
    fn env(&self, name: &str) -> Result<String, String> {
        std::env::var(name).map_err(|_| format!("the environment variable {name} is not set"))
    }

    fn file(&self, path: &str) -> Result<String, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{path} cannot be read: {}", error.kind()))?;
        Ok(text.trim_end_matches(['\n', '\r']).to_owned())
    }

    fn sealed(&self, _: &str) -> Result<String, String> {
        Err("sealed values are for the node that sealed them".to_owned())
    }
}

impl Gateway {
    /// Starts the data threads.
    pub fn start(snapshot: Snapshot, options: Options) -> io::Result<Self> {
        let count = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        let (seats, jobs): (Vec<_>, Vec<_>) = (0..count).map(|_| Seat::new()).unzip();
        let shared = Arc::new(Shared {
            snapshot: ArcSwap::from_pointee(snapshot),
            seats,
            budget: Arc::default(),
            logging: options.log.is_some() || options.tracing.is_some(),
            sampling: options.tracing.as_ref().map(|tracing| tracing.sampling),
            keeper: Keeper::default(),
            sessions: Sessions::default(),
            counted: Counted::new(count, options.cells),
            key_names: KeyNames::new(options.key_series_max),
            recent: Recent::default(),
            providers: Mutex::default(),
        });
        shared.keep_credentials(&shared.snapshot.load());
        let mut running = Running::default();
        let mut rings = Vec::new();
        for (index, jobs) in jobs.into_iter().enumerate() {
            let (records, ring) = WorkerParts::ring();
            rings.push(ring);
            let (stop, stopped) = oneshot::channel();
            running.stops.push(stop);
            let mut seed = [0; 16];
            getrandom::fill(&mut seed).map_err(io::Error::other)?;
            let seed = u128::from_le_bytes(seed);
            let parts = WorkerParts {
                shared: Arc::clone(&shared),
                index,
                records,
                seed,
                ledger: options.ledger.clone(),
            };
            let builder = std::thread::Builder::new().name(format!("data-{index}"));
            running.threads.push(builder.spawn(move || thread::run(parts, jobs, stopped))?);
        }
        if shared.logging {
            let sink = options.log.unwrap_or_else(|| Box::new(io::sink()));
            running.writer = Some(log::Writer::start(rings, sink, shared.recent.clone(), options.tracing)?);
        }
        Ok(Self { shared, running: Arc::new(Mutex::new(running)) })
    }

    /// Starts a gateway inside of this process from the text of a document; secrets come from environment and files.
    pub fn open(document: &str) -> Result<Self, OpenError> {
        let compiled = trestle_config::load(document, 1, &HostSecrets)?;
        for warning in compiled.warnings {
            tracing::warn!("{warning}");
        }
        Ok(Self::start(compiled.snapshot, Options::default())?)
    }

    /// The snapshot that requests see now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.shared.snapshot.load_full()
    }

    /// Lets requests from now on see another snapshot; running ones keep theirs.
    pub fn replace(&self, snapshot: Snapshot) {
        self.shared.keep_credentials(&snapshot);
        self.shared.snapshot.store(Arc::new(snapshot));
    }

    /// Waits until each credential that is fetched is there, or could not be fetched, but not longer than the limit.
    pub async fn credentials_settled(&self, limit: Duration) {
        let settled = async {
            while !self.shared.keeper.is_settled() {
                tokio::time::sleep(SETTLE_POLL).await;
            }
        };
        let _ = tokio::time::timeout(limit, settled).await;
    }

    /// Ends the leases of requests that hang, and drops counters that idle; how many leases that were. To be called each
    /// second.
    pub fn sweep(&self, now_ms: u64) -> usize {
        self.shared.counted.sweep(now_ms).permits
    }

    /// Limits of the document with what they count at a time (unix milliseconds). It looks at all of them.
    pub fn limits(&self, asked: &LimitsAsked<'_>, now_ms: u64) -> LimitPage {
        limits::page(&self.shared.snapshot.load(), &self.shared.counted, asked, now_ms)
    }

    /// The windows of the strict limits of the document, each once. It looks at all limits.
    pub fn strict_windows(&self) -> Vec<Window> {
        limits::strict_windows(&self.shared.snapshot.load())
    }

    /// Why a request went as it did, as JSON; `None` where it is not among the last that were logged.
    pub fn trace(&self, request_id: u128) -> Option<Vec<u8>> {
        self.shared.recent.trace(request_id)
    }

    /// Requests that run now.
    pub fn in_flight(&self) -> usize {
        self.shared.seats.iter().map(|seat| seat.in_flight.load(Relaxed)).sum()
    }

    /// Metrics of the data plane.
    pub fn families(&self) -> Vec<Family> {
        metrics::families(&self.shared)
    }

    /// The same in the Prometheus text format.
    pub fn metrics(&self) -> String {
        metrics::text(&self.families())
    }

    /// Runs a task (a connection) on the data thread with the least in flight; it counts there until it ends.
    pub fn spawn<F, T>(&self, task: F)
    where
        F: FnOnce(Rc<Worker>) -> T + Send + 'static,
        T: Future<Output = ()> + 'static,
    {
        let seat = &self.shared.seats[self.shared.idlest()];
        seat.tasks.fetch_add(1, Relaxed);
        let job: Job = Box::new(move |worker| {
            tokio::task::spawn_local(async move {
                let _seated = Seated(Rc::clone(&worker));
                task(worker).await;
            });
        });
        seat.send(job);
    }

    /// The seats, for calls from this process.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Ends the data threads; sessions are told to leave, what else still runs on them is cut off. Returns when the log is
    /// written.
    pub fn stop(&self) {
        self.shared.sessions.end();
        let running = std::mem::take(&mut *lock(&self.running));
        self.shared.keeper.close();
        for stop in running.stops {
            let _ = stop.send(());
        }
        for thread in running.threads {
            let _ = thread.join();
        }
        if let Some(writer) = running.writer {
            writer.stop();
        }
    }
}

/// Counts a task of a thread until it ends.
struct Seated(Rc<Worker>);

impl Drop for Seated {
    fn drop(&mut self) {
        self.0.seat().tasks.fetch_sub(1, Relaxed);
    }
}
