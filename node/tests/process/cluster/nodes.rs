//! Several nodes of one cluster, each a process of its own.

use crate::{
    operator::Operator,
    support::{Node, Start, eventually},
};
use std::{
    fs,
    net::{TcpListener, UdpSocket},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    thread,
};
use tempfile::TempDir;

/// Nodes that found a cluster together; they are killed with this.
pub(crate) struct Nodes {
    folder: TempDir,
    document: String,
    /// Of the mesh and of gossip.
    ports: Vec<(u16, u16)>,
    /// None for one that has ended.
    nodes: Vec<Option<Node>>,
}

impl Nodes {
    /// So many with this document, once all of them serve.
    pub(crate) fn start(count: usize, document: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        fs::write(&secret, "5a".repeat(32)).unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        // Held until all are known, so that none is given twice.
        let held: Vec<_> = (0..count)
            .map(|_| (TcpListener::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap()))
            .collect();
        let port = |(mesh, gossip): &(TcpListener, UdpSocket)| {
            (mesh.local_addr().unwrap().port(), gossip.local_addr().unwrap().port())
        };
        let ports = held.iter().map(port).collect();
        drop(held);
        let mut all = Self { folder, document: document.to_owned(), ports, nodes: Vec::new() };
        // None of them serves before there are enough of them.
        let nodes = thread::scope(|scope| {
            let all = &all;
            let starting: Vec<_> =
                (0..count).map(|at| scope.spawn(move || all.prepare(at).start())).collect();
            starting.into_iter().map(|node| Some(node.join().unwrap())).collect()
        });
        all.nodes = nodes;
        all
    }

    fn prepare(&self, at: usize) -> Start {
        let seeds: Vec<_> = self.ports.iter().map(|(_, gossip)| format!("127.0.0.1:{gossip}")).collect();
        let (mesh, gossip) = self.ports[at];
        let (secret, count) = (self.folder.path().join("secret"), self.ports.len().to_string());
        Start::serve(&self.document)
            .variable("UPSTREAM", "sk-upstream")
            .administered()
            .within(&self.data(at))
            .arguments(&[
                "--cluster-secret-file",
                secret.to_str().unwrap(),
                "--seeds",
                &seeds.join(","),
                "--bootstrap-expect",
                &count,
                "--node-name",
                &format!("node-{at}"),
                "--mesh-listen",
                &format!("127.0.0.1:{mesh}"),
                "--mesh-gossip-listen",
                &format!("127.0.0.1:{gossip}"),
            ])
    }

    /// Where a node keeps its data.
    pub(crate) fn data(&self, at: usize) -> PathBuf {
        self.folder.path().join(format!("node-{at}"))
    }

    /// One that runs.
    pub(crate) fn node(&self, at: usize) -> &Node {
        self.nodes[at].as_ref().expect("it has ended")
    }

    /// Who asks a node.
    pub(crate) fn operator(&self, at: usize) -> Operator {
        Operator::of(self.node(at))
    }

    /// Ends one without a word.
    pub(crate) fn kill(&mut self, at: usize) {
        self.nodes[at] = None;
    }

    /// Tells one to stop, and waits until it has.
    pub(crate) fn stop(&mut self, at: usize) {
        let mut node = self.nodes[at].take().expect("it has ended");
        node.signal("TERM");
        assert!(node.ended().success());
    }

    /// Starts one that was killed.
    pub(crate) fn revive(&mut self, at: usize) {
        self.nodes[at] = Some(self.prepare(at).start());
    }

    /// Whether others have copies of all that a node has written.
    pub(crate) fn is_copied(&self, at: usize) -> bool {
        let others =
            (0..self.ports.len()).filter(|other| *other != at).map(|other| self.data(other).join("copies"));
        let copies: Vec<_> =
            others.flat_map(|copies| files(&copies)).flat_map(|folder| files(&folder)).collect();
        let segments = files(&self.data(at).join("ledger")).into_iter().filter(|path| is_segment(path));
        segments.into_iter().all(|segment| {
            let written = fs::read(&segment).unwrap();
            let end = written.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            let copy = copies.iter().filter(|copy| copy.file_name() == segment.file_name());
            // The header alone is not worth a copy.
            end <= 8192
                || copy
                    .into_iter()
                    .any(|copy| fs::read(copy).is_ok_and(|copy| copy.starts_with(&written[..end])))
        })
    }

    /// The value of a metric of a node.
    pub(crate) fn metric(&self, at: usize, name: &str) -> Option<f64> {
        let text = self.node(at).get("/metrics").body;
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
    }

    /// Waits until a metric of a node has a value.
    pub(crate) fn measures(&self, at: usize, name: &str, wanted: impl Fn(f64) -> bool) {
        eventually(&format!("{name} of node {at}"), || self.metric(at, name).filter(|value| wanted(*value)));
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn is_segment(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "ledger")
}
