//! Metrics: the page for Prometheus and the messages for a collector say the same, and a collector that does not work does no harm.

use crate::{
    collector::Collector,
    flat::{self, Flat},
    support::{KEY, Node, Start, chat, eventually, exchange},
};
use opentelemetry_proto::tonic::common::v1::any_value;
use std::{
    io::Write,
    net::TcpListener,
    process::{Command, Stdio},
};
use trestle_bench::mock::{Mock, Options};

const CHAT: &str = "openai/gpt-4o-mini+tokens=3";

fn start(upstream: &Mock, arguments: &[&str]) -> Start {
    let document = format!(
        "providers:\n  openai: {{ base_url: '{}/v1', dialects: [openai-chat], keys: [{{ name: main, value: \
         sk-upstream }}] }}\nteams: {{ red: {{ limits: [{{ requests: 1000, per: day }}] }} }}\nkeys:\n  \
         tests: {{ value: env:TRESTLE_TEST_KEY, team: red }}\n  second: {{ value: env:SECOND }}\n",
        upstream.url()
    );
    Start::serve(&document)
        .arguments(&["--threads", "2", "--key-encryption-key", "env:KEK"])
        .variable("KEK", &"5a".repeat(32))
        .variable("SECOND", "sk-second")
        .arguments(arguments)
}

/// Buffered, streamed, failed and refused requests; returns once all are settled.
fn traffic(node: &Node) {
    assert_eq!(node.chat(KEY, CHAT).status, 200);
    assert_eq!(node.chat("sk-second", CHAT).status, 200);
    let streamed = chat(KEY, CHAT, r#","stream":true"#);
    assert_eq!(exchange(&mut node.connect(), &streamed).status, 200);
    assert_eq!(node.chat(KEY, "openai/gpt-4o-mini+status=400").status, 400);
    assert_eq!(node.chat("sk-nobody", CHAT).status, 401);
    eventually("all is settled", || {
        let flat = flat::of_text(&node.get("/metrics").body);
        (flat["trestle_in_flight"] == 0.0).then_some(())
    });
}

/// What stays as it is while nothing but metrics is asked for.
fn steady(flat: &Flat) -> Flat {
    let of_requests = [
        "trestle_requests",
        "trestle_upstream_",
        "trestle_success_",
        "trestle_error",
        "trestle_input_",
        "trestle_output_",
        "trestle_cost_",
        "trestle_body_",
        "trestle_request_",
        "trestle_stream_",
        "trestle_key_",
        "trestle_limit",
        "trestle_build_info",
        "trestle_ledger_max_bytes",
        "process_start_time_seconds",
        "process_max_fds",
        "trestle_thread_in_flight",
    ];
    let is_steady = |series: &&String| of_requests.iter().any(|prefix| series.starts_with(prefix));
    flat.keys().filter(is_steady).map(|series| (series.clone(), flat[series])).collect()
}

fn pushes(protocol: &str) {
    let (upstream, collector) = (Mock::start(Options::default()).unwrap(), Collector::start(protocol));
    let mut node = start(
        &upstream,
        &[
            "--otlp-endpoint",
            &collector.url(),
            "--otlp-protocol",
            protocol,
            "--metrics-push-interval-ms",
            "200",
        ],
    )
    .arguments(&["--otlp-headers", "x-tenant=env:TENANT", "--otlp-resource", "zone=north%2C1"])
    .arguments(&["--metrics-keys-max", "1"])
    .variable("TENANT", "core")
    .start();
    traffic(&node);
    let scraped = flat::of_text(&node.get("/metrics").body);
    let wanted = steady(&scraped);
    assert!(wanted.len() > 100, "{wanted:?}");
    for (series, value) in [
        ("trestle_key_requests_total{key=\"tests\",team=\"red\"}", 3.0),
        ("trestle_key_requests_total{key=\"other\",team=\"\"}", 1.0),
        (
            "trestle_stream_first_token_seconds_count{endpoint=\"openai-chat\",provider=\"openai\",model=\"other\"}",
            1.0,
        ),
        ("trestle_success_requests_total{endpoint=\"openai-chat\",provider=\"openai\",model=\"other\"}", 3.0),
    ] {
        assert_eq!(wanted.get(series), Some(&value), "{series}: {wanted:#?}");
    }
    let (message, tenant) = eventually("a message with all that was scraped", || {
        let (message, tenant) = collector.last()?;
        (steady(&flat::of_message(&message)) == wanted).then_some((message, tenant))
    });
    assert_eq!(tenant, "core");
    let told = flat::of_message(&message);
    let missing: Vec<_> = scraped.keys().filter(|series| !told.contains_key(*series)).collect();
    assert!(missing.iter().all(|series| series.starts_with("trestle_otlp_exports_total")), "{missing:?}");
    let resource = message.resource_metrics[0].resource.as_ref().unwrap();
    let attribute = |name: &str| {
        let value =
            resource.attributes.iter().find(|attribute| attribute.key == name)?.value.clone()?.value?;
        let any_value::Value::StringValue(text) = value else { panic!("{value:?}") };
        Some(text)
    };
    assert_eq!(attribute("service.name").as_deref(), Some("trestle"));
    assert_eq!(attribute("service.version").as_deref(), Some(env!("CARGO_PKG_VERSION")));
    assert_eq!(attribute("zone").as_deref(), Some("north,1"));
    assert!(attribute("service.instance.id").is_some_and(|id| !id.is_empty()));
    eventually("messages to be counted", || {
        let sent = "trestle_otlp_exports_total{signal=\"metrics\",result=\"ok\"}";
        flat::of_text(&node.get("/metrics").body).contains_key(sent).then_some(())
    });
    node.signal("TERM");
    assert!(node.ended().success());
}

#[test]
fn a_collector_gets_over_grpc_what_prometheus_scrapes() {
    pushes("grpc");
}

#[test]
fn a_collector_gets_over_http_what_prometheus_scrapes() {
    pushes("http");
}

#[test]
fn what_was_counted_last_is_sent_at_the_end() {
    let (upstream, collector) = (Mock::start(Options::default()).unwrap(), Collector::start("grpc"));
    let hour = "3600000";
    let arguments = ["--otlp-endpoint", &collector.url(), "--metrics-push-interval-ms", hour];
    let mut node = start(&upstream, &arguments).start();
    traffic(&node);
    let wanted = steady(&flat::of_text(&node.get("/metrics").body));
    assert_eq!(collector.count(), 0);
    node.signal("TERM");
    assert!(node.ended().success());
    let (message, _) = collector.last().unwrap();
    assert_eq!(steady(&flat::of_message(&message)), wanted);
    assert_eq!(collector.count(), 1);
}

/// Requests are answered, and the node ends, however a collector behaves; it is complained of once.
fn does_no_harm(endpoint: &str, more: &[&str]) {
    let upstream = Mock::start(Options::default()).unwrap();
    let quiet = ["--traces-sample", "0", "--traces-errors", "false"];
    let arguments =
        [&["--otlp-endpoint", endpoint, "--metrics-push-interval-ms", "100"][..], &quiet].concat();
    let mut node = start(&upstream, &arguments).arguments(more).start();
    traffic(&node);
    node.printed("the collector does not take telemetry");
    traffic(&node);
    node.signal("TERM");
    assert!(node.ended().success(), "{endpoint}: {}", node.log());
    assert_eq!(node.log().matches("the collector does not take telemetry").count(), 1, "{}", node.log());
}

#[test]
fn a_collector_that_is_not_there_does_no_harm() {
    // Of a service that nobody runs.
    for protocol in ["grpc", "http"] {
        does_no_harm("http://127.0.0.1:1", &["--otlp-protocol", protocol]);
    }
}

#[test]
fn a_collector_without_tls_does_no_harm_where_tls_is_wanted() {
    let collector = Collector::start("http");
    let endpoint = collector.url().replace("http://", "https://");
    does_no_harm(&endpoint, &["--otlp-protocol", "http"]);
    assert_eq!(collector.count(), 0);
}

#[test]
fn a_collector_that_hangs_does_no_harm() {
    // It takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for protocol in ["grpc", "http"] {
        let upstream = Mock::start(Options::default()).unwrap();
        let endpoint = format!("http://{}", silent.local_addr().unwrap());
        let arguments =
            ["--otlp-endpoint", &endpoint, "--otlp-protocol", protocol, "--metrics-push-interval-ms", "100"];
        let mut node = start(&upstream, &arguments).start();
        traffic(&node);
        // It is being told something, and waits.
        let held = silent.accept().unwrap();
        traffic(&node);
        node.signal("TERM");
        assert!(node.ended().success(), "{}", node.log());
        assert!(node.log().contains("the collector does not take the last metrics"), "{}", node.log());
        drop(held);
    }
}

#[test]
fn a_collector_that_refuses_is_counted() {
    // It has no such path.
    let (upstream, collector) = (Mock::start(Options::default()).unwrap(), Collector::start("http"));
    let endpoint = format!("{}/elsewhere", collector.url());
    let arguments =
        ["--otlp-endpoint", &endpoint, "--otlp-protocol", "http", "--metrics-push-interval-ms", "100"];
    let node = start(&upstream, &arguments).start();
    eventually("failures to be counted", || {
        let flat = flat::of_text(&node.get("/metrics").body);
        let failed = flat.get("trestle_otlp_exports_total{signal=\"metrics\",result=\"failed\"}");
        failed.is_some_and(|failed| *failed >= 2.0).then_some(())
    });
    assert_eq!(node.log().matches("the collector does not take telemetry").count(), 1, "{}", node.log());
}

#[test]
fn keys_have_no_series_unless_they_are_asked_for() {
    let upstream = Mock::start(Options::default()).unwrap();
    let node = start(&upstream, &[]).start();
    traffic(&node);
    assert!(!node.get("/metrics").body.contains("trestle_key_"));
}

#[test]
fn promtool_has_nothing_to_complain_of() {
    let upstream = Mock::start(Options::default()).unwrap();
    let node = start(&upstream, &["--metrics-keys-max", "10"]).start();
    traffic(&node);
    let text = node.get("/metrics").body;
    let checked = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut checked = match checked {
        Ok(checked) => checked,
        Err(error) if std::env::var_os("TRESTLE_REQUIRE_CLIENTS").is_none() => {
            eprintln!("SKIPPED: there is no promtool here: {error}");
            return;
        }
        Err(error) => panic!("promtool: {error}"),
    };
    checked.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let checked = checked.wait_with_output().unwrap();
    let said =
        [checked.stdout, checked.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
    assert!(checked.status.success() && said.trim().is_empty(), "{said}\n{text}");
}
