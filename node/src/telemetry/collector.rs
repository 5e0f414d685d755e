//! The collector: gives it messages, again where that may help, and says once when it is away and once when it is back.

use super::{
    headers,
    send::{Export, Failure, Next, Route, Taken},
};
use crate::{
    metric,
    settings::{HeaderSource, Otlp, Settings},
};
use http::HeaderName;
use opentelemetry_proto::tonic::{
    common::v1::{AnyValue, KeyValue, any_value::Value},
    resource::v1::Resource,
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

/// For one try, from the connection to the whole answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A message that failed so often is lost.
const TRIES: u32 = 5;
/// Before the second try; twice as long before each further one.
const WAIT: Duration = Duration::from_secs(1);
/// However long the collector asks for.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Where telemetry goes. A clone is the same; whoever sends waits for the outcome, and bounds what waits behind.
#[derive(Clone)]
pub(crate) struct Collector {
    shared: Arc<Shared>,
}

struct Shared {
    route: Route,
    headers: Vec<(HeaderName, HeaderSource)>,
    resource: Resource,
    endpoint: String,
    /// By signal: one may be taken and the other not.
    away: [AtomicBool; 2],
}

impl Collector {
    /// None where nothing is to be sent. Connects on first use; files and variables that are named must be there. To be called
    /// inside of a Tokio runtime.
    pub(crate) fn open(settings: &Settings) -> anyhow::Result<Option<Self>> {
        let Some(otlp) = &settings.otlp else { return Ok(None) };
        headers::read(&otlp.headers)?;
        let node = settings.mesh.as_ref().map(|mesh| mesh.node_name.clone());
        let shared = Shared {
            route: Route::new(otlp)?,
            headers: otlp.headers.clone(),
            resource: resource(otlp, node.unwrap_or_else(crate::settings::host_name)),
            endpoint: otlp.endpoint.to_string(),
            away: Default::default(),
        };
        Ok(Some(Self { shared: Arc::new(shared) }))
    }

    /// What is said of this process.
    pub(crate) fn resource(&self) -> Resource {
        self.shared.resource.clone()
    }

    /// Sends a message, again for a while if it fails. `None`: it is lost, which is in the log.
    pub(crate) async fn export(&self, export: Export) -> Option<Taken> {
        let taken = self.tried(&export).await;
        let result = match &taken {
            Some(taken) if taken.rejected > 0 => "partial",
            Some(_) => "ok",
            None => "failed",
        };
        metric::exported(export.signal(), result);
        taken
    }

    async fn tried(&self, export: &Export) -> Option<Taken> {
        let mut wait = WAIT;
        for number in 1..=TRIES {
            let failure = match self.once(export).await {
                Ok(taken) => {
                    self.is_back(export);
                    return Some(taken);
                }
                Err(failure) => failure,
            };
            self.is_away(export, &failure.why);
            let pause = match failure.next {
                Next::Never => return None,
                Next::Later => wait,
                Next::After(asked) => asked.max(wait).min(WAIT_MAX),
            };
            if number < TRIES {
                tokio::time::sleep(jittered(pause)).await;
                wait = (wait * 2).min(WAIT_MAX);
            }
        }
        None
    }

    async fn once(&self, export: &Export) -> Result<Taken, Failure> {
        let later = |why| Failure { why, next: Next::Later };
        // A file may be read while it is written.
        let headers = headers::read(&self.shared.headers).map_err(|error| later(format!("{error:#}")))?;
        match tokio::time::timeout(TIMEOUT, self.shared.route.send(export, headers)).await {
            Ok(sent) => sent,
            Err(_) => Err(later(format!("no answer in {} s", TIMEOUT.as_secs()))),
        }
    }

    fn is_away(&self, export: &Export, why: &str) {
        let (endpoint, signal) = (&self.shared.endpoint, export.signal());
        if !self.away(export).swap(true, Relaxed) {
            tracing::warn!(endpoint, signal, why, "the collector does not take telemetry; this is said once");
        }
    }

    fn is_back(&self, export: &Export) {
        let (endpoint, signal) = (&self.shared.endpoint, export.signal());
        if self.away(export).swap(false, Relaxed) {
            tracing::info!(endpoint, signal, "the collector takes telemetry again");
        }
    }

    fn away(&self, export: &Export) -> &AtomicBool {
        let [traces, metrics] = &self.shared.away;
        match export {
            Export::Traces(_) => traces,
            Export::Metrics(_) => metrics,
        }
    }
}

/// Between half and all of it: nodes that lost the collector together do not come back together.
fn jittered(pause: Duration) -> Duration {
    let mut random = [0; 2];
    let share = getrandom::fill(&mut random).map_or(0, |()| u32::from(u16::from_ne_bytes(random)));
    pause / 2 + pause / 2 * share / u32::from(u16::MAX)
}

fn resource(otlp: &Otlp, node: String) -> Resource {
    let mut attributes = BTreeMap::from([
        ("service.name".to_owned(), "trestle".to_owned()),
        ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("service.instance.id".to_owned(), node),
    ]);
    attributes.extend(otlp.resource.iter().cloned());
    let text = |value| Some(AnyValue { value: Some(Value::StringValue(value)) });
    let attributes = attributes.into_iter().map(|(key, value)| KeyValue {
        key,
        value: text(value),
        ..KeyValue::default()
    });
    Resource { attributes: attributes.collect(), ..Resource::default() }
}
