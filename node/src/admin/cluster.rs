//! `/api/cluster`: the nodes that serve as one, and what operators do with them.

use super::{Problem, asker::Asker};
use crate::control::Role;
use axum::{
    Json,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use std::{
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use trestle_cluster::{Cluster, ClusterError, MemberStatus, Members};

/// How long a removal, or another leader, is waited for.
const DEADLINE: Duration = Duration::from_secs(15);

/// The cluster, and where this node keeps its data.
#[derive(Clone)]
pub(crate) struct Place {
    /// The cluster.
    pub(crate) cluster: Cluster,
    /// For files that are handed out.
    pub(crate) folder: PathBuf,
}

/// How the cluster stands, as the node that answers sees it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct ShownCluster {
    /// The node that answers. Numbers of nodes are texts, since they have 64 bits.
    node: String,
    /// The number of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<String>,
    /// Its version: what its nodes may write and say to each other. Raised by `finalize`.
    version: u32,
    /// The version up to which the node that answers can.
    version_max: u32,
    /// Who leads, as far as the node knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    leader: Option<String>,
    /// Counts elections.
    term: u64,
    /// The revision of the document that is in effect here.
    revision: u64,
    /// The last entry of the log here.
    last_log: u64,
    /// The last entry that is known to be on a majority.
    committed: u64,
    /// The last entry that is in effect here.
    applied: u64,
    /// The last entry in the snapshot here.
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<u64>,
    /// If it leads: for how long no majority has followed it, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    quorum_ack_ms_ago: Option<u64>,
    /// All members.
    members: Vec<ShownMember>,
    /// Numbers of nodes that were removed for good.
    removed: Vec<String>,
}

/// One node.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct ShownMember {
    /// Its number.
    node: String,
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    /// Where peers reach it.
    #[serde(skip_serializing_if = "String::is_empty")]
    address: String,
    /// It votes; otherwise it follows.
    votes: bool,
    /// It leads.
    leads: bool,
    /// Entries that it does not have yet, as the leader knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    lag: Option<u64>,
    /// What it says of itself. There is nothing where it was not heard of since the node that answers began.
    #[serde(flatten)]
    says: Option<Says>,
}

/// What a node says of itself.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Says {
    /// It was heard of lately.
    live: bool,
    /// It takes requests.
    ready: bool,
    /// It is about to stop.
    leaving: bool,
    /// The revision of the document that its requests see.
    revision: u64,
    /// Requests in flight.
    in_flight: u64,
    /// Where it runs.
    #[serde(skip_serializing_if = "String::is_empty")]
    zone: String,
    /// What it was built from.
    build: String,
    /// The version of the cluster up to which it can.
    version_max: u32,
    /// Where its admin API answers, if it has a listener of its own.
    #[serde(skip_serializing_if = "String::is_empty")]
    http: String,
}

impl ShownMember {
    fn new(member: MemberStatus, leader: Option<u64>, seen: Option<&Members>) -> Self {
        let says = seen.and_then(|seen| seen.get(member.node)).map(|seen| {
            let facts = seen.facts.clone();
            Says {
                live: seen.live,
                ready: facts.ready,
                leaving: facts.leaving,
                revision: facts.revision,
                in_flight: facts.load,
                zone: facts.zone,
                build: facts.build,
                version_max: facts.version,
                http: facts.http,
            }
        });
        Self {
            node: member.node.to_string(),
            leads: leader == Some(member.node),
            name: member.name,
            address: member.address,
            votes: member.votes,
            lag: member.lag,
            says,
        }
    }
}

/// The nodes of the cluster and how each stands.
#[utoipa::path(get, path = "/api/cluster", tag = "cluster", responses((status = 200, body = ShownCluster)))]
pub(super) async fn get(
    State(Place { cluster, .. }): State<Place>,
    _asker: Asker,
) -> Result<Json<ShownCluster>, Problem> {
    let status = cluster.consensus().status().await.map_err(unavailable)?;
    let seen = cluster.members().map(|seen| seen.borrow().clone());
    let leader = status.leader;
    let members = status.members.into_iter();
    Ok(Json(ShownCluster {
        node: status.node.to_string(),
        cluster: status.cluster.map(|cluster| cluster.to_string()),
        version: status.version,
        version_max: status.version_max,
        leader: leader.map(|leader| leader.to_string()),
        term: status.term,
        revision: status.revision,
        last_log: status.last_log,
        committed: status.committed,
        applied: status.applied,
        snapshot: status.snapshot,
        quorum_ack_ms_ago: status.quorum_ack_ms_ago,
        members: members.map(|member| ShownMember::new(member, leader, seen.as_deref())).collect(),
        removed: status.retired.iter().map(ToString::to_string).collect(),
    }))
}

/// Remove a node for good: it is never let in again with what its disk has. Refused where the others would have no majority. For
/// admins.
#[utoipa::path(
    delete,
    path = "/api/cluster/members/{node}",
    tag = "cluster",
    params(("node" = String, Path, description = "Its number, or its name.")),
    responses(
        (status = 204, description = "It is no member any more."),
        (status = 404, body = Problem),
        (status = 409, body = Problem)
    )
)]
pub(super) async fn remove(
    State(Place { cluster, .. }): State<Place>,
    Path(named): Path<String>,
    asker: Asker,
) -> Result<StatusCode, Problem> {
    asker.needs(Role::Admin)?;
    let status = cluster.consensus().status().await.map_err(unavailable)?;
    let is_meant = |member: &&MemberStatus| member.node.to_string() == named || member.name == named;
    let node = match status.members.iter().filter(is_meant).collect::<Vec<_>>()[..] {
        [] => return Err(Problem::missing(&format!("node `{named}` in the cluster"))),
        [member] => member.node,
        _ => {
            let detail = format!("several nodes have the name `{named}`: give the number of one of them");
            return Err(Problem::refused(StatusCode::CONFLICT, detail));
        }
    };
    cluster.consensus().remove(node, DEADLINE).await.map_err(unavailable)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Let another node lead, if this one does. For admins.
#[utoipa::path(
    post,
    path = "/api/cluster/step-down",
    tag = "cluster",
    responses((status = 204, description = "Another node leads."), (status = 409, body = Problem))
)]
pub(super) async fn step_down(
    State(Place { cluster, .. }): State<Place>,
    asker: Asker,
) -> Result<StatusCode, Problem> {
    asker.needs(Role::Admin)?;
    let status = cluster.consensus().status().await.map_err(unavailable)?;
    if status.leader != Some(status.node) {
        let leader = status.members.iter().find(|member| Some(member.node) == status.leader);
        let who = leader.map_or("nobody that it knows of", |leader| leader.name.as_str());
        let detail = format!("this node does not lead: {who} does; ask there");
        return Err(Problem::refused(StatusCode::CONFLICT, detail));
    }
    cluster.consensus().step_down(DEADLINE).await.map_err(unavailable)?;
    Ok(StatusCode::NO_CONTENT)
}

/// What was raised.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Finalized {
    /// The version that the cluster has now.
    version: u32,
}

/// Raise the version of the cluster to what all its nodes can, for good: none of them can go back to an earlier program. Refused
/// where a node is away, or cannot what others can. For admins.
#[utoipa::path(
    post,
    path = "/api/cluster/finalize",
    tag = "cluster",
    responses((status = 200, body = Finalized), (status = 409, body = Problem), (status = 503, body = Problem))
)]
pub(super) async fn finalize(
    State(Place { cluster, .. }): State<Place>,
    asker: Asker,
) -> Result<Json<Finalized>, Problem> {
    asker.needs(Role::Admin)?;
    let version = cluster.consensus().finalize(DEADLINE).await.map_err(unavailable)?;
    Ok(Json(Finalized { version }))
}

/// Make a snapshot of the replicated state on this node now, so that its next start need not read the log. For admins.
#[utoipa::path(
    post,
    path = "/api/cluster/snapshot",
    tag = "cluster",
    responses((status = 202, description = "It is being made."))
)]
pub(super) async fn snapshot(
    State(Place { cluster, .. }): State<Place>,
    asker: Asker,
) -> Result<StatusCode, Problem> {
    asker.needs(Role::Admin)?;
    let asked = cluster.consensus().snapshot().await;
    asked.map_err(|error| Problem::refused(StatusCode::SERVICE_UNAVAILABLE, error.to_string()))?;
    Ok(StatusCode::ACCEPTED)
}

/// The replicated state as one file, from which `trestle cluster restore` founds a new cluster. For admins.
#[utoipa::path(
    get,
    path = "/api/cluster/backup",
    tag = "cluster",
    responses((status = 200, description = "The file.", body = Vec<u8>, content_type = "application/octet-stream"))
)]
pub(super) async fn backup(
    State(Place { cluster, folder }): State<Place>,
    asker: Asker,
) -> Result<Response, Problem> {
    asker.needs(Role::Admin)?;
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let file = folder.join(format!("backup-{at}"));
    let revision = cluster.consensus().backup(&file).await.map_err(anyhow::Error::from)?;
    let read = tokio::task::spawn_blocking(move || {
        let read = std::fs::read(&file);
        let _ = std::fs::remove_file(&file);
        read
    });
    let bytes = read.await.map_err(anyhow::Error::from)?.map_err(anyhow::Error::from)?;
    let name = format!("attachment; filename=\"trestle-{revision}.backup\"");
    let mut answer = Bytes::from(bytes).into_response();
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.extend(HeaderValue::from_str(&name).ok().map(|name| (header::CONTENT_DISPOSITION, name)));
    Ok(answer)
}

fn unavailable(error: ClusterError) -> Problem {
    let status = match error {
        ClusterError::NoLeader => return Problem::no_leader(error.to_string()),
        ClusterError::Refused(_) => StatusCode::CONFLICT,
        ClusterError::Late | ClusterError::Ended(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    Problem::refused(status, error.to_string())
}
