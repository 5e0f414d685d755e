//! The disk of one node of three fails: it loses its power, refuses what is written, or is slow. The others go on, and the
//! node says what is wrong. Disks are made to fail by libraries that are loaded before libc; see their sources for what they
//! do not cover. `TRESTLE_DISK_ROUNDS` sets how often power is lost.

use crate::{
    losses::all_have,
    nodes::{LIMITED, Mesh, ask, put_team},
    support::{self, KEY, eventually, faulty_disk},
    traffic::Traffic,
    ups::Expected,
};
use std::{collections::BTreeSet, env, fs, path::PathBuf, time::Duration};
use trestle_config::hash_text;

const PATIENCE: Duration = Duration::from_secs(60);
const ROUNDS: u64 = 4;
/// Power is lost at one of so many calls that write or sync; the process ends so.
const CALLS_MAX: u64 = 250;
/// Of a start, which makes two files of the ledger.
const START_CALLS_MAX: u64 = 500;
const POWERLESS: i32 = 99;
const ENOSPC: &str = "28";
const EROFS: &str = "30";
/// A call of this key has a line of some kilobytes.
const VERBOSE: &str = "sk-verbose";
/// Of the smallest ledger that a node may have, a file is a quarter; a thread has two.
const LEDGER_BYTES: u64 = 16 << 20;
const SYNC_MS: &str = "2000";

#[test]
fn power_is_lost_and_what_was_acknowledged_is_there() {
    let mut mesh = Mesh::of(3);
    let library = faulty_disk("../cluster/tests/forget.c", mesh.folder.path());
    for node in 0..3 {
        mesh.set(node, "LD_PRELOAD", library.to_str().unwrap());
        mesh.set(node, "FORGET_WHILE", marker(&mesh, node).to_str().unwrap());
        mesh.set(node, "FORGET_AFTER", &random(CALLS_MAX));
    }
    mesh.start_all();
    mesh.all_vote(&[]);
    let traffic = Traffic::start(&mesh);
    traffic.goes_on();
    let rounds = env::var("TRESTLE_DISK_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let mut asked = Asked::default();
    for round in 0..rounds {
        let victim = if round % 2 == 0 { mesh.leader() } else { mesh.follower() };
        mesh.ups.expect(victim, Expected::Trying);
        fs::write(marker(&mesh, victim), "").unwrap();
        eventually("the loss of power", || {
            (0..3).for_each(|node| asked.ask(&mesh, node));
            mesh.has_ended(victim).then_some(())
        });
        loses_power(&mut mesh, victim);
        traffic.goes_on();
        // Now and then the next start does not come far.
        if round % 3 == 2 {
            mesh.set(victim, "FORGET_AFTER", &random(START_CALLS_MAX));
            mesh.spawn(victim);
            loses_power(&mut mesh, victim);
        }
        fs::remove_file(marker(&mesh, victim)).unwrap();
        mesh.set(victim, "FORGET_AFTER", &random(CALLS_MAX));
        mesh.start(victim);
        mesh.is_level();
        traffic.goes_on();
    }
    all_have(&mesh, &traffic.end());
    mesh.all_vote(&[]);
    asked.is_known(&mesh);
}

fn loses_power(mesh: &mut Mesh, victim: usize) {
    let (status, log) = mesh.ends(victim);
    assert_eq!(status, Some(POWERLESS), "{log}");
}

/// Calls of the key whose requests are limited.
#[derive(Default)]
struct Asked {
    /// That may have been made.
    tried: u64,
    /// Requests that were answered.
    answered: BTreeSet<String>,
}

impl Asked {
    fn ask(&mut self, mesh: &Mesh, node: usize) {
        let request = support::chat(LIMITED, "openai/gpt-4o-mini+tokens=3", "");
        match ask(mesh.http(node), &request, PATIENCE) {
            Ok(reply) if reply.status == 429 => {}
            Ok(reply) if reply.status == 200 => {
                let id = reply.head.lines().find_map(|line| line.strip_prefix("x-request-id: "));
                self.answered.insert(id.unwrap().to_owned());
                self.tried += 1;
            }
            other => {
                assert_eq!(mesh.ups.expected(node), Expected::Trying, "node {node}: {other:?}");
                self.tried += 1;
            }
        }
    }

    /// Calls that were answered have their lines, and limits have counted them, and no more than there were. That holds of all
    /// because mapped files are not covered by `forget.c`; a real loss may take what the ledger got in the last second.
    fn is_known(&self, mesh: &Mesh) {
        assert!(self.answered.len() >= 10, "{} answers", self.answered.len());
        for node in 0..3 {
            eventually(&format!("all to count the same, as node {node} does"), || {
                let counts: BTreeSet<_> = (0..3).map(|node| mesh.used(node)).collect();
                (counts.len() == 1 && counts.first().unwrap().1 == 0).then_some(())
            });
            let used = mesh.used(node).0;
            let truth = self.answered.len() as u64..=self.tried;
            assert!(truth.contains(&used), "node {node} counts {used}, and there were {truth:?}");
            let lines = mesh.operator(node).done("GET /api/ledger?key=limited&limit=1000", "");
            assert!(lines.get("next").is_none() && lines.get("incomplete").is_none(), "{lines}");
            let lines = lines["items"].as_array().unwrap().iter();
            let known: BTreeSet<_> =
                lines.map(|line| line["request_id"].as_str().unwrap().to_owned()).collect();
            let lost: Vec<_> = self.answered.difference(&known).collect();
            assert!(lost.is_empty(), "node {node} does not know {lost:?}");
        }
    }
}

#[test]
fn a_disk_that_is_full_stops_changes_on_its_node_alone() {
    let mut mesh = refusing(ENOSPC);
    let traffic = Traffic::start(&mesh);
    traffic.goes_on();
    for victim in [mesh.follower(), mesh.leader()] {
        refuses(&mesh, &traffic, victim);
        // No line, no call, and the other way round.
        mesh.ups.expect(victim, Expected::Trying);
        fills_its_ledger(&mesh, victim);
        fs::remove_file(marker(&mesh, victim)).unwrap();
        eventually("the ledger to have room again", || (mesh.chat(victim, KEY).status == 200).then_some(()));
        mesh.node(victim).printed("there is room for the ledger again");
        assert!(is_down(&mesh, victim), "the store works again only after a restart");
        mesh.terminate(victim);
        // It says so as well where it cannot start.
        fs::write(marker(&mesh, victim), "").unwrap();
        does_not_start(&mut mesh, victim);
        comes_back(&mut mesh, &traffic, victim);
    }
    all_have(&mesh, &traffic.end());
}

#[test]
fn a_disk_that_is_read_only_stops_changes_on_its_node_alone() {
    let mut mesh = refusing(EROFS);
    let traffic = Traffic::start(&mesh);
    traffic.goes_on();
    for victim in [mesh.follower(), mesh.leader()] {
        refuses(&mesh, &traffic, victim);
        // What the ledger was given cannot be kept any more: nobody knows what is on the disk.
        mesh.ups.expect(victim, Expected::Trying);
        fs::write(mapped_marker(&mesh, victim), "").unwrap();
        let (status, log) = mesh.ends(victim);
        assert!(status == Some(1) && log.contains("the ledger cannot be kept: ending"), "{status:?}\n{log}");
        does_not_start(&mut mesh, victim);
        fs::remove_file(mapped_marker(&mesh, victim)).unwrap();
        comes_back(&mut mesh, &traffic, victim);
    }
    all_have(&mesh, &traffic.end());
}

/// Three nodes whose disks can refuse.
fn refusing(errno: &str) -> Mesh {
    let mut mesh = Mesh::of(3).told(&["--ledger-bytes-max", &LEDGER_BYTES.to_string()]);
    let library = faulty_disk("../cluster/tests/refuse.c", mesh.folder.path());
    for node in 0..3 {
        mesh.set(node, "LD_PRELOAD", library.to_str().unwrap());
        mesh.set(node, "REFUSE_WHILE", marker(&mesh, node).to_str().unwrap());
        mesh.set(node, "REFUSE_MAPPED_WHILE", mapped_marker(&mesh, node).to_str().unwrap());
        mesh.set(node, "REFUSE_IN", mesh.data(node).to_str().unwrap());
        mesh.set(node, "REFUSE_WITH", errno);
    }
    mesh.start_all();
    mesh.all_vote(&[]);
    let tags: Vec<_> = (0..32).map(|number| format!("{number:02}{}", "\u{1f600}".repeat(30))).collect();
    let key = serde_json::json!({ "value": hash_text(VERBOSE), "tags": tags });
    mesh.operator(0).done("PUT /api/keys/verbose", &key.to_string());
    mesh.is_level();
    mesh
}

/// From now on the disk of a node refuses: it says so and answers requests, the others take changes.
fn refuses(mesh: &Mesh, traffic: &Traffic, victim: usize) {
    mesh.ups.expect(victim, Expected::Requests);
    fs::write(marker(mesh, victim), "").unwrap();
    eventually("the node to say that its store does not work", || is_down(mesh, victim).then_some(()));
    mesh.node(victim).printed("the store has ended: requests are served on");
    assert_ne!(mesh.leader(), victim);
    let before = mesh.revision(victim).expect("it answers requests, so it is ready");
    traffic.goes_on();
    assert_eq!(mesh.revision(victim), Some(before), "requests see the last document that it has");
    let refused = put_team(mesh.http(victim), "refused", PATIENCE).unwrap();
    assert!(refused.status == 503 && refused.body.contains("store"), "{refused:?}");
}

fn is_down(mesh: &Mesh, node: usize) -> bool {
    let metrics = support::get(mesh.http(node), "/metrics").body;
    let ready = support::get(mesh.http(node), "/readyz");
    assert_eq!(ready.status, 200, "{ready:?}");
    metrics.lines().any(|line| line == "trestle_store_up 0") && ready.body.contains(r#""store":"down""#)
}

/// Calls that find no room are refused, not made.
fn fills_its_ledger(mesh: &Mesh, victim: usize) {
    let request = support::chat(VERBOSE, "openai/gpt-4o-mini+tokens=2", "");
    let refused = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut stream = support::connect(mesh.http(victim));
                    loop {
                        let reply = support::exchange(&mut stream, &request);
                        if reply.status != 200 {
                            return reply;
                        }
                    }
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).next().unwrap()
    });
    assert!(refused.status == 503 && refused.body.contains("ledger_full"), "{refused:?}");
    assert!(refused.head.contains("retry-after: "), "{refused:?}");
    mesh.node(victim).printed("no room is left for the ledger");
}

/// A start while the disk refuses says why it cannot be.
fn does_not_start(mesh: &mut Mesh, victim: usize) {
    mesh.spawn(victim);
    let (status, log) = mesh.ends(victim);
    assert!(status == Some(1) && log.contains("error: "), "{status:?}\n{log}");
    let said = ["free space", "cannot write", "os error"].iter().any(|words| log.contains(words));
    assert!(said, "{log}");
}

/// The disk takes writes again.
fn comes_back(mesh: &mut Mesh, traffic: &Traffic, victim: usize) {
    fs::remove_file(marker(mesh, victim)).unwrap();
    mesh.start(victim);
    mesh.is_level();
    traffic.goes_on();
}

#[test]
fn a_slow_disk_slows_no_requests_and_not_the_others() {
    let mut mesh = Mesh::of(3);
    let library = faulty_disk("tests/mesh/slow.c", mesh.folder.path());
    for node in 0..3 {
        mesh.set(node, "LD_PRELOAD", library.to_str().unwrap());
        mesh.set(node, "SLOW_WHILE", marker(&mesh, node).to_str().unwrap());
        mesh.set(node, "SLOW_IN", mesh.data(node).to_str().unwrap());
        mesh.set(node, "SLOW_SYNC_MS", SYNC_MS);
        mesh.set(node, "SLOW_WRITE_MS", "20");
    }
    mesh.start_all();
    mesh.all_vote(&[]);
    let traffic = Traffic::start(&mesh);
    traffic.goes_on();
    let (leader, slow) = (mesh.leader(), mesh.follower());
    let term = mesh.cluster(leader)["term"].clone();
    becomes_slow(&mesh, slow);
    for _ in 0..3 {
        in_one_sync(&mesh, slow, || {
            let before = traffic.acknowledged();
            eventually("more writes than one", || (traffic.acknowledged() >= before + 3).then_some(()));
            assert_eq!(mesh.chat(slow, KEY).status, 200);
        });
    }
    traffic.goes_on();
    assert_eq!(mesh.leader(), leader);
    assert_eq!(mesh.cluster(leader)["term"], term, "a slow follower makes no elections");
    is_mended(&mesh, &traffic, slow);

    let slow = mesh.leader();
    becomes_slow(&mesh, slow);
    in_one_sync(&mesh, slow, || {
        for _ in 0..3 {
            (0..3).for_each(|node| assert_eq!(mesh.chat(node, KEY).status, 200));
        }
    });
    // It leads on, and each write waits for its disk, or another one leads.
    let before = traffic.acknowledged();
    eventually("writes to go on", || (traffic.acknowledged() >= before + 3).then_some(()));
    traffic.has_not_failed();
    is_mended(&mesh, &traffic, slow);
    all_have(&mesh, &traffic.end());
}

fn becomes_slow(mesh: &Mesh, node: usize) {
    mesh.ups.expect(node, Expected::Requests);
    fs::write(marker(mesh, node), "").unwrap();
}

fn is_mended(mesh: &Mesh, traffic: &Traffic, node: usize) {
    fs::remove_file(marker(mesh, node)).unwrap();
    mesh.ups.expect(node, Expected::All);
    mesh.is_level();
    traffic.goes_on();
}

/// Does something again until all of it was done while one and the same sync was in progress: then it has not waited for it.
fn in_one_sync(mesh: &Mesh, node: usize, act: impl Fn()) {
    let count = |what: &str| {
        let file = marker(mesh, node).with_extension(what);
        fs::metadata(file).map_or(0, |file| file.len())
    };
    eventually("all to be done while a sync is in progress", || {
        let ended = count("ended");
        if count("begun") == ended {
            return None;
        }
        act();
        (count("ended") == ended).then_some(())
    });
}

/// While it is there the disk of a node has its fault.
fn marker(mesh: &Mesh, node: usize) -> PathBuf {
    mesh.folder.path().join(format!("fault-{node}"))
}

/// While it is there mapped files of a node cannot be put on the disk.
fn mapped_marker(mesh: &Mesh, node: usize) -> PathBuf {
    marker(mesh, node).with_extension("mapped")
}

fn random(below: u64) -> String {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).unwrap();
    (u64::from_le_bytes(bytes) % below).to_string()
}
