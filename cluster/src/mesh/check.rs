//! Every call says for whom it is and of which cluster; it is checked here before any service sees it.

use super::identity::{ClusterId, Identity, NodeId, NotThisCluster};
use futures_util::future::BoxFuture;
use http::{HeaderMap, Request, Response};
use std::{
    convert::Infallible,
    task::{Context, Poll},
};
use tonic::{Status, body::Body};
use tower::Service;

/// Metadata: the cluster of the caller, 32 hex digits; absent if it has none yet.
pub(super) const CLUSTER: &str = "trestle-cluster";
/// Metadata: the node that is called, decimal.
pub(super) const NODE: &str = "trestle-node";
/// Metadata: the node that calls, decimal.
pub(super) const FROM: &str = "trestle-from";
/// Whoever is there; only a status may be asked so.
pub(super) const ANYBODY: NodeId = 0;

const STATUS: &str = "/trestle.cluster.v1.Status/";
const RAFT: &str = "/trestle.cluster.v1.Raft/";

/// What becomes of a call.
#[derive(Debug)]
enum Verdict {
    Pass,
    /// Passes if the node becomes one of this cluster.
    Join(ClusterId),
    Refuse(Status),
}

/// Decides on a call. `own` is the cluster of this node.
fn judge(node: NodeId, own: Option<ClusterId>, path: &str, headers: &HeaderMap) -> Verdict {
    match judged(node, own, path, headers) {
        Ok(verdict) => verdict,
        Err(status) => Verdict::Refuse(*status),
    }
}

fn judged(
    node: NodeId,
    own: Option<ClusterId>,
    path: &str,
    headers: &HeaderMap,
) -> Result<Verdict, Box<Status>> {
    let refuse = |status| Err(Box::new(status));
    let called: NodeId = required(headers, NODE)?;
    let from: NodeId = required(headers, FROM)?;
    let callers: Option<ClusterId> = read(headers, CLUSTER)?;
    let is_status = path.starts_with(STATUS);
    if called != node && !(called == ANYBODY && is_status) {
        return refuse(Status::failed_precondition(format!("this is node {node}, the call is for {called}")));
    }
    match (own, callers) {
        (Some(own), Some(callers)) if own != callers => refuse(Status::permission_denied(format!(
            "this node belongs to cluster {own}, the caller (node {from}) to {callers}"
        ))),
        _ if is_status => Ok(Verdict::Pass),
        (Some(_), Some(_)) => Ok(Verdict::Pass),
        (_, None) => refuse(Status::permission_denied(format!(
            "the caller (node {from}) belongs to no cluster yet: it may ask for the status only"
        ))),
        (None, Some(callers)) if path.starts_with(RAFT) => Ok(Verdict::Join(callers)),
        (None, Some(_)) => {
            refuse(Status::failed_precondition(format!("this node ({node}) belongs to no cluster yet")))
        }
    }
}

fn read<T: std::str::FromStr>(headers: &HeaderMap, name: &str) -> Result<Option<T>, Box<Status>> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let parsed = value.to_str().ok().and_then(|text| text.parse().ok());
    match parsed {
        Some(parsed) => Ok(Some(parsed)),
        None => Err(Box::new(Status::invalid_argument(format!("the metadata {name} cannot be read")))),
    }
}

fn required<T: std::str::FromStr>(headers: &HeaderMap, name: &str) -> Result<T, Box<Status>> {
    match read(headers, name)? {
        Some(value) => Ok(value),
        None => Err(Box::new(Status::invalid_argument(format!("the metadata {name} is missing")))),
    }
}

/// Lets calls through that are for this node and of its cluster.
#[derive(Clone)]
pub(super) struct Check<S> {
    pub(super) identity: Identity,
    pub(super) inner: S,
}

impl<S, B> Service<Request<B>> for Check<S>
where
    S: Service<Request<B>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (node, own) = (self.identity.node(), self.identity.cluster());
        match judge(node, own, request.uri().path(), request.headers()) {
            Verdict::Pass => Box::pin(self.inner.call(request)),
            Verdict::Refuse(status) => {
                tracing::debug!(path = request.uri().path(), %status, "a call was refused");
                Box::pin(async move { Ok(status.into_http()) })
            }
            Verdict::Join(cluster) => {
                let identity = self.identity.clone();
                // The one that was polled ready; the next call polls the copy.
                let fresh = self.inner.clone();
                let mut inner = std::mem::replace(&mut self.inner, fresh);
                Box::pin(async move {
                    match join(identity, cluster).await {
                        Ok(()) => inner.call(request).await,
                        Err(status) => Ok(status.into_http()),
                    }
                })
            }
        }
    }
}

/// Joining waits for the disk, so it is done beside the threads that serve.
async fn join(identity: Identity, cluster: ClusterId) -> Result<(), Status> {
    match tokio::task::spawn_blocking(move || identity.join(cluster)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error @ NotThisCluster::Another { .. })) => Err(Status::permission_denied(error.to_string())),
        Ok(Err(error @ NotThisCluster::NotKept(_))) => {
            tracing::error!(%error, "this node could not join a cluster");
            Err(Status::unavailable("this node could not keep the cluster's number"))
        }
        Err(_) => Err(Status::internal("joining was interrupted")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use tonic::Code;

    fn headers(node: &str, cluster: Option<u128>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Ok(node) = HeaderValue::from_str(node) {
            headers.insert(NODE, node);
        }
        headers.insert(FROM, HeaderValue::from_static("9"));
        if let Some(cluster) = cluster {
            let text = ClusterId(cluster).to_string();
            headers.extend(HeaderValue::from_str(&text).ok().map(|value| (CLUSTER.parse().ok(), value)));
        }
        headers
    }

    /// `pass`, `join`, or the code of the refusal.
    fn verdict(own: Option<u128>, path: &str, headers: &HeaderMap) -> String {
        match judge(7, own.map(ClusterId), path, headers) {
            Verdict::Pass => "pass".to_owned(),
            Verdict::Join(cluster) => format!("join {}", cluster.0),
            Verdict::Refuse(status) => format!("{:?}", status.code()),
        }
    }

    #[test]
    fn calls_are_judged() {
        const STATUS: &str = "/trestle.cluster.v1.Status/Ask";
        const RAFT: &str = "/trestle.cluster.v1.Raft/Append";
        const OTHER: &str = "/trestle.cluster.v1.Counters/Exchange";
        // Own cluster, path, called node, the caller's cluster.
        let cases = [
            (Some(1), RAFT, "7", Some(1), "pass"),
            (Some(1), OTHER, "7", Some(1), "pass"),
            (Some(1), STATUS, "7", Some(1), "pass"),
            (Some(1), STATUS, "0", Some(1), "pass"),
            (Some(1), STATUS, "0", None, "pass"),
            (Some(1), STATUS, "0", Some(2), "PermissionDenied"),
            (Some(1), STATUS, "8", Some(1), "FailedPrecondition"),
            (Some(1), RAFT, "8", Some(1), "FailedPrecondition"),
            (Some(1), RAFT, "0", Some(1), "FailedPrecondition"),
            (Some(1), RAFT, "7", Some(2), "PermissionDenied"),
            (Some(1), RAFT, "7", None, "PermissionDenied"),
            (None, STATUS, "0", None, "pass"),
            (None, STATUS, "7", Some(1), "pass"),
            (None, RAFT, "7", Some(1), "join 1"),
            (None, RAFT, "8", Some(1), "FailedPrecondition"),
            (None, RAFT, "7", None, "PermissionDenied"),
            (None, OTHER, "7", Some(1), "FailedPrecondition"),
            (None, "/trestle.cluster.v1.Raft", "7", Some(1), "FailedPrecondition"),
            (Some(1), RAFT, "-7", Some(1), "InvalidArgument"),
            (Some(1), RAFT, "", Some(1), "InvalidArgument"),
        ];
        for (own, path, node, cluster, expected) in cases {
            let seen = verdict(own, path, &headers(node, cluster));
            assert_eq!(seen, expected, "{own:?} {path} {node} {cluster:?}");
        }
    }

    #[test]
    fn what_is_missing_or_unreadable_is_named() {
        let mut without = headers("7", Some(1));
        without.remove(FROM);
        let mut unreadable = headers("7", Some(1));
        unreadable.insert(CLUSTER, HeaderValue::from_static("1"));
        for (headers, name) in [(without, FROM), (unreadable, CLUSTER)] {
            match judge(7, Some(ClusterId(1)), RAFT, &headers) {
                Verdict::Refuse(status) => {
                    assert_eq!(status.code(), Code::InvalidArgument);
                    assert!(status.message().contains(name), "{status}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
