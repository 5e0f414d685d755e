//! The command line of `drill`, and the order of things.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::ensure;
use clap::Args;
use sha2::{Digest as _, Sha256};

use super::limit::{LIMIT, Overshoot, Sight, counted, exhaust};
use super::load::{Load, NAME};
use super::nodes::Nodes;
use super::place::Place;
use super::report::{Report, Truth};
use super::rounds::{Loss, Round, Stage};
use super::writes::{Writes, lost};
use crate::load::{KEYS, key, raise_file_limit};
use crate::mock::{Mock, Options};
use crate::overhead::{Folder, GATEWAY, build};

/// Nodes of a drill.
const NODES: usize = 3;
/// Rounds that there are keys for.
const ROUNDS_MAX: usize = 32;
/// What a wiped node may have counted last and told nobody: so many parts of a second of its requests.
const FORGOTTEN_PER_SECOND: u64 = 2;

/// Loses nodes of a cluster under load, one after the other, and holds what becomes of it against what is promised.
///
/// Without a flag each node is killed in turn, the leader among them. Several flags make several drills of one run.
#[derive(Args, Debug)]
pub struct Command {
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// The gateway's binary. Without it the release build is made and used.
    #[arg(long)]
    gateway: Option<PathBuf>,
    /// Requests each second.
    #[arg(long, default_value_t = 500)]
    per_second: u32,
    /// Tell each node to end and start it again (SIGTERM).
    #[arg(long)]
    rolling: bool,
    /// Kill each node and delete its data.
    #[arg(long)]
    wipe: bool,
    /// Cut a follower and the leader off from the others, in network namespaces; where these cannot be made, freeze them instead
    /// (SIGSTOP).
    #[arg(long)]
    partition: bool,
}

impl Command {
    /// Runs the drill and prints what it has shown.
    ///
    /// # Errors
    /// Where something does not start or does not happen at all, or a promise was broken.
    pub fn run(&self) -> anyhow::Result<()> {
        let place = match Place::inside() {
            Some(place) => place,
            None if self.partition => match Place::again_inside()? {
                Some(good) => {
                    ensure!(good, "the drill in a namespace failed");
                    return Ok(());
                }
                None => {
                    eprintln!("no network namespaces can be made here: nodes are frozen instead of cut off");
                    Place::loopback()
                }
            },
            None => Place::loopback(),
        };
        raise_file_limit();
        let binary = self.gateway.clone().map_or_else(|| build(GATEWAY), Ok)?.canonicalize()?;
        let folder = Folder::new()?;
        place.make(NODES)?;
        let mock = Mock::start(Options { listen: place.upstream(), ..Options::default() })?;
        let nodes = Nodes::start(&binary, &folder.0, (place, NODES), &document(mock.addr(), 0))?;
        let report = self.drill(nodes, &mock)?;
        if self.json {
            println!("{}", serde_json::to_string_pretty(&report)?);
        } else {
            print!("{}", report.table());
        }
        let broken = report.broken();
        ensure!(broken.is_empty(), "{} promises were broken", broken.len());
        Ok(())
    }

    fn drill(&self, nodes: Nodes, mock: &Mock) -> anyhow::Result<Report> {
        let addresses: Vec<_> = (0..NODES).map(|node| nodes.http(node)).collect();
        let before = exhaust(&addresses, "sk-limited-first", Sight::All, "before".to_owned())?;
        let load = Load::start(&addresses, &nodes.ups, self.per_second)?;
        let writes = Writes::start(&addresses, &nodes.ups);
        let mut stage = Stage { nodes, load, writes };
        let ran = self.rounds(&mut stage);
        let (counts, failure) = stage.load.finish()?;
        let written = stage.writes.finish()?;
        let rounds = ran?;
        let after = exhaust(&addresses, "sk-limited-last", Sight::All, "after".to_owned())?;
        let mut writes_lost = 0;
        for address in &addresses {
            writes_lost = writes_lost.max(lost(*address, &written.acknowledged)?);
        }
        let wiped = rounds.iter().filter(|round| round.loss == Loss::Wiped).count() as u64;
        let truth = Truth {
            counted: counted(&addresses)?,
            seen: mock.account().iter().filter(|call| call.model.contains(NAME)).count() as u64,
            in_flight: counts.on_victim,
            forgotten_max: wiped * u64::from(self.per_second) / NODES as u64 / FORGOTTEN_PER_SECOND,
        };
        Ok(Report {
            place: if stage.nodes.place == Place::Namespaces { "namespaces" } else { "loopback" },
            rounds,
            overshoots: Vec::<Overshoot>::from([before, after]),
            answers: counts.good,
            acknowledged: written.acknowledged.len(),
            writes_failed: written.failed,
            longest_write_ms: written.longest.as_millis() as u64,
            writes_lost,
            truth,
            first_failures: failure.into_iter().chain(written.first).collect(),
        })
    }

    fn rounds(&self, stage: &mut Stage) -> anyhow::Result<Vec<Round>> {
        let mut rounds = Vec::new();
        let cutting = stage.cutting();
        for (wanted, loss) in [
            (!self.rolling && !self.wipe && !self.partition, Loss::Killed),
            (self.rolling, Loss::ToldToEnd),
            (self.wipe, Loss::Wiped),
            (self.partition, cutting),
        ] {
            if !wanted {
                continue;
            }
            // The leader comes last, so that there is one that was not lost before.
            let leader = stage.nodes.leader()?;
            let followers: Vec<_> = (0..NODES).filter(|node| *node != leader).collect();
            let few = if self.partition && loss == cutting { 1 } else { followers.len() };
            for node in followers.into_iter().take(few) {
                rounds.push(stage.round(loss, node, rounds.len())?);
            }
            // Whoever leads by now.
            let leader = stage.nodes.leader()?;
            rounds.push(stage.round(loss, leader, rounds.len())?);
        }
        Ok(rounds)
    }
}

/// A caller for each of the load's keys, all of one team, whose requests are counted; keys to be removed, and limited ones. The
/// keys of the load have so many limits of their own, which they do not come to.
pub(super) fn document(upstream: SocketAddr, limits_of_a_key: usize) -> String {
    let mut text = format!(
        "providers:\n  openai: {{ base_url: \"http://{upstream}/v1\", dialects: [openai-chat], keys: [{{ name: main, value: \
         env:TRESTLE_BENCH_UPSTREAM_KEY }}] }}\nteams:\n  load: {{ limits: [{{ requests: 100000000, per: year }}] }}\nkeys:\n"
    );
    let hash = |key: &str| {
        Sha256::digest(key).iter().fold("sha256:".to_owned(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    };
    for number in 0..KEYS {
        let limits = (0..limits_of_a_key).map(|n| format!("{{ requests: 100000000, per: {}h }}", n + 1));
        let limits = limits.collect::<Vec<_>>().join(", ");
        let value = hash(&key(number));
        let _ = writeln!(text, "  bench{number}: {{ value: \"{value}\", team: load, limits: [{limits}] }}");
    }
    for number in 0..ROUNDS_MAX {
        let _ =
            writeln!(text, "  revoked{number}: {{ value: \"{}\" }}", hash(&format!("sk-revoked-{number}")));
    }
    let names = (0..ROUNDS_MAX).map(|number| number.to_string());
    for name in names.chain(["first".to_owned(), "last".to_owned()]) {
        let _ = writeln!(
            text,
            "  limited-{name}: {{ value: \"{}\", limits: [{{ requests: {LIMIT}, per: year }}] }}",
            hash(&format!("sk-limited-{name}"))
        );
    }
    text
}
