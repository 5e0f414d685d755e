//! `trestle cluster`: the nodes that serve as one.

use super::{
    client::{Ask, Client, encoded},
    failure::Done,
    print,
    remote::Remote,
    table::Table,
};
use anyhow::Context;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{path::PathBuf, process::ExitCode, time::SystemTime};
use trestle_cluster::InitTls;

/// See the nodes of a cluster, and do what only operators can: remove one, let another one lead, back up, restore.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle cluster status
  trestle cluster members
  trestle cluster remove trestle-2
  trestle cluster backup cluster.backup
  trestle cluster restore cluster.backup --data-dir /var/lib/trestle
  trestle cluster init-tls mesh-tls --nodes trestle-0,trestle-1,trestle-2")]
pub(super) struct Cluster {
    #[command(flatten)]
    remote: Remote,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// How the cluster stands, as the node that is asked sees it.
    #[command(after_help = "\
Examples:
  trestle cluster status")]
    Status,
    /// The nodes, and how each stands.
    #[command(after_help = "\
Examples:
  trestle cluster members
  trestle cluster members --json")]
    Members,
    /// Remove a node for good: by its name or its number. It is never let in again with what its disk has.
    #[command(after_help = "\
Examples:
  trestle cluster remove trestle-2
  trestle cluster remove 970572768455181269")]
    Remove {
        /// Its name, or its number.
        node: String,
    },
    /// Let another node lead, if the one that is asked does.
    #[command(after_help = "\
Examples:
  trestle cluster step-down")]
    StepDown,
    /// Have the node that is asked make a snapshot now.
    #[command(after_help = "\
Examples:
  trestle cluster snapshot")]
    Snapshot,
    /// Save the replicated state as one file: the document, admin tokens, sealed secrets and the history.
    #[command(after_help = "\
Examples:
  trestle cluster backup trestle.backup")]
    Backup {
        /// Where; it must not be there yet.
        file: PathBuf,
    },
    /// Found a new cluster of one node from a backup, in a data folder that is empty. Asks no node.
    #[command(after_help = "\
Examples:
  trestle cluster restore trestle.backup --data-dir /var/lib/trestle")]
    Restore {
        /// The backup.
        file: PathBuf,
        /// The data folder of the first node of the new cluster.
        #[arg(long, value_name = "DIR")]
        data_dir: PathBuf,
    },
    /// Make a small authority and a certificate for each node, where there is no other authority. Asks no node.
    #[command(after_help = "\
Examples:
  trestle cluster init-tls mesh-tls --nodes trestle-0,trestle-1,trestle-2")]
    InitTls {
        /// Where: a folder a node, for --mesh-tls-dir, and one with the authority's key, which belongs on no node.
        folder: PathBuf,
        /// The names of the nodes; nodes can be added later.
        #[arg(long, value_name = "NAMES", value_delimiter = ',', required = true)]
        nodes: Vec<String>,
        /// What they have in common, as --mesh-name.
        #[arg(long, value_name = "NAME", default_value = "trestle.mesh")]
        mesh_name: String,
        /// How long the certificates are good.
        #[arg(long, value_name = "N", default_value_t = 365)]
        days: u32,
        /// Leave the nodes that have a folder already as they are, so that the command can be given again.
        #[arg(long)]
        missing: bool,
    },
}

#[derive(Debug, Deserialize)]
struct Shown {
    node: String,
    cluster: Option<String>,
    leader: Option<String>,
    term: u64,
    revision: u64,
    committed: u64,
    applied: u64,
    members: Vec<Member>,
    removed: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Member {
    node: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    address: String,
    votes: bool,
    leads: bool,
    lag: Option<u64>,
    live: Option<bool>,
    ready: Option<bool>,
    leaving: Option<bool>,
    revision: Option<u64>,
    in_flight: Option<u64>,
    zone: Option<String>,
}

impl Cluster {
    pub(super) fn run(self) -> Done {
        match self.what {
            What::Status => status(&self.remote),
            What::Members => members(&self.remote),
            What::Remove { node } => {
                let path = format!("/api/cluster/members/{}", encoded(&node));
                let client = Client::open(&self.remote)?;
                client.ask(Ask {
                    method: Method::DELETE,
                    path: &path,
                    if_match: None,
                    body: String::new(),
                })?;
                said(&self.remote, &format!("{node} is removed"), json!({"removed": node}))
            }
            What::StepDown => {
                Client::open(&self.remote)?.post("/api/cluster/step-down", &json!({}))?;
                said(&self.remote, "another node leads", json!({"stepped_down": true}))
            }
            What::Snapshot => {
                Client::open(&self.remote)?.post("/api/cluster/snapshot", &json!({}))?;
                said(&self.remote, "a snapshot is being made", json!({"snapshot": true}))
            }
            What::Backup { file } => {
                let bytes = Client::open(&self.remote)?.save("/api/cluster/backup", &file)?;
                let text = format!("{} has the state of the cluster ({bytes} bytes)", file.display());
                said(&self.remote, &text, json!({"file": file, "bytes": bytes}))
            }
            What::Restore { file, data_dir } => {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let runtime = runtime.context("cannot start")?;
                let restored = runtime.block_on(trestle_cluster::restore(&file, &data_dir));
                let restored = restored.map_err(anyhow::Error::from)?;
                let (cluster, node) = (restored.cluster.to_string(), restored.node.to_string());
                let text = format!(
                    "{} is node {node} of the new cluster {cluster}, with revision {}: start it with its secret, then the \
                     others with empty data folders",
                    data_dir.display(),
                    restored.revision
                );
                said(
                    &self.remote,
                    &text,
                    json!({"cluster": cluster, "node": node, "revision": restored.revision}),
                )
            }
            What::InitTls { folder, mut nodes, mesh_name, days, missing } => {
                if missing {
                    nodes.retain(|node| !folder.join(node).exists());
                }
                let (mesh_name, now) = (&*mesh_name, SystemTime::now());
                init_tls(&self.remote, InitTls { folder: &folder, mesh_name, nodes: &nodes, days, now })
            }
        }
    }
}

fn init_tls(remote: &Remote, asked: InitTls<'_>) -> Done {
    if asked.nodes.is_empty() {
        return said(remote, "each node has its folder already", json!({"folders": []}));
    }
    let folders = trestle_cluster::init_tls(asked).map_err(anyhow::Error::from)?;
    let shown: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    let text = format!("give each node its folder as --mesh-tls-dir:\n  {}", shown.join("\n  "));
    said(remote, &text, json!({"folders": shown}))
}

fn said(remote: &Remote, text: &str, value: Value) -> Done {
    if remote.json {
        print::json(&value)?;
    } else {
        print::out(&format!("{text}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn status(remote: &Remote) -> Done {
    let answer = Client::open(remote)?.get("/api/cluster")?;
    if remote.json {
        print::json(&answer.read::<Value>()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let shown: Shown = answer.read()?;
    let named = |node: &str| {
        let member = shown.members.iter().find(|member| member.node == node);
        member.map(|member| member.name.as_str()).filter(|name| !name.is_empty()).unwrap_or(node).to_owned()
    };
    let voters = shown.members.iter().filter(|member| member.votes).count();
    let live = shown.members.iter().filter(|member| member.live == Some(true)).count();
    let leader = shown.leader.as_deref().map_or_else(|| "none: no changes are taken".to_owned(), &named);
    let mut text = format!(
        "Cluster    {}\nAnswered   {}\nLeader     {leader} (term {})\nMembers    {}, {voters} of them vote",
        shown.cluster.as_deref().unwrap_or("-"),
        named(&shown.node),
        shown.term,
        shown.members.len(),
    );
    if shown.members.len() > 1 {
        text.push_str(&format!(", {live} heard of lately"));
    }
    text.push_str(&format!(
        "\nRevision   {}\nLog        {} on a majority, {} in effect here\n",
        shown.revision, shown.committed, shown.applied
    ));
    if !shown.removed.is_empty() {
        text.push_str(&format!("Removed    {}\n", shown.removed.join(", ")));
    }
    print::out(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn members(remote: &Remote) -> Done {
    let answer = Client::open(remote)?.get("/api/cluster")?;
    if remote.json {
        let all: Value = answer.read()?;
        print::json(&json!({"items": all["members"]}))?;
        return Ok(ExitCode::SUCCESS);
    }
    let shown: Shown = answer.read()?;
    let mut table =
        Table::new(["NAME", "NODE", "ADDRESS", "ROLE", "STATE", "REVISION", "LAG", "IN FLIGHT", "ZONE"]);
    for member in shown.members {
        let role = match (member.leads, member.votes) {
            (true, _) => "leads",
            (false, true) => "votes",
            (false, false) => "follows",
        };
        let state = match (member.live, member.leaving, member.ready) {
            (None, ..) => "-",
            (Some(false), ..) => "away",
            (_, Some(true), _) => "leaving",
            (_, _, Some(true)) => "ready",
            _ => "not ready",
        };
        let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        let text = |text: String| if text.is_empty() { "-".to_owned() } else { text };
        table.row([
            text(member.name),
            member.node,
            text(member.address),
            role.to_owned(),
            state.to_owned(),
            number(member.revision),
            number(member.lag),
            number(member.in_flight),
            text(member.zone.unwrap_or_default()),
        ]);
    }
    print::out(&table.to_string())?;
    Ok(ExitCode::SUCCESS)
}
