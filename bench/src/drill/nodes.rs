//! The nodes as processes: started, killed, frozen, cut off, wiped, and waited for.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use rustix::process::Signal;

use super::ask::{TOKEN, revision};
use super::certify::certify;
use super::cluster::Seen;
use super::place::Place;
use crate::process::Process;

const GOSSIP_PORT: u16 = 18_101;
const MESH_PORT: u16 = 18_102;
/// Anything that is waited for has happened by then, or never will.
const PATIENCE: Duration = Duration::from_secs(90);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);
/// So that requests that were just sent are seen by a node before it is told to end.
const SENT: Duration = Duration::from_millis(100);

/// Which nodes requests are sent to, by whoever sends them.
#[derive(Clone, Debug)]
pub(super) struct Ups(Arc<Vec<AtomicBool>>);

impl Ups {
    /// Whether a node is one of them.
    pub(super) fn is_up(&self, node: usize) -> bool {
        self.0.get(node).is_some_and(|up| up.load(SeqCst))
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<usize> {
        (0..self.0.len()).filter(|node| self.is_up(*node)).collect()
    }

    fn set(&self, node: usize, up: bool) {
        if let Some(is) = self.0.get(node) {
            is.store(up, SeqCst);
        }
    }
}

/// The nodes.
pub(super) struct Nodes {
    pub(super) place: Place,
    pub(super) ups: Ups,
    pub(super) size: usize,
    binary: PathBuf,
    folder: PathBuf,
    processes: Vec<Option<Process>>,
}

impl Nodes {
    /// Starts so many with this document, and waits until all are voters and ready.
    pub(super) fn start(
        binary: &Path,
        folder: &Path,
        (place, size): (Place, usize),
        document: &str,
    ) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("gateway.yaml"), document)?;
        private(&folder.join("secret"), &"5e".repeat(32))?;
        if place == Place::Namespaces {
            certify(folder, size)?;
        }
        let mut nodes = Self {
            place,
            ups: Ups(Arc::new((0..size).map(|_| AtomicBool::new(false)).collect())),
            size,
            binary: binary.to_owned(),
            folder: folder.to_owned(),
            processes: (0..size).map(|_| None).collect(),
        };
        for node in 0..size {
            nodes.spawn(node)?;
        }
        for node in 0..size {
            nodes.is_ready(node)?;
        }
        until("all members", || nodes.seen(0).ok().filter(|seen| seen.is_complete(size)))?;
        Ok(nodes)
    }

    /// Where a node takes requests.
    pub(super) fn http(&self, node: usize) -> SocketAddr {
        self.place.http(node)
    }

    /// The cluster as a node sees it.
    pub(super) fn seen(&self, node: usize) -> anyhow::Result<Seen> {
        Seen::by(self.http(node))
    }

    fn data(&self, node: usize) -> PathBuf {
        self.folder.join(format!("node-{node}"))
    }

    /// Starts one.
    pub(super) fn spawn(&mut self, node: usize) -> anyhow::Result<()> {
        let seeds: Vec<_> =
            (0..self.size).map(|node| self.place.mesh(node, GOSSIP_PORT).to_string()).collect();
        let (data, of) = (self.data(node), |name: &str| self.folder.join(name).display().to_string());
        std::fs::create_dir_all(&data)?;
        let mut command = self.place.command(node, &self.binary);
        command.arg("serve");
        for (flag, value) in [
            ("--listen", self.http(node).to_string()),
            ("--data-dir", data.display().to_string()),
            ("--document", of("gateway.yaml")),
            ("--root-token", "env:TRESTLE_BENCH_TOKEN".to_owned()),
            ("--cluster-secret-file", of("secret")),
            ("--seeds", seeds.join(",")),
            ("--bootstrap-expect", self.size.to_string()),
            ("--node-name", format!("node-{node}")),
            ("--mesh-listen", self.place.mesh(node, MESH_PORT).to_string()),
            ("--mesh-gossip-listen", self.place.mesh(node, GOSSIP_PORT).to_string()),
        ] {
            command.args([flag, &value]);
        }
        if self.place == Place::Namespaces {
            command.args(["--mesh-tls-dir", &of(&format!("tls-{node}"))]);
        }
        command.env("TRESTLE_BENCH_TOKEN", TOKEN).env("TRESTLE_BENCH_UPSTREAM_KEY", "sk-mock");
        let log = File::create(self.folder.join(format!("node-{node}.log")))?;
        command.stdout(Stdio::from(log));
        let errors = self.folder.join(format!("errors-{node}"));
        std::fs::create_dir_all(&errors)?;
        let process = Process::start_anywhere(&mut command, &errors)?;
        *self.processes.get_mut(node).context("no such node")? = Some(process);
        Ok(())
    }

    /// Waits until one takes requests; how long that took.
    pub(super) fn is_ready(&mut self, node: usize) -> anyhow::Result<Duration> {
        let (begun, address) = (Instant::now(), self.http(node));
        loop {
            if revision(address).is_some() {
                self.ups.set(node, true);
                return Ok(begun.elapsed());
            }
            let process = self.process(node)?;
            if let Some(status) = process.ended() {
                bail!("node {node} has ended ({status}):\n{}", process.errors());
            }
            ensure!(begun.elapsed() < PATIENCE, "node {node} does not serve:\n{}", process.errors());
            std::thread::sleep(PAUSE);
        }
    }

    /// Its process.
    pub(super) fn process(&mut self, node: usize) -> anyhow::Result<&mut Process> {
        self.processes
            .get_mut(node)
            .and_then(Option::as_mut)
            .with_context(|| format!("node {node} does not run"))
    }

    /// Ends one by a signal, which requests are not sent to from then on.
    pub(super) fn end(&mut self, node: usize, signal: Signal) -> anyhow::Result<()> {
        self.ups.set(node, false);
        if signal != Signal::KILL {
            std::thread::sleep(SENT);
        }
        self.process(node)?.signal(signal)
    }

    /// Waits until its process has gone.
    pub(super) fn gone(&mut self, node: usize) -> anyhow::Result<()> {
        let status = self.process(node)?.wait()?;
        if let Some(process) = self.processes.get_mut(node) {
            *process = None;
        }
        // A killed one has no code.
        ensure!(matches!(status.code(), None | Some(0)), "node {node} has ended with {status}");
        Ok(())
    }

    /// Deletes its data.
    pub(super) fn wipe(&self, node: usize) -> anyhow::Result<()> {
        Ok(std::fs::remove_dir_all(self.data(node))?)
    }

    /// Lets one that stood still go on; requests are sent to it again.
    pub(super) fn thaw(&mut self, node: usize) -> anyhow::Result<()> {
        self.process(node)?.signal(Signal::CONT)?;
        self.ups.set(node, true);
        Ok(())
    }

    /// The one that leads, by what all say that requests are sent to.
    pub(super) fn leader(&self) -> anyhow::Result<usize> {
        until("a leader that all agree on", || {
            let said: Vec<_> = self.ups.all().iter().map(|node| self.seen(*node).ok()?.leader()).collect();
            let first = (*said.first()?)?;
            said.iter().all(|other| *other == Some(first)).then_some(first)
        })
    }
}

/// Looks again and again until there is something to see.
pub(super) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> anyhow::Result<T> {
    let begun = Instant::now();
    loop {
        if let Some(seen) = look() {
            return Ok(seen);
        }
        ensure!(begun.elapsed() < PATIENCE, "not seen within {} s: {what}", PATIENCE.as_secs());
        std::thread::sleep(PAUSE);
    }
}

/// Writes a file for its owner alone.
pub(super) fn private(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(path)?.write_all(text.as_bytes())?;
    Ok(())
}
