//! Clients of all kinds: buffered and streamed, of two dialects, with faults behind them, patient or not.

use crate::limits::KEYS;
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// Clients at once.
const CLIENTS: u64 = 64;
/// Nothing takes longer, or it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the first target does: a name, and settings of the mock.
pub(crate) const KINDS: [(&str, &str); 16] = [
    ("plain", "tokens=24"),
    ("whole", "tokens=8"),
    ("slow", "tokens=40+gap_ms=4"),
    ("slower", "tokens=50+gap_ms=12"),
    ("late", "tokens=12+delay_ms=60"),
    ("pieces", "tokens=16+dribble"),
    ("cached", "tokens=12+cached=3"),
    ("untold", "tokens=12+no_usage"),
    ("s500", "status=500"),
    ("s429", "status=429+retry_after=0"),
    ("reset", "tokens=24+gap_ms=2+reset_mid=7"),
    ("cut", "tokens=24+cut_mid=5"),
    ("error", "tokens=24+error_event_mid=6"),
    ("first", "error_event"),
    ("silent", "silent"),
    ("stuck", "tokens=24+silent_mid=5"),
];

/// A simple generator.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }
}

/// What a client knows of a request.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    /// No other request has it; it is in the name of each model that is called for it.
    pub(crate) name: String,
    /// 0 without an answer.
    pub(crate) status: u16,
    /// `x-request-id`.
    pub(crate) id: String,
    /// Events with content.
    pub(crate) events: u64,
}

/// Clients that ask until the node is gone, or they are told to stop.
pub(crate) struct Traffic {
    stop: Arc<AtomicBool>,
    clients: Vec<JoinHandle<Vec<Got>>>,
}

impl Traffic {
    /// Starts them.
    pub(crate) fn start(address: SocketAddr, (round, seed): (u64, u64)) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let client = |number: u64| {
            let stop = Arc::clone(&stop);
            let random = Random(seed ^ (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let client = Client { address, random, name: format!("r{round}c{number}n") };
            std::thread::spawn(move || client.run(&stop))
        };
        Self { clients: (0..CLIENTS).map(client).collect(), stop }
    }

    /// Lets them end what runs.
    pub(crate) fn join(self) -> Vec<Got> {
        self.stop.store(true, Relaxed);
        self.clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    }
}

struct Client {
    address: SocketAddr,
    random: Random,
    name: String,
}

impl Client {
    fn run(mut self, stop: &AtomicBool) -> Vec<Got> {
        let mut all = Vec::new();
        while !stop.load(Relaxed) {
            let name = format!("{}{}", self.name, all.len());
            let (request, chat) = self.request(&name);
            let leaves = self.random.below(4) == 0;
            let stays = Duration::from_millis(self.random.below(250));
            let got = ask(self.address, &request, (name, chat), leaves.then_some(stays));
            let gone = got.is_none();
            all.extend(got);
            if gone {
                break;
            }
        }
        all
    }

    fn request(&mut self, name: &str) -> (String, bool) {
        let (kind, _) = KINDS[self.random.below(KINDS.len() as u64) as usize];
        // What never answers is asked for less often: it takes long.
        let kind =
            if matches!(kind, "silent" | "stuck") && self.random.below(4) > 0 { "plain" } else { kind };
        let vendor = ["oa", "an"][self.random.below(2) as usize];
        let (key, _) = KEYS[self.random.below(KEYS.len() as u64) as usize];
        let (stream, chat) = (self.random.below(3) > 0, self.random.below(2) == 0);
        let body = format!(
            r#"{{"model":"{vendor}-{kind}-{name}","max_tokens":60,"stream":{stream},"messages":[{{"role":"user","content":"Hello, bridge"}}]}}"#
        );
        let path = if chat { "/v1/chat/completions" } else { "/v1/messages" };
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer sk-{key}\r\nanthropic-version: 2023-06-01\r\n\
             content-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        (request, chat)
    }
}

/// `None` if there is no node any more.
fn ask(
    address: SocketAddr,
    request: &str,
    (name, chat): (String, bool),
    stays: Option<Duration>,
) -> Option<Got> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let until = Instant::now() + stays.unwrap_or(PATIENCE);
    let (mut bytes, mut piece) = (Vec::new(), [0; 16 * 1024]);
    loop {
        let rest = until.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            assert!(stays.is_some(), "{name} hangs: {}", String::from_utf8_lossy(&bytes));
            break;
        }
        stream.set_read_timeout(Some(rest)).unwrap();
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => bytes.extend_from_slice(&piece[..length]),
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock) => {}
            Err(_) => break,
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let id = text.lines().find_map(|line| line.strip_prefix("x-request-id: ")).unwrap_or_default();
    let events = if chat {
        text.matches(r#""delta":{"content":""#).count() - text.matches(r#""delta":{"content":"""#).count()
    } else {
        text.matches(r#""type":"text_delta""#).count()
    };
    Some(Got { name, status, id: id.trim().to_owned(), events: events as u64 })
}
