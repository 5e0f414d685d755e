//! The command line of `mesh`, and what it measures: config changes, bytes of gossip and counters, CPU and memory of idle nodes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;

use super::ask::metric;
use super::command::document;
use super::load::Load;
use super::nodes::Nodes;
use super::place::Place;
use super::visible;
use crate::load::raise_file_limit;
use crate::mock::{Mock, Options};
use crate::overhead::{Folder, GATEWAY, build};

/// A key has so many limits where many counters are to be active, the most that it may: 4,096 of all keys, which each node counts
/// in a cell of its own.
const LIMITS_OF_A_KEY: usize = 16;
/// Time to settle after a start.
const SETTLE: Duration = Duration::from_secs(10);
/// A change is in effect on all nodes by then.
const VISIBLE_MS_MAX: u64 = 100;
/// Of a core, for an idle node.
const CPU_PERCENT_MAX: f64 = 1.0;

/// Measures what a mesh costs.
#[derive(Args, Debug)]
pub struct Command {
    /// Nodes of the meshes that are looked at, one after another.
    #[arg(long, value_delimiter = ',', default_values_t = [3, 5, 20])]
    sizes: Vec<usize>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// The gateway's binary. Without it the release build is made and used.
    #[arg(long)]
    gateway: Option<PathBuf>,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 20)]
    secs: u64,
    /// Requests each second, for the cost of counters.
    #[arg(long, default_value_t = 500)]
    per_second: u32,
}

/// What nodes send and burn, of one node on average.
#[derive(Clone, Copy, Debug, Serialize)]
struct Cost {
    gossip_bytes_per_second: f64,
    counters_bytes_per_second: f64,
    cpu_percent: f64,
    cpu_percent_max: f64,
    memory_mib: f64,
}

#[derive(Debug, Serialize)]
struct Measured {
    nodes: usize,
    idle: Cost,
    loaded: Cost,
    /// The same load, of which each request is counted by many limits.
    counted: Cost,
    change_p50_us: u64,
    visible_p50_us: u64,
    visible_p99_us: u64,
    visible_max_us: u64,
}

impl Command {
    /// Measures and prints. What misses its target is marked.
    ///
    /// # Errors
    /// Where something does not start, or any request failed.
    pub fn run(&self) -> anyhow::Result<()> {
        raise_file_limit();
        let binary = self.gateway.clone().map_or_else(|| build(GATEWAY), Ok)?.canonicalize()?;
        let folder = Folder::new()?;
        let mut all = Vec::new();
        for size in &self.sizes {
            eprintln!("{size} nodes");
            all.push(self.measure(&binary, &folder.0.join(size.to_string()), *size)?);
        }
        if self.json {
            println!("{}", serde_json::to_string_pretty(&all)?);
        } else {
            print!("{}", table(&all));
        }
        Ok(())
    }

    fn measure(&self, binary: &Path, folder: &Path, size: usize) -> anyhow::Result<Measured> {
        let place = Place::loopback();
        let mock = Mock::start(Options { listen: place.upstream(), ..Options::default() })?;
        let mut nodes = Nodes::start(binary, &folder.join("few"), (place, size), &document(mock.addr(), 0))?;
        std::thread::sleep(SETTLE);
        let idle = self.cost(&mut nodes)?;
        let addresses: Vec<_> = (0..size).map(|node| nodes.http(node)).collect();
        let visible = visible::measure(&addresses)?;
        let loaded = self.cost_of_load(&mut nodes)?;
        drop(nodes);
        let document = document(mock.addr(), LIMITS_OF_A_KEY);
        let mut nodes = Nodes::start(binary, &folder.join("many"), (Place::loopback(), size), &document)?;
        std::thread::sleep(SETTLE);
        let counted = self.cost_of_load(&mut nodes)?;
        Ok(Measured {
            nodes: size,
            idle,
            loaded,
            counted,
            change_p50_us: visible.change.value_at_quantile(0.5),
            visible_p50_us: visible.after.value_at_quantile(0.5),
            visible_p99_us: visible.after.value_at_quantile(0.99),
            visible_max_us: visible.after.max(),
        })
    }

    fn cost_of_load(&self, nodes: &mut Nodes) -> anyhow::Result<Cost> {
        let addresses: Vec<_> = (0..nodes.size).map(|node| nodes.http(node)).collect();
        let load = Load::start(&addresses, &nodes.ups, self.per_second)?;
        let cost = self.cost(nodes);
        let (counts, failure) = load.finish()?;
        let failed = counts.elsewhere + counts.on_victim;
        anyhow::ensure!(failed == 0, "{failed} requests failed: {}", failure.unwrap_or_default());
        cost
    }

    fn cost(&self, nodes: &mut Nodes) -> anyhow::Result<Cost> {
        let size = nodes.size;
        let sent = |nodes: &Nodes, name: &str| -> anyhow::Result<f64> {
            (0..size).map(|node| metric(nodes.http(node), name, "direction=\"out\"")).sum()
        };
        let cpu = |nodes: &mut Nodes| -> anyhow::Result<Vec<Duration>> {
            (0..size).map(|node| Ok(nodes.process(node)?.cpu())).collect()
        };
        let (gossip, counters) = ("trestle_gossip_bytes_total", "trestle_exchange_bytes_total");
        let before = (sent(nodes, gossip)?, sent(nodes, counters)?);
        let (burnt, begun) = (cpu(nodes)?, Instant::now());
        std::thread::sleep(Duration::from_secs(self.secs.max(1)));
        let (after, took) = (cpu(nodes)?, begun.elapsed().as_secs_f64());
        let per_node = |bytes: f64| bytes / took / size as f64;
        let percents: Vec<_> = burnt
            .iter()
            .zip(&after)
            .map(|(before, after)| after.saturating_sub(*before).as_secs_f64() / took * 100.0)
            .collect();
        let mut memory = 0;
        for node in 0..size {
            memory += nodes.process(node)?.memory_bytes();
        }
        Ok(Cost {
            gossip_bytes_per_second: per_node(sent(nodes, gossip)? - before.0),
            counters_bytes_per_second: per_node(sent(nodes, counters)? - before.1),
            cpu_percent: percents.iter().sum::<f64>() / size as f64,
            cpu_percent_max: percents.iter().copied().fold(0.0, f64::max),
            memory_mib: memory as f64 / f64::from(1 << 20) / size as f64,
        })
    }
}

fn table(all: &[Measured]) -> String {
    let mut out = "of one node\n\n".to_owned();
    let _ = writeln!(
        out,
        "{:<15} {:>13} {:>13} {:>8} {:>8} {:>8}",
        "nodes", "gossip B/s", "counters B/s", "CPU %", "most", "MiB"
    );
    for measured in all {
        let costs = [("idle", measured.idle), ("loaded", measured.loaded), ("4,096 cells", measured.counted)];
        for (what, cost) in costs {
            let missed = what == "idle" && cost.cpu_percent_max > CPU_PERCENT_MAX;
            let _ = writeln!(
                out,
                "{:<15} {:>13.0} {:>13.0} {:>8.2} {:>8.2} {:>8.1}{}",
                format!("{} {what}", measured.nodes),
                cost.gossip_bytes_per_second,
                cost.counters_bytes_per_second,
                cost.cpu_percent,
                cost.cpu_percent_max,
                cost.memory_mib,
                if missed { format!("  target {CPU_PERCENT_MAX:.0} % !") } else { String::new() }
            );
        }
    }
    let ms = |micros: u64| micros as f64 / 1_000.0;
    let _ = writeln!(
        out,
        "\na config change, ms\n{:<10} {:>8} {:>24} {:>8} {:>8}  target {VISIBLE_MS_MAX}",
        "nodes", "p50", "then on all nodes: p50", "p99", "most"
    );
    for measured in all {
        let missed = measured.visible_max_us > VISIBLE_MS_MAX * 1_000;
        let _ = writeln!(
            out,
            "{:<10} {:>8.2} {:>24.2} {:>8.2} {:>8.2}{}",
            measured.nodes,
            ms(measured.change_p50_us),
            ms(measured.visible_p50_us),
            ms(measured.visible_p99_us),
            ms(measured.visible_max_us),
            if missed { "  !" } else { "" }
        );
    }
    out
}
