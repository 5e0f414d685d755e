//! A collector of OpenTelemetry in this process: it keeps what it gets.

use axum::{Router, body::Bytes, extract::State, http::HeaderMap, routing::post};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
    metrics_service_server::{MetricsService, MetricsServiceServer},
};
use prost::Message;
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};
use tokio::{net::TcpListener, runtime::Runtime};
use tonic::{Request, Response, Status};

/// A message, and the header `x-tenant` that came with it.
pub(crate) type Got = (ExportMetricsServiceRequest, String);

/// A collector that ends with its handle.
pub(crate) struct Collector {
    got: Arc<Mutex<Vec<Got>>>,
    address: SocketAddr,
    _runtime: Runtime,
}

#[derive(Clone)]
struct Keep(Arc<Mutex<Vec<Got>>>);

#[tonic::async_trait]
impl MetricsService for Keep {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        let tenant = request.metadata().get("x-tenant").map(|value| value.to_str().unwrap().to_owned());
        self.0.lock().unwrap().push((request.into_inner(), tenant.unwrap_or_default()));
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}

async fn over_http(State(keep): State<Keep>, headers: HeaderMap, body: Bytes) -> Vec<u8> {
    assert_eq!(headers["content-type"], "application/x-protobuf");
    let tenant = headers.get("x-tenant").map(|value| value.to_str().unwrap().to_owned());
    let message = ExportMetricsServiceRequest::decode(body).unwrap();
    keep.0.lock().unwrap().push((message, tenant.unwrap_or_default()));
    ExportMetricsServiceResponse::default().encode_to_vec()
}

impl Collector {
    /// One that is spoken to over gRPC, or over HTTP.
    pub(crate) fn start(protocol: &str) -> Self {
        let runtime = Runtime::new().unwrap();
        let got = Arc::<Mutex<Vec<Got>>>::default();
        let keep = Keep(got.clone());
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let router = match protocol {
            "grpc" => tonic::service::Routes::new(MetricsServiceServer::new(keep)).into_axum_router(),
            _ => Router::new().route("/v1/metrics", post(over_http)).with_state(keep),
        };
        runtime.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { got, address, _runtime: runtime }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The last message.
    pub(crate) fn last(&self) -> Option<Got> {
        self.got.lock().unwrap().last().cloned()
    }

    pub(crate) fn count(&self) -> usize {
        self.got.lock().unwrap().len()
    }
}
