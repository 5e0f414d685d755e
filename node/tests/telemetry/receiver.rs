//! A receiver of spans in this process: it keeps what it gets, and can be out of order at first.

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
    common::v1::{AnyValue, KeyValue, any_value::Value},
    trace::v1::Span,
};
use prost::Message;
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};
use tokio::{net::TcpListener, runtime::Runtime};
use tonic::{Request, Response, Status};

/// A receiver that ends with its handle.
pub(crate) struct Receiver {
    kept: Keep,
    address: SocketAddr,
    _runtime: Runtime,
}

/// A span with its attributes as text.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) span: Span,
    pub(crate) attributes: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default)]
struct Keep(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    spans: Vec<Seen>,
    resource: BTreeMap<String, String>,
    tenants: Vec<String>,
    /// So many messages are refused before the first is taken.
    refusals: u32,
}

impl Keep {
    /// False where it is refused.
    fn take(&self, message: ExportTraceServiceRequest, tenant: String) -> bool {
        let mut kept = self.0.lock().unwrap();
        if kept.refusals > 0 {
            kept.refusals -= 1;
            return false;
        }
        kept.tenants.push(tenant);
        for of_resource in message.resource_spans {
            kept.resource = flat(&of_resource.resource.unwrap().attributes);
            for span in of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                kept.spans.push(Seen { attributes: flat(&span.attributes), span });
            }
        }
        true
    }
}

pub(crate) fn flat(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let of = |pair: &KeyValue| (pair.key.clone(), pair.value.as_ref().map(shown).unwrap_or_default());
    attributes.iter().map(of).collect()
}

fn shown(value: &AnyValue) -> String {
    match value.value.as_ref().unwrap() {
        Value::StringValue(text) => text.clone(),
        Value::BoolValue(value) => value.to_string(),
        Value::IntValue(value) => value.to_string(),
        Value::DoubleValue(value) => value.to_string(),
        Value::ArrayValue(array) => array.values.iter().map(shown).collect::<Vec<_>>().join(","),
        other => panic!("{other:?} is in no span"),
    }
}

#[tonic::async_trait]
impl TraceService for Keep {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let tenant = request.metadata().get("x-tenant").map(|value| value.to_str().unwrap().to_owned());
        if !self.take(request.into_inner(), tenant.unwrap_or_default()) {
            return Err(Status::unavailable("not yet"));
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

async fn over_http(State(keep): State<Keep>, headers: HeaderMap, body: Bytes) -> Result<Vec<u8>, StatusCode> {
    assert_eq!(headers["content-type"], "application/x-protobuf");
    let tenant = headers.get("x-tenant").map(|value| value.to_str().unwrap().to_owned());
    let message = ExportTraceServiceRequest::decode(body).unwrap();
    if !keep.take(message, tenant.unwrap_or_default()) {
        return Err(StatusCode::SERVICE_UNAVAILABLE);
    }
    Ok(ExportTraceServiceResponse::default().encode_to_vec())
}

impl Receiver {
    /// One that is spoken to over gRPC, or over HTTP below `/base`; it refuses so many messages first.
    pub(crate) fn start(protocol: &str, refusals: u32) -> Self {
        let runtime = Runtime::new().unwrap();
        let kept = Keep::default();
        kept.0.lock().unwrap().refusals = refusals;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let router = match protocol {
            "grpc" => tonic::service::Routes::new(TraceServiceServer::new(kept.clone())).into_axum_router(),
            _ => Router::new().route("/base/v1/traces", post(over_http)).with_state(kept.clone()),
        };
        runtime.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { kept, address, _runtime: runtime }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All spans, those of one request together.
    pub(crate) fn spans(&self) -> Vec<Seen> {
        self.kept.0.lock().unwrap().spans.clone()
    }

    pub(crate) fn resource(&self) -> BTreeMap<String, String> {
        self.kept.0.lock().unwrap().resource.clone()
    }

    /// The header `x-tenant` of each message.
    pub(crate) fn tenants(&self) -> Vec<String> {
        self.kept.0.lock().unwrap().tenants.clone()
    }
}
