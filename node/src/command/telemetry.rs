//! The flags of `trestle serve` that say what is told to a collector.

/// One for each member of `otlp`, `traces` and `metrics`.
#[derive(Debug, clap::Args)]
pub(super) struct Telemetry {
    /// The OpenTelemetry collector that spans and metrics are sent to, such as http://collector:4317 [default: none].
    #[arg(long, value_name = "URL")]
    otlp_endpoint: Option<String>,
    /// How it is spoken to: grpc or http [default: grpc].
    #[arg(long, value_name = "PROTOCOL")]
    otlp_protocol: Option<String>,
    /// Headers for it: name=value, separated by commas; values may be env:NAME or file:PATH.
    #[arg(long, value_name = "HEADERS")]
    otlp_headers: Option<String>,
    /// Authorities that may have signed its certificate, in PEM, beside the public ones.
    #[arg(long, value_name = "FILE")]
    otlp_ca: Option<String>,
    /// What else is said of this process: name=value, separated by commas.
    #[arg(long, value_name = "ATTRIBUTES")]
    otlp_resource: Option<String>,
    /// The share of requests that are traced, from 0 to 1 [default: 0.1].
    #[arg(long, value_name = "SHARE")]
    traces_sample: Option<String>,
    /// Whether the flag of a trace that a request comes with decides: true or false [default: true].
    #[arg(long, value_name = "BOOL")]
    traces_parent: Option<String>,
    /// Whether requests that end badly are always traced: true or false [default: true].
    #[arg(long, value_name = "BOOL")]
    traces_errors: Option<String>,
    /// The only stages that have spans, of receive, route, attempt, relay, separated by commas.
    #[arg(long, value_name = "STAGES")]
    traces_include: Option<String>,
    /// Stages that have none.
    #[arg(long, value_name = "STAGES")]
    traces_exclude: Option<String>,
    /// How often metrics are sent to the collector, in milliseconds; 0 is never [default: 15000].
    #[arg(long, value_name = "MS")]
    metrics_push_interval_ms: Option<String>,
    /// So many keys have metrics of their own [default: 0].
    #[arg(long, value_name = "N")]
    metrics_keys_max: Option<String>,
}

impl Telemetry {
    /// By the names of the members.
    pub(super) fn flags(&self) -> impl Iterator<Item = (&'static str, &Option<String>)> {
        [
            ("otlp.endpoint", &self.otlp_endpoint),
            ("otlp.protocol", &self.otlp_protocol),
            ("otlp.headers", &self.otlp_headers),
            ("otlp.ca", &self.otlp_ca),
            ("otlp.resource", &self.otlp_resource),
            ("traces.sample", &self.traces_sample),
            ("traces.parent", &self.traces_parent),
            ("traces.errors", &self.traces_errors),
            ("traces.include", &self.traces_include),
            ("traces.exclude", &self.traces_exclude),
            ("metrics.push_interval_ms", &self.metrics_push_interval_ms),
            ("metrics.keys_max", &self.metrics_keys_max),
        ]
        .into_iter()
    }
}
