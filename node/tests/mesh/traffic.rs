//! Requests and config writes that go on while nodes come and go. What fails on a node that was up all the while is a failure.

use crate::{
    nodes::{Mesh, put_team},
    support::{self, KEY, eventually},
    ups::{Expected, Moment, Ups},
};
use std::{
    collections::BTreeSet,
    io::{self, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread::JoinHandle,
    time::Duration,
};

const PATIENCE: Duration = Duration::from_secs(60);
/// Between two requests of a client.
const PAUSE: Duration = Duration::from_millis(15);

/// What all clients share.
struct Shared {
    stop: AtomicBool,
    ups: Ups,
    /// Answers that were whole, by node.
    answers: Vec<AtomicU64>,
    acknowledged: Mutex<BTreeSet<String>>,
    failures: Mutex<Vec<String>>,
}

impl Shared {
    fn failed(&self, (node, since): (usize, Moment), needed: Expected, what: String) {
        if self.ups.now(node) == since && since.expected() >= needed {
            self.failures.lock().unwrap().push(format!("node {node}: {what}"));
        }
    }
}

/// A light load on all nodes that are up.
pub(crate) struct Traffic {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<()>>,
}

impl Traffic {
    /// A client for buffered answers and one for streams to each node, and one that writes.
    pub(crate) fn start(mesh: &Mesh) -> Self {
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            ups: mesh.ups.clone(),
            answers: (0..mesh.size()).map(|_| AtomicU64::new(0)).collect(),
            acknowledged: Mutex::default(),
            failures: Mutex::default(),
        });
        let addresses: Vec<_> = (0..mesh.size()).map(|node| mesh.http(node)).collect();
        let mut clients = Vec::new();
        for (node, address) in addresses.iter().copied().enumerate() {
            for request in [
                support::chat(KEY, "openai/gpt-4o-mini+tokens=5", ""),
                support::chat(KEY, "openai/gpt-4o-mini+tokens=10+gap_ms=5", r#","stream":true"#),
            ] {
                let shared = Arc::clone(&shared);
                clients
                    .push(std::thread::spawn(move || requests(&shared, (node, address), request.as_str())));
            }
        }
        let writing = Arc::clone(&shared);
        clients.push(std::thread::spawn(move || writes(&writing, &addresses)));
        Self { shared, clients }
    }

    /// Waits until each node that answers requests has answered some more requests, and some more writes were acknowledged.
    pub(crate) fn goes_on(&self) {
        let before: Vec<_> = self.shared.answers.iter().map(|count| count.load(SeqCst)).collect();
        let written = self.shared.acknowledged.lock().unwrap().len();
        eventually("requests and writes to go on", || {
            let now = self.shared.answers.iter().map(|count| count.load(SeqCst));
            let served = now.zip(&before).enumerate().all(|(node, (now, before))| {
                self.shared.ups.expected(node) < Expected::Requests || now >= before + 20
            });
            let written = self.shared.acknowledged.lock().unwrap().len() >= written + 10;
            (served && written).then_some(())
        });
        self.has_not_failed();
    }

    /// Teams whose writes were acknowledged until now.
    pub(crate) fn acknowledged(&self) -> usize {
        self.shared.acknowledged.lock().unwrap().len()
    }

    /// Nothing failed on a node that was up.
    pub(crate) fn has_not_failed(&self) {
        let failures = self.shared.failures.lock().unwrap();
        assert!(failures.is_empty(), "{} failures: {failures:#?}", failures.len());
    }

    /// Ends it; the teams whose writes were acknowledged.
    pub(crate) fn end(self) -> BTreeSet<String> {
        self.shared.stop.store(true, SeqCst);
        for client in self.clients {
            client.join().unwrap();
        }
        let failures = self.shared.failures.lock().unwrap();
        assert!(failures.is_empty(), "{} failures: {failures:#?}", failures.len());
        std::mem::take(&mut self.shared.acknowledged.lock().unwrap())
    }
}

fn requests(shared: &Shared, (node, address): (usize, SocketAddr), request: &str) {
    let mut kept = None;
    while !shared.stop.load(SeqCst) {
        std::thread::sleep(PAUSE);
        let since = shared.ups.now(node);
        if since.expected() == Expected::Nothing {
            kept = None;
            continue;
        }
        match one(&mut kept, address, request) {
            Ok(()) => {
                shared.answers[node].fetch_add(1, SeqCst);
            }
            Err(error) => {
                kept = None;
                shared.failed((node, since), Expected::Requests, error.to_string());
            }
        }
    }
}

/// One request on a connection that is kept.
fn one(kept: &mut Option<TcpStream>, address: SocketAddr, request: &str) -> io::Result<()> {
    let stream = match kept {
        Some(stream) => stream,
        None => {
            let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            kept.insert(stream)
        }
    };
    stream.write_all(request.as_bytes())?;
    let reply = support::reply(stream)?;
    let ends = if request.contains("\"stream\"") { "data: [DONE]\n\n" } else { "}" };
    if reply.status != 200 || !reply.body.ends_with(ends) {
        return Err(io::Error::other(format!("{reply:?}")));
    }
    if reply.head.contains("connection: close") {
        *kept = None;
    }
    Ok(())
}

/// A new team again and again, by one node after the other; by none of which only requests are expected.
fn writes(shared: &Shared, addresses: &[SocketAddr]) {
    for number in 0_usize.. {
        if shared.stop.load(SeqCst) {
            return;
        }
        std::thread::sleep(PAUSE * 2);
        let node = number % addresses.len();
        let since = shared.ups.now(node);
        if matches!(since.expected(), Expected::Nothing | Expected::Requests) {
            continue;
        }
        let team = format!("t{number}");
        match put_team(addresses[node], &team, PATIENCE) {
            Ok(reply) if reply.status == 200 => {
                shared.acknowledged.lock().unwrap().insert(team);
            }
            Ok(reply) => shared.failed((node, since), Expected::All, format!("{team}: {reply:?}")),
            Err(error) => shared.failed((node, since), Expected::All, format!("{team}: {error}")),
        }
    }
}
