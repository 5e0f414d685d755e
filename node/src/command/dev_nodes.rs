//! `trestle dev --nodes`: several nodes of one cluster on this machine, each a process of its own.

use super::dev::{DevFile, kept_kek, kept_keys};
use crate::{
    key::hex,
    private_file,
    source::{Source, VendorKeys},
};
use anyhow::{Context, bail, ensure};
use std::{
    env,
    fmt::Write as _,
    fs::{self, File},
    io::{Read, Write as _},
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::signal::unix::{SignalKind, signal};

/// More of them are no development any more.
const NODES_MAX: u16 = 9;
/// All are ready by then, or something is wrong.
const READY: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(100);
const PROBE: Duration = Duration::from_secs(1);
/// They have so long to end by themselves.
const END: Duration = Duration::from_secs(40);

/// What is asked for.
pub(super) struct Nodes {
    /// How many.
    pub(super) count: u16,
    /// Where the first one listens; the others behind it, or at free ports for port 0.
    pub(super) listen: SocketAddr,
    /// Where all is kept.
    pub(super) folder: PathBuf,
    /// Which providers there are.
    pub(super) vendors: VendorKeys,
}

/// A node that runs.
struct Running {
    name: String,
    address: SocketAddr,
    mesh: SocketAddr,
    log: PathBuf,
    child: Child,
}

/// Where a node listens.
struct Ports {
    http: SocketAddr,
    mesh: SocketAddr,
    gossip: SocketAddr,
}

impl Nodes {
    /// Starts them, prints a table, and waits until they are told to end. `path` is where others find how to reach them.
    pub(super) fn run(self, path: &Path) -> anyhow::Result<()> {
        ensure!((2..=NODES_MAX).contains(&self.count), "--nodes: from 2 to {NODES_MAX} nodes can be had");
        let stop = told_to_stop()?;
        let (key, token) = kept_keys(path)?;
        kept_kek(&self.folder.join("key-encryption-key"))?;
        kept_secret(&self.folder.join("cluster-secret"))?;
        private_file::write(&self.folder.join("root-token"), token.reveal())?;
        let document = Source::environment(key.hash(), self.vendors).read()?;
        private_file::write(&self.folder.join("document.json"), serde_json::to_string(&document)?)?;
        let ports = self.ports()?;
        let mut nodes = Vec::new();
        for at in 0..ports.len() {
            nodes.push(self.start(at, &ports)?);
        }
        let ready = wait_until_ready(&mut nodes, &stop);
        if let Ok(true) = ready {
            let url = format!("http://{}", ports[0].http);
            let (key, admin_token) = (key.reveal().to_owned(), token.reveal().to_owned());
            let file = DevFile { url, key, admin_token };
            private_file::write(path, serde_json::to_string(&file)?)?;
            print!("{}", table(&nodes, &file, path));
            watch(&mut nodes, &stop);
        }
        end(&mut nodes);
        ready.map(|_| ())
    }

    /// Ports in a row behind the first, or free ones. Those of the mesh are always free ones.
    fn ports(&self) -> anyhow::Result<Vec<Ports>> {
        let ip = self.listen.ip();
        ensure!(
            ip.is_loopback(),
            "--listen: several nodes for development listen at a loopback address only"
        );
        // Held until all are known, so that none is given twice.
        let mut held = Vec::new();
        let mut ports = Vec::new();
        for at in 0..self.count {
            let wanted = match self.listen.port() {
                0 => 0,
                first => first.checked_add(at).context("--listen: there are no such ports")?,
            };
            let in_use = |address: SocketAddr| format!("{address} is in use: choose another --listen");
            let http = SocketAddr::new(ip, wanted);
            let (http, mesh) =
                (TcpListener::bind(http).with_context(|| in_use(http))?, TcpListener::bind((ip, 0))?);
            let gossip = UdpSocket::bind((ip, 0))?;
            ports.push(Ports {
                http: http.local_addr()?,
                mesh: mesh.local_addr()?,
                gossip: gossip.local_addr()?,
            });
            held.push((http, mesh, gossip));
        }
        Ok(ports)
    }

    fn start(&self, at: usize, ports: &[Ports]) -> anyhow::Result<Running> {
        let name = format!("node-{at}");
        let folder = self.folder.join(&name);
        fs::create_dir_all(&folder)?;
        let log = folder.join("log");
        let lines = File::options().create(true).append(true).open(&log)?;
        let seeds: Vec<_> = ports.iter().map(|ports| ports.gossip.to_string()).collect();
        let of = |file: &str| self.folder.join(file).display().to_string();
        let reference = |file: &str| format!("file:{}", of(file));
        let Ports { http, mesh, gossip } = &ports[at];
        let mut command = Command::new(env::current_exe().context("this program cannot be found")?);
        command.arg("serve");
        for (flag, value) in [
            ("--listen", http.to_string()),
            ("--data-dir", folder.display().to_string()),
            ("--document", of("document.json")),
            ("--key-encryption-key", reference("key-encryption-key")),
            ("--root-token", reference("root-token")),
            ("--cluster-secret-file", of("cluster-secret")),
            ("--seeds", seeds.join(",")),
            ("--bootstrap-expect", self.count.to_string()),
            ("--node-name", name.clone()),
            ("--mesh-listen", mesh.to_string()),
            ("--mesh-gossip-listen", gossip.to_string()),
            ("--log-format", "text".to_owned()),
        ] {
            command.args([flag, &value]);
        }
        // Settings of another node in this environment are not meant for these.
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("TRESTLE_") && name != "TRESTLE_LOG" {
                command.env_remove(name);
            }
        }
        command.stdin(Stdio::null()).stdout(lines.try_clone()?).stderr(lines);
        let child = command.spawn().context("a node cannot be started")?;
        Ok(Running { name, address: *http, mesh: *mesh, log, child })
    }
}

/// The secret that the nodes have in common, made once.
fn kept_secret(path: &Path) -> anyhow::Result<()> {
    if private_file::read(path)?.is_some() {
        return Ok(());
    }
    let mut bits = [0; 32];
    getrandom::fill(&mut bits)
        .map_err(|error| anyhow::anyhow!("the system gives no random numbers: {error}"))?;
    private_file::write(path, hex(&bits))
}

/// Set once a signal tells this process to end. A terminal tells the nodes as well.
fn told_to_stop() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut terminate, mut interrupt) = {
        let _in_runtime = runtime.enter();
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?)
    };
    thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        });
        told.store(true, Relaxed);
    });
    Ok(stop)
}

/// Whether all serve; not if this process is told to end before.
fn wait_until_ready(nodes: &mut [Running], stop: &AtomicBool) -> anyhow::Result<bool> {
    let begun = Instant::now();
    for node in nodes {
        while !is_ready(node.address) {
            if stop.load(Relaxed) {
                return Ok(false);
            }
            if let Some(status) = node.child.try_wait()? {
                bail!("{} has ended ({status}): see {}", node.name, node.log.display());
            }
            ensure!(begun.elapsed() < READY, "{} does not serve yet: see {}", node.name, node.log.display());
            thread::sleep(LOOK);
        }
    }
    Ok(true)
}

/// Whether a node says that it takes requests.
fn is_ready(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&address, PROBE)?;
        stream.set_read_timeout(Some(PROBE))?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
        let mut head = [0; 12];
        stream.read_exact(&mut head)?;
        Ok(String::from_utf8_lossy(&head).into_owned())
    };
    ask().is_ok_and(|head| head.ends_with(" 200"))
}

/// Waits until this process is told to end, or no node is left. One that ends is told of, and the others go on.
fn watch(nodes: &mut [Running], stop: &AtomicBool) {
    let mut ended = vec![false; nodes.len()];
    while !stop.load(Relaxed) && ended.contains(&false) {
        for (node, ended) in nodes.iter_mut().zip(&mut ended) {
            if let Ok(Some(status)) = node.child.try_wait()
                && !*ended
            {
                eprintln!("  {} has ended ({status}); the others go on", node.name);
                *ended = true;
            }
        }
        thread::sleep(LOOK);
    }
}

/// Tells all to end, and waits.
fn end(nodes: &mut [Running]) {
    for node in nodes.iter_mut() {
        if let Ok(None) = node.child.try_wait()
            && let Some(id) = rustix::process::Pid::from_raw(node.child.id() as i32)
        {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
    }
    let begun = Instant::now();
    for node in nodes {
        while let Ok(None) = node.child.try_wait() {
            if begun.elapsed() > END {
                let _ = node.child.kill();
            }
            thread::sleep(LOOK);
        }
    }
}

fn table(nodes: &[Running], file: &DevFile, path: &Path) -> String {
    let mut text = format!("\n  {:<8} {:<24} {:<18} {:<8} LOG\n", "NODE", "URL", "MESH", "PROCESS");
    for node in nodes {
        let (url, mesh) = (format!("http://{}", node.address), node.mesh.to_string());
        let _ = writeln!(
            text,
            "  {:<8} {url:<24} {mesh:<18} {:<8} {}",
            node.name,
            node.child.id(),
            node.log.display()
        );
    }
    let DevFile { url, key, admin_token } = file;
    let _ = write!(
        text,
        "
  Key             {key}
  Admin API       {url}/api/docs
  Admin token     {admin_token}
  All kept in     {}

  Any node answers. Try the loss of one: `kill -9 {}`, and ask the others:

  curl {url}/v1/chat/completions -H 'authorization: Bearer {key}' -H 'content-type: application/json' \
-d '{{\"model\": \"mock/echo\", \"messages\": [{{\"role\": \"user\", \"content\": \"Hello\"}}]}}'\n\n",
        path.display(),
        nodes.last().map_or(0, |node| node.child.id()),
    );
    text
}
