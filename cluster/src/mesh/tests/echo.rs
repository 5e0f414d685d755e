//! A service by hand under the names that the checks know.

use crate::mesh::{Identity, Peer};
use futures_util::future::BoxFuture;
use http::{Request, Response, uri::PathAndQuery};
use std::{
    convert::Infallible,
    task::{Context, Poll},
};
use tonic::{
    Status,
    body::Body,
    server::{NamedService, UnaryService},
    service::Routes,
};
use tonic_prost::ProstCodec;
use tower::Service;

const NAMES: [&str; 3] =
    ["trestle.cluster.v1.Status", "trestle.cluster.v1.Raft", "trestle.cluster.v1.Counters"];

pub(super) fn routes(identity: Identity) -> Routes {
    Routes::new(Echo::<0>(identity.clone()))
        .add_service(Echo::<1>(identity.clone()))
        .add_service(Echo::<2>(identity))
}

/// Calls `Status/Ask`, `Raft/Wait` and so on.
pub(super) async fn call(peer: Peer, method: &'static str) -> Result<String, Status> {
    let mut client = tonic::client::Grpc::new(peer);
    client.ready().await?;
    let path = format!("/trestle.cluster.v1.{method}");
    let path = PathAndQuery::try_from(path).map_err(|error| Status::internal(error.to_string()))?;
    let codec = ProstCodec::<String, String>::default();
    let answer = client.unary(tonic::Request::new(String::new()), path, codec).await?;
    Ok(answer.into_inner())
}

#[derive(Clone)]
struct Echo<const NAME: usize>(Identity);

impl<const NAME: usize> NamedService for Echo<NAME> {
    const NAME: &'static str = NAMES[NAME];
}

impl<const NAME: usize> Service<Request<Body>> for Echo<NAME> {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (identity, waits) = (self.0.clone(), request.uri().path().ends_with("/Wait"));
        Box::pin(async move {
            let mut server = tonic::server::Grpc::new(ProstCodec::<String, String>::default());
            Ok(server.unary(Answer { identity, waits }, request).await)
        })
    }
}

struct Answer {
    identity: Identity,
    waits: bool,
}

impl UnaryService<String> for Answer {
    type Response = String;
    type Future = BoxFuture<'static, Result<tonic::Response<String>, Status>>;

    fn call(&mut self, _: tonic::Request<String>) -> Self::Future {
        let (identity, waits) = (self.identity.clone(), self.waits);
        Box::pin(async move {
            if waits {
                std::future::pending::<()>().await;
            }
            Ok(tonic::Response::new(identity.node().to_string()))
        })
    }
}
