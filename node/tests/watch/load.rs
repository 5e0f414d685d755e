//! Requests of which it is known how each must end, to all nodes in turn.

use crate::{
    nodes::Mesh,
    support::{self, eventually},
};
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread::JoinHandle,
    time::Duration,
};
use trestle_config::hash_text;

const WATCHED: &str = "sk-watched";
const TIGHT: &str = "sk-tight";
/// Between two requests.
const PAUSE: Duration = Duration::from_millis(20);

/// How many requests ended how.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Answered whole.
    pub(crate) chats: u64,
    /// Answered as streams.
    pub(crate) streams: u64,
    /// Without a known key.
    pub(crate) strangers: u64,
    /// Of a team with a small limit: let in, and refused.
    pub(crate) admitted: u64,
    pub(crate) limited: u64,
    /// With a provider that fails.
    pub(crate) failed: u64,
}

/// A provider with prices, one that fails, a team with a budget and one with a limit that is soon reached.
pub(crate) fn prepare(mesh: &Mesh) {
    let operator = mesh.operator(0);
    let url = mesh.upstream.url();
    let provider = |key: &str| {
        format!(
            r#"{{"like":"openai","base_url":"{url}/v1","keys":[{{"name":"main","value":"{key}"}}],"retries":{{"max":0}}}}"#
        )
    };
    let model = |target: &str| format!(r#"{{"targets":[{{"model":"{target}/gpt-4o-mini"}}]}}"#);
    let key = |secret: &str, team: &str| format!(r#"{{"value":"{}","team":"{team}"}}"#, hash_text(secret));
    let budget = r#"{"budgets":[{"usd":1000,"per":"month","mode":"soft"}]}"#;
    for (path, value) in [
        ("providers/priced", provider("mock:tokens=20;cached=2")),
        ("providers/broken", provider("mock:status=500")),
        ("models/good", model("priced")),
        ("models/bad", model("broken")),
        ("teams/watched", budget.to_owned()),
        ("teams/tight", r#"{"limits":[{"requests":5,"per":"year","mode":"soft"}]}"#.to_owned()),
        ("keys/watched", key(WATCHED, "watched")),
        ("keys/tight", key(TIGHT, "tight")),
    ] {
        operator.done(&format!("PUT /api/{path}"), &value);
    }
    mesh.is_level();
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    fail: AtomicBool,
    rounds: AtomicU64,
}

/// Requests that go on.
pub(crate) struct Load {
    shared: Arc<Shared>,
    client: JoinHandle<Counts>,
}

impl Load {
    /// Requests that are answered, and ones that their callers spoil.
    pub(crate) fn start(mesh: &Mesh) -> Self {
        let shared = Arc::new(Shared::default());
        let addresses: Vec<_> = (0..mesh.size()).map(|node| mesh.http(node)).collect();
        let client = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || run(&shared, &addresses)
        });
        Self { shared, client }
    }

    /// From now on also requests that fail.
    pub(crate) fn fail_too(&self) {
        self.shared.fail.store(true, SeqCst);
    }

    /// Waits for some more of each kind on each node.
    pub(crate) fn goes_on(&self) {
        let before = self.shared.rounds.load(SeqCst);
        eventually("requests to go on", || {
            assert!(!self.client.is_finished(), "a request did not end as it must");
            (self.shared.rounds.load(SeqCst) >= before + 6).then_some(())
        });
    }

    pub(crate) fn end(self) -> Counts {
        self.shared.stop.store(true, SeqCst);
        self.client.join().unwrap()
    }
}

fn run(shared: &Shared, addresses: &[SocketAddr]) -> Counts {
    let mut counts = Counts::default();
    for address in addresses.iter().cycle() {
        if shared.stop.load(SeqCst) {
            break;
        }
        let ask = |key: &str, model: &str, members: &str| {
            std::thread::sleep(PAUSE);
            let request = support::chat(key, model, members);
            support::exchange(&mut support::connect(*address), &request).status
        };
        assert_eq!(ask(WATCHED, "good", ""), 200);
        counts.chats += 1;
        assert_eq!(ask(WATCHED, "good", r#","stream":true"#), 200);
        counts.streams += 1;
        assert_eq!(ask("sk-nobody", "good", ""), 401);
        counts.strangers += 1;
        match ask(TIGHT, "good", "") {
            200 => counts.admitted += 1,
            429 => counts.limited += 1,
            other => panic!("{other}"),
        }
        if shared.fail.load(SeqCst) {
            assert_eq!(ask(support::KEY, "bad", ""), 502);
            counts.failed += 1;
        }
        shared.rounds.fetch_add(1, SeqCst);
    }
    counts
}
