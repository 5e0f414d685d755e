//! Opens what a node keeps, and makes it one of its cluster.

use super::{answer::Answers, copy::Copier, gather::Gather, keep::Keep};
use crate::{
    ledger::{self, Opened, Reader},
    private_file,
    settings::{Mesh, Settings},
};
use anyhow::{Context, ensure};
use std::{path::Path, sync::Arc};
use trestle_cluster::{Cluster, MeshSettings, Prepared, Secrets, SetAside};
use trestle_counters::{Actor, Cells, NodeId};
use trestle_gateway::COUNTERS_MAX;
use trestle_store::Copies;

/// Cells of all nodes together; one takes about 200 bytes.
const CELLS_MAX: usize = 4_000_000;
/// A secret has at least so many bytes.
const SECRET_BYTES_MIN: usize = 32;

/// A node that others find.
pub(crate) struct Joined {
    pub(crate) cluster: Cluster,
    pub(crate) opened: Opened,
    pub(crate) cells: Arc<Cells>,
    /// What it tells of itself.
    pub(crate) answers: Answers,
    /// Asks all nodes.
    pub(crate) gather: Gather,
    /// Copies its ledger to others, where there are some.
    pub(crate) copier: Option<Copier>,
}

/// Opens the folder of consensus and the ledger, and starts the node in its cluster: others find it from here on.
pub(crate) async fn join(settings: &Settings, folder: &Path) -> anyhow::Result<Joined> {
    // First: it locks the folder.
    let prepared = Prepared::open(folder).await?;
    let opened = ledger::open(settings)?;
    let own = Actor { node: NodeId(prepared.identity().node()), incarnation: opened.incarnation };
    // Nobody asks a node that is alone for its cells.
    let cells_max = if settings.mesh.is_some() { CELLS_MAX } else { 0 };
    let cells = Arc::new(Cells::new(own, &opened.settled, COUNTERS_MAX, cells_max));
    let copies = settings.mesh.is_some().then(|| Copies::open(&settings.data_dir.join("copies")));
    let copies = copies.transpose().context("copies of ledgers of other nodes")?;
    let answers = Answers::new(Reader::new(opened.ledger.clone()), copies.clone());
    let (cluster, aside) = match &settings.mesh {
        None => Cluster::alone(prepared).await?,
        Some(mesh) => {
            let keep = copies.clone().map(|copies| Keep { copies, ledger: opened.ledger.clone() });
            let services =
                |routes| keep.into_iter().fold(answers.routes(routes), |routes, keep| keep.routes(routes));
            Cluster::join(prepared, folder, of(mesh)?, Arc::clone(&cells), services).await?
        }
    };
    if let Some(SetAside { folder, why }) = aside {
        tracing::error!(
            aside = %folder.display(),
            "the data of this node could not be read and was set aside: {why}; it begins anew"
        );
    }
    let gather = Gather::new(cluster.clone(), answers.clone());
    let copier = copies
        .map(|copies| Copier::start(cluster.clone(), opened.ledger.clone(), copies, settings.ledger_keep));
    Ok(Joined { cluster, opened, cells, answers, gather, copier })
}

fn of(mesh: &Mesh) -> anyhow::Result<MeshSettings> {
    Ok(MeshSettings {
        listen: mesh.listen,
        address: mesh.address.clone(),
        gossip_listen: mesh.gossip_listen,
        gossip_address: mesh.gossip_address,
        seeds: mesh.seeds.clone(),
        expect: mesh.expect,
        mesh_name: mesh.name.clone(),
        secrets: secrets(&mesh.secret_file).context("cluster_secret_file")?,
        tls: mesh.tls_dir.clone(),
        name: mesh.node_name.clone(),
        zone: mesh.zone.clone(),
        build: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// A secret a line: the first one seals, the second is still accepted.
fn secrets(file: &Path) -> anyhow::Result<Secrets> {
    let shown = file.display();
    let text = private_file::read(file)?.with_context(|| {
        format!("{shown} is missing: make it with `umask 077; openssl rand -hex 32 > {shown}`, the same on all nodes")
    })?;
    let secrets: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    ensure!(
        matches!(secrets.len(), 1 | 2),
        "{shown} has {} secrets: one a line is wanted, the one that seals, and at most one more that is still accepted",
        secrets.len()
    );
    for secret in &secrets {
        ensure!(
            secret.len() >= SECRET_BYTES_MIN,
            "{shown} has a secret of {} bytes, at least {SECRET_BYTES_MIN} are wanted; make one with `openssl rand -hex 32`",
            secret.len()
        );
    }
    Ok(Secrets::new(&secrets)?)
}
