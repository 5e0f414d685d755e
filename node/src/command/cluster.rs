//! `trestle cluster`: the nodes that serve as one.

use super::{
    client::{Ask, Client, encoded},
    cluster_view,
    failure::Done,
    finalize::finalize,
    print,
    remote::Remote,
    scale_in::ScaleIn,
};
use anyhow::Context;
use http::Method;
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::SystemTime,
};
use trestle_cluster::InitTls;

/// See the nodes of a cluster, and do what only operators can: remove one, let another one lead, finalize a version, back up.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle cluster status
  trestle cluster members
  trestle cluster remove trestle-2
  trestle cluster scale-in --stateful-set trestle --replicas 3
  trestle cluster finalize --wait 300
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
  trestle cluster status
  trestle cluster status --wait 120    once it has a leader and all voters are there")]
    Status {
        /// Wait so long for a leader and for all voters; exit status 1, and what is missing, if they do not come.
        #[arg(long, value_name = "SECONDS")]
        wait: Option<u64>,
    },
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
    /// Remove the nodes that a StatefulSet of Kubernetes is about to end, one by one: before it is made smaller.
    #[command(after_help = "\
Examples:
  trestle cluster scale-in --stateful-set trestle --replicas 3    trestle-4, then trestle-3 are removed")]
    ScaleIn(ScaleIn),
    /// After all nodes have a new program: let the cluster use what came with it. There is no way back.
    #[command(after_help = "\
Examples:
  trestle cluster finalize
  trestle cluster finalize --wait 300    once all nodes have this program")]
    Finalize {
        /// Wait so long until all nodes are there and can what this program can.
        #[arg(long, value_name = "SECONDS")]
        wait: Option<u64>,
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

impl Cluster {
    pub(super) fn run(self) -> Done {
        match self.what {
            What::Status { wait } => cluster_view::status(&self.remote, wait),
            What::Members => cluster_view::members(&self.remote),
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
            What::ScaleIn(scale_in) => {
                let removed = scale_in.run(&self.remote)?;
                let text = match removed.is_empty() {
                    true => "there is none to remove".to_owned(),
                    false => format!("{} removed", removed.join(", ")),
                };
                said(&self.remote, &text, json!({"removed": removed}))
            }
            What::Finalize { wait } => {
                let version = finalize(&self.remote, wait)?;
                said(
                    &self.remote,
                    &format!("the cluster is of version {version}"),
                    json!({"version": version}),
                )
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
            What::Restore { file, data_dir } => restore(&self.remote, &file, &data_dir),
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

/// Makes the first node of a new cluster.
fn restore(remote: &Remote, file: &Path, data_dir: &Path) -> Done {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start")?;
    let restored = runtime.block_on(trestle_cluster::restore(file, data_dir));
    let restored = restored.map_err(anyhow::Error::from)?;
    let (cluster, node) = (restored.cluster.to_string(), restored.node.to_string());
    let text = format!(
        "{} is node {node} of the new cluster {cluster}, with revision {}: start it with its secret, then the \
         others with empty data folders",
        data_dir.display(),
        restored.revision
    );
    said(remote, &text, json!({"cluster": cluster, "node": node, "revision": restored.revision}))
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
