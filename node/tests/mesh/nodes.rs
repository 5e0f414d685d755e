//! Nodes of one cluster, each a process with an address of its own on loopback and a folder that outlives it.

use crate::{
    operator::{Operator, TOKEN},
    support::{self, KEY, Node, Reply, Start, eventually},
    ups::{Expected, Ups},
};
use serde_json::Value;
use std::{
    fs,
    io::{self, Write},
    net::{SocketAddr, TcpStream},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    time::Duration,
};
use tempfile::TempDir;
use trestle_bench::mock::{Mock, Options};
use trestle_config::hash_text;

/// Of each node's own address.
const HTTP_PORT: u16 = 18_080;
/// Longer than the time before their end in which alerts tell of it.
pub(crate) const CERTIFICATE_DAYS: u32 = 30;
pub(crate) const GOSSIP_PORT: u16 = 18_101;
pub(crate) const MESH_PORT: u16 = 18_102;
/// The key whose requests are limited.
pub(crate) const LIMITED: &str = "sk-limited";
/// Its requests in a year.
pub(crate) const LIMIT: u64 = 60;
/// No answer takes longer but one that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the nodes of one cluster are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Net(u8, u8);

impl Net {
    /// One that no other test of this machine has.
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = std::process::id().wrapping_mul(16).wrapping_add(COUNT.fetch_add(1, SeqCst));
        Self(64 + (number >> 8) as u8 % 128, number as u8)
    }

    pub(crate) fn at(self, node: usize, port: u16) -> SocketAddr {
        SocketAddr::from(([127, self.0, self.1, node as u8 + 1], port))
    }
}

/// The nodes of a cluster.
pub(crate) struct Mesh {
    pub(crate) net: Net,
    pub(crate) ups: Ups,
    pub(crate) upstream: Mock,
    pub(crate) folder: TempDir,
    nodes: Vec<Option<Node>>,
    more: Vec<String>,
    variables: Vec<Vec<(String, String)>>,
    seeds: String,
}

impl Mesh {
    /// As many nodes, none of which runs yet.
    pub(crate) fn of(size: usize) -> Self {
        let net = Net::new();
        let seeds: Vec<_> = (0..size).map(|node| net.at(node, GOSSIP_PORT).to_string()).collect();
        let mesh = Self {
            net,
            ups: Ups::of(size),
            upstream: Mock::start(Options::default()).unwrap(),
            folder: tempfile::tempdir().unwrap(),
            nodes: (0..size).map(|_| None).collect(),
            more: Vec::new(),
            variables: vec![Vec::new(); size],
            seeds: seeds.join(","),
        };
        private(&mesh.secret(), &"5e".repeat(32));
        mesh
    }

    /// The same with certificates for calls between nodes.
    pub(crate) fn certified(self) -> Self {
        let names: Vec<_> = (0..self.nodes.len()).map(|node| format!("node-{node}")).collect();
        trestle_cluster::init_tls(trestle_cluster::InitTls {
            folder: &self.folder.path().join("tls"),
            mesh_name: "trestle.mesh",
            nodes: &names,
            days: CERTIFICATE_DAYS,
            now: std::time::SystemTime::now(),
        })
        .unwrap();
        self.told(&["--mesh-tls-dir", "TLS"])
    }

    /// The same with a variable for all nodes.
    #[allow(dead_code, reason = "not all tests of meshes have one")]
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        for of_node in &mut self.variables {
            of_node.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// The same with one more seed, in front.
    pub(crate) fn seeded(mut self, seed: SocketAddr) -> Self {
        self.seeds = format!("{seed},{}", self.seeds);
        self
    }

    /// The same with more arguments for all nodes.
    pub(crate) fn told(mut self, arguments: &[&str]) -> Self {
        self.more.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        self
    }

    /// A variable of one node from its next start on.
    pub(crate) fn set(&mut self, node: usize, name: &str, value: &str) {
        let variables = &mut self.variables[node];
        variables.retain(|(other, _)| other != name);
        variables.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) fn size(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn secret(&self) -> PathBuf {
        self.folder.path().join("secret")
    }

    pub(crate) fn data(&self, node: usize) -> PathBuf {
        self.folder.path().join(format!("node-{node}"))
    }

    pub(crate) fn document(&self) -> String {
        format!(
            "providers:\n  openai: {{ base_url: '{}/v1', dialects: [openai-chat], keys: [{{ name: main, value: \
             env:UPSTREAM }}] }}\nkeys:\n  tests: {{ value: env:TRESTLE_TEST_KEY }}\n  limited: {{ value: '{}', limits: \
             [{{ requests: {LIMIT}, per: year }}] }}\n",
            self.upstream.url(),
            hash_text(LIMITED)
        )
    }

    /// A node that knows no others, at the same address and with the same data.
    pub(crate) fn alone(&self, node: usize) -> Start {
        Start::bare_at("serve", self.net.at(node, HTTP_PORT))
            .file("gateway.yaml", &self.document())
            .arguments(&["--document", "gateway.yaml", "--threads", "1"])
            .variable("TRESTLE_TEST_KEY", KEY)
            .variable("UPSTREAM", "sk-upstream")
            .within(&self.data(node))
            .administered()
            .sealing()
    }

    /// What makes a node one of several, at this place, with this secret.
    pub(crate) fn meshed(&self, start: Start, node: usize, secret: &Path) -> Start {
        let own = |port| self.net.at(node, port).to_string();
        start.arguments(&[
            "--cluster-secret-file",
            secret.to_str().unwrap(),
            "--node-name",
            &format!("node-{node}"),
            "--mesh-listen",
            &own(MESH_PORT),
            "--mesh-gossip-listen",
            &own(GOSSIP_PORT),
        ])
    }

    fn one_of_many(&self, node: usize) -> Start {
        let tls = self.folder.path().join(format!("tls/node-{node}"));
        let more: Vec<_> = self
            .more
            .iter()
            .map(|argument| if argument == "TLS" { tls.to_str().unwrap() } else { argument })
            .collect();
        let start = self
            .meshed(self.alone(node), node, &self.secret())
            .arguments(&["--seeds", &self.seeds, "--bootstrap-expect", &self.size().to_string()])
            .arguments(&more);
        let set = self.variables[node].iter();
        set.fold(start, |start, (name, value)| start.variable(name, value))
    }

    pub(crate) fn seeds(&self) -> &str {
        &self.seeds
    }

    /// Starts all that do not run, at once, and waits until they are ready.
    pub(crate) fn start_all(&mut self) {
        let missing: Vec<_> = (0..self.size()).filter(|node| self.nodes[*node].is_none()).collect();
        for node in &missing {
            self.nodes[*node] = Some(self.one_of_many(*node).spawn());
        }
        for node in missing {
            self.is_ready(node);
        }
    }

    /// Starts one, and waits until it is ready.
    pub(crate) fn start(&mut self, node: usize) {
        self.spawn(node);
        self.is_ready(node);
    }

    /// Starts one.
    pub(crate) fn spawn(&mut self, node: usize) {
        assert!(self.nodes[node].is_none());
        self.nodes[node] = Some(self.one_of_many(node).spawn());
    }

    /// Waits until one that was started is ready.
    pub(crate) fn is_ready(&self, node: usize) {
        eventually(&format!("node {node} to be ready"), || {
            self.node(node).listening()?;
            self.revision(node)
        });
        self.ups.expect(node, Expected::All);
    }

    pub(crate) fn node(&self, node: usize) -> &Node {
        self.nodes[node].as_ref().unwrap()
    }

    pub(crate) fn http(&self, node: usize) -> SocketAddr {
        self.net.at(node, HTTP_PORT)
    }

    /// Sends `SIGKILL`, which takes its memory.
    pub(crate) fn kill(&mut self, node: usize) {
        self.ups.expect(node, Expected::Nothing);
        let mut gone = self.nodes[node].take().unwrap();
        gone.signal("KILL");
        gone.ended();
        sound(&gone);
    }

    /// Waits for one that ends by itself; its status and what it printed.
    pub(crate) fn ends(&mut self, node: usize) -> (Option<i32>, String) {
        self.ups.expect(node, Expected::Nothing);
        let mut gone = self.nodes[node].take().unwrap();
        let status = gone.ended();
        sound(&gone);
        (status.code(), gone.log())
    }

    /// Whether one has ended by itself.
    pub(crate) fn has_ended(&mut self, node: usize) -> bool {
        self.nodes[node].as_mut().unwrap().has_ended().is_some()
    }

    /// Sends `SIGTERM`, and waits until the process has ended well.
    pub(crate) fn terminate(&mut self, node: usize) {
        self.ups.expect(node, Expected::Nothing);
        let mut gone = self.nodes[node].take().unwrap();
        gone.signal("TERM");
        let status = gone.ended();
        assert!(status.success(), "node {node}: {status}\n{}", gone.log());
        sound(&gone);
    }

    /// Lets a process stand still.
    pub(crate) fn freeze(&self, node: usize) {
        self.ups.expect(node, Expected::Nothing);
        self.node(node).signal("STOP");
    }

    /// Lets it go on.
    pub(crate) fn thaw(&self, node: usize) {
        self.node(node).signal("CONT");
        self.ups.expect(node, Expected::All);
    }

    /// Takes its disk.
    pub(crate) fn wipe(&self, node: usize) {
        assert!(self.nodes[node].is_none());
        fs::remove_dir_all(self.data(node)).unwrap();
    }

    /// Nodes that are up, without faults.
    pub(crate) fn up(&self) -> Vec<usize> {
        (0..self.size()).filter(|node| self.ups.expected(*node) == Expected::All).collect()
    }

    /// The last revision of a node that is ready.
    pub(crate) fn revision(&self, node: usize) -> Option<u64> {
        revision_at(self.http(node))
    }

    /// Waits until all that are up have the same revision.
    pub(crate) fn is_level(&self) {
        eventually("all nodes to be of one revision", || {
            let revisions: Vec<_> = self.up().iter().map(|node| self.revision(*node)).collect();
            (revisions[0].is_some() && revisions.iter().all(|one| *one == revisions[0])).then_some(())
        });
    }

    /// Waits for a leader among those that are up.
    pub(crate) fn leader(&self) -> usize {
        eventually("a leader", || self.leads())
    }

    /// The one that leads by what all say that are up, itself among them.
    fn leads(&self) -> Option<usize> {
        let up = self.up();
        let said: Vec<_> = up.iter().map(|node| led_by(&self.cluster(*node))).collect();
        let first = said.first()?.clone()?;
        if said.iter().any(|other| other.as_ref() != Some(&first)) {
            return None;
        }
        up.into_iter().find(|node| format!("node-{node}") == first)
    }

    /// The cluster as a node sees it.
    pub(crate) fn cluster(&self, node: usize) -> Value {
        self.operator(node).done("GET /api/cluster", "")
    }

    /// The number of a node.
    pub(crate) fn number(&self, node: usize) -> String {
        self.cluster(node)["node"].as_str().unwrap().to_owned()
    }

    /// Waits until all that are up know as many members as there are nodes, all of which vote, and that these numbers have gone.
    pub(crate) fn all_vote(&self, gone: &[String]) {
        for node in self.up() {
            eventually(&format!("{} voters, as node {node} sees it", self.size()), || {
                let cluster = self.cluster(node);
                let members = cluster["members"].as_array().unwrap();
                let vote = members.iter().all(|member| member["votes"] == true);
                let removed = cluster["removed"] == serde_json::json!(gone);
                (vote && members.len() == self.size() && removed).then_some(())
            });
        }
    }

    /// Somebody up who does not lead.
    pub(crate) fn follower(&self) -> usize {
        let leader = self.leader();
        *self.up().iter().find(|node| **node != leader).unwrap()
    }

    pub(crate) fn operator(&self, node: usize) -> Operator {
        Operator::of(self.node(node)).at(self.http(node))
    }

    /// Writes a team by one node; reads it on all that are up.
    pub(crate) fn write(&self, node: usize, team: &str) {
        let reply = put_team(self.http(node), team, PATIENCE).unwrap();
        assert_eq!(reply.status, 200, "node {node}: {reply:?}");
        for reader in self.up() {
            self.has(reader, team);
        }
    }

    /// Waits until a node has a team.
    pub(crate) fn has(&self, node: usize, team: &str) {
        eventually(&format!("{team} on node {node}"), || {
            let reply = self.operator(node).send(&format!("GET /api/teams/{team}"), "", "");
            (reply.status == 200).then_some(())
        });
    }

    /// What a node says of the limit: used, and held.
    pub(crate) fn used(&self, node: usize) -> (u64, u64) {
        let told = self.operator(node).done("GET /api/limits?owner_kind=key&owner=limited", "");
        let figure = |name: &str| told["items"][0][name].as_u64().unwrap();
        (figure("used"), figure("held"))
    }

    /// Waits until all that are up count so much.
    pub(crate) fn all_count(&self, requests: u64) {
        for node in self.up() {
            eventually(&format!("node {node} to count {requests}"), || {
                (self.used(node) == (requests, 0)).then_some(())
            });
        }
    }

    /// A chat that the limit has room for. While a node is not within reach, or has just come, each has only a share of what is
    /// left, and refuses what is beyond it: until then it is asked again.
    pub(crate) fn is_let_in(&self, node: usize) {
        eventually(&format!("node {node} to let a request in"), || {
            let status = self.chat(node, LIMITED).status;
            assert!([200, 429].contains(&status), "{status}");
            (status == 200).then_some(())
        });
    }

    /// A chat with the upstream.
    pub(crate) fn chat(&self, node: usize, key: &str) -> Reply {
        let mut stream = support::connect(self.http(node));
        support::exchange(&mut stream, &support::chat(key, "openai/gpt-4o-mini+tokens=3", ""))
    }
}

impl Drop for Mesh {
    fn drop(&mut self) {
        for node in self.nodes.iter().flatten() {
            if !std::thread::panicking() {
                sound(node);
            }
        }
    }
}

/// Nothing went wrong inside.
fn sound(node: &Node) {
    let log = node.log();
    for word in ["panicked", "\"panic\"", "are damaged", "was set aside", "corrupt"] {
        assert!(!log.contains(word), "{word}:\n{log}");
    }
}

/// The name of the leader, if a node knows one.
fn led_by(cluster: &Value) -> Option<String> {
    let leader = cluster["members"].as_array()?.iter().find(|member| member["leads"] == true)?;
    Some(leader["name"].as_str()?.to_owned())
}

/// The last revision of a node that is ready.
pub(crate) fn revision_at(address: SocketAddr) -> Option<u64> {
    let reply = ask(address, "GET /readyz HTTP/1.1\r\nhost: test\r\n\r\n", Duration::from_secs(5)).ok()?;
    let body: Value = serde_json::from_str(&reply.body).ok()?;
    (reply.status == 200).then(|| body["revision"].as_u64())?
}

/// A request on a connection of its own to somebody who may be gone.
pub(crate) fn ask(address: SocketAddr, request: &str, patience: Duration) -> io::Result<Reply> {
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_read_timeout(Some(patience))?;
    stream.write_all(request.as_bytes())?;
    support::reply(&mut stream)
}

/// Makes a team.
pub(crate) fn put_team(address: SocketAddr, team: &str, patience: Duration) -> io::Result<Reply> {
    let head = format!("PUT /api/teams/{team} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {TOKEN}");
    ask(address, &format!("{head}\r\ncontent-length: 2\r\n\r\n{{}}"), patience)
}

/// A file for its owner alone.
pub(crate) fn private(path: &Path, text: &str) {
    let file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    file.unwrap().write_all(text.as_bytes()).unwrap();
}
