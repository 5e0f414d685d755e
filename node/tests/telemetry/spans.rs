//! Spans: what a collector gets of requests, what upstreams and clients are told of their traces, and what is sampled.

use crate::{
    receiver::{Receiver, Seen, flat},
    support::{KEY, Node, Reply, Start, chat, eventually, exchange},
};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use std::net::TcpListener;
use trestle_bench::mock::{Mock, Options};

const CHAT: &str = "openai/gpt-4o-mini+tokens=3";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// A node whose requests go to a mock, with these settings of traces.
fn start(upstream: &Mock, arguments: &[&str]) -> Node {
    let document = format!(
        "providers:\n  openai: {{ base_url: '{0}/v1', dialects: [openai-chat], retries: {{ max: 0 }}, keys: \
         [{{ name: main, value: env:UPSTREAM }}] }}\n  other: {{ base_url: '{0}/v1', dialects: [openai-chat], \
         keys: [{{ name: main, value: env:UPSTREAM }}] }}\nteams: {{ red: {{}} }}\nkeys:\n  tests: {{ value: \
         env:TRESTLE_TEST_KEY, team: red }}\n",
        upstream.url()
    );
    let start = Start::serve(&document).arguments(&["--threads", "1"]).arguments(arguments);
    // A collector of spans alone.
    let silent: &[&str] = if arguments.is_empty() { &[] } else { &["--metrics-push-interval-ms", "0"] };
    start.arguments(silent).variable("TENANT", "core").variable("UPSTREAM", "sk-upstream").start()
}

fn to(receiver: &Receiver, arguments: &[&str]) -> (Mock, Node) {
    let upstream = Mock::start(Options::default()).unwrap();
    let url = receiver.url();
    let node = start(&upstream, &[&["--otlp-endpoint", &url][..], arguments].concat());
    (upstream, node)
}

/// A request with more headers, such as `traceparent: ...`.
fn ask(node: &Node, model: &str, members: &str, headers: &[String]) -> Reply {
    let request = chat(KEY, model, members);
    let (line, rest) = request.split_once("\r\n").unwrap();
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    exchange(&mut node.connect(), &format!("{line}\r\n{headers}{rest}"))
}

fn traceparent(sampled: u8) -> String {
    format!("traceparent: 00-{TRACE}-{PARENT}-{sampled:02}")
}

/// Ends the node, which sends what is left; all that it sent.
fn ended(mut node: Node, receiver: &Receiver) -> Vec<Seen> {
    node.signal("TERM");
    assert!(node.ended().success());
    receiver.spans()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn of_kind(spans: &[Seen], kind: SpanKind) -> Vec<&Seen> {
    spans.iter().filter(|seen| seen.span.kind == kind as i32).collect()
}

fn header<'a>(reply: &'a Reply, name: &str) -> Option<&'a str> {
    reply.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[track_caller]
fn has(seen: &Seen, wanted: &[(&str, &str)]) {
    for (name, value) in wanted {
        assert_eq!(seen.attributes.get(*name).map(String::as_str), Some(*value), "{name} of {seen:#?}");
    }
}

fn a_request_is_a_trace(protocol: &str, path: &str) {
    let receiver = Receiver::start(protocol, 0);
    let upstream = Mock::start(Options::default()).unwrap();
    let url = format!("{}{path}", receiver.url());
    let arguments =
        ["--otlp-endpoint", &url, "--otlp-protocol", protocol, "--otlp-headers", "x-tenant=env:TENANT"];
    let node = start(
        &upstream,
        &[&arguments[..], &["--otlp-resource", "deployment.environment.name=test"]].concat(),
    );
    let reply =
        ask(&node, CHAT, "", &[traceparent(1), "tracestate: a=1".to_owned(), "tracestate: b=2".to_owned()]);
    assert_eq!((reply.status, header(&reply, "x-trestle-trace-id")), (200, Some(TRACE)), "{}", reply.head);
    // Without being told to end: what waits goes out in time.
    let spans = eventually("the spans", || Some(receiver.spans()).filter(|spans| !spans.is_empty()));
    assert_eq!(receiver.tenants(), ["core"]);
    let resource = receiver.resource();
    assert_eq!((&*resource["service.name"], &*resource["deployment.environment.name"]), ("trestle", "test"));
    assert!(!resource["service.instance.id"].is_empty());

    let name = format!("chat {CHAT}");
    let names: Vec<_> = spans.iter().map(|seen| &*seen.span.name).collect();
    assert_eq!(names, [&*name, "receive", "route", "relay", "chat gpt-4o-mini+tokens=3"]);
    let (server, client) = (&spans[0], &spans[4]);
    let request_id = header(&reply, "x-request-id").unwrap();
    has(
        server,
        &[
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.request.model", CHAT),
            ("gen_ai.response.finish_reasons", "stop"),
            ("http.request.method", "POST"),
            ("http.response.status_code", "200"),
            ("trestle.request_id", request_id),
            ("trestle.key", "tests"),
            ("trestle.team", "red"),
            ("trestle.target", CHAT),
            ("trestle.outcome", "ok"),
        ],
    );
    assert!(server.attributes.contains_key("trestle.cost_usd"), "{server:#?}");
    let port = upstream.addr().port().to_string();
    has(
        client,
        &[
            ("gen_ai.provider.name", "openai"),
            ("gen_ai.request.model", "gpt-4o-mini+tokens=3"),
            ("gen_ai.usage.output_tokens", "3"),
            ("server.address", "127.0.0.1"),
            ("server.port", &port),
            ("http.response.status_code", "200"),
        ],
    );
    assert!(
        client.attributes.contains_key("gen_ai.response.id") && !client.attributes.contains_key("error.type")
    );
    assert_eq!((server.span.kind, client.span.kind), (SpanKind::Server as i32, SpanKind::Client as i32));
    assert_eq!(hex(&server.span.parent_span_id), PARENT);
    for seen in &spans {
        let span = &seen.span;
        assert_eq!((hex(&span.trace_id).as_str(), span.trace_state.as_str()), (TRACE, "a=1,b=2"));
        assert_eq!((span.flags & 1, span.status.as_ref()), (1, None));
        let within = server.span.start_time_unix_nano <= span.start_time_unix_nano
            && span.start_time_unix_nano <= span.end_time_unix_nano
            && span.end_time_unix_nano <= server.span.end_time_unix_nano;
        assert!(within, "{span:#?}");
    }
    assert!(spans[1..].iter().all(|seen| seen.span.parent_span_id == server.span.span_id));
    let seen = &upstream.requests()[0];
    let wanted = format!("00-{TRACE}-{}-01", hex(&client.span.span_id));
    assert_eq!((seen.header("traceparent"), seen.header("tracestate")), (Some(&*wanted), Some("a=1,b=2")));
    node.printed(&format!(r#""trace_id":"{TRACE}","span_id":"{}""#, hex(&server.span.span_id)));
}

#[test]
fn a_request_is_a_trace_over_grpc() {
    a_request_is_a_trace("grpc", "");
}

#[test]
fn a_request_is_a_trace_over_http() {
    a_request_is_a_trace("http", "/base/");
}

#[test]
fn streams_fallbacks_and_refusals_can_be_told_apart() {
    let receiver = Receiver::start("grpc", 0);
    let (upstream, node) = to(&receiver, &["--traces-sample", "1"]);
    assert_eq!(ask(&node, CHAT, r#","stream":true"#, &[]).status, 200);
    let fallbacks = r#","fallbacks":["other/gpt-4o-mini"]"#;
    assert_eq!(ask(&node, "openai/gpt-4o-mini+status=500", fallbacks, &[]).status, 200);
    let nobody = exchange(&mut node.connect(), &chat("sk-nobody", CHAT, ""));
    assert_eq!(nobody.status, 401);
    let spans = ended(node, &receiver);
    let servers = of_kind(&spans, SpanKind::Server);
    let [streamed, fallen, refused] = servers[..] else { panic!("{servers:#?}") };
    let calls = |server: &Seen| -> Vec<Seen> {
        let of = |seen: &&&Seen| seen.span.trace_id == server.span.trace_id;
        of_kind(&spans, SpanKind::Client).iter().filter(of).map(|seen| (*seen).clone()).collect()
    };

    has(streamed, &[("gen_ai.request.stream", "true"), ("gen_ai.response.finish_reasons", "stop")]);
    let of_streamed = calls(streamed);
    let [call] = &of_streamed[..] else { panic!("{spans:#?}") };
    has(call, &[("gen_ai.usage.output_tokens", "3")]);
    for name in ["gen_ai.response.id", "gen_ai.response.model", "gen_ai.response.time_to_first_chunk"] {
        assert!(call.attributes.contains_key(name), "{name} of {call:#?}");
    }

    let of_fallen = calls(fallen);
    let [first, second] = &of_fallen[..] else { panic!("{spans:#?}") };
    has(first, &[("http.response.status_code", "500"), ("trestle.target", "openai/gpt-4o-mini+status=500")]);
    let why = &first.attributes["error.type"];
    let status = first.span.status.as_ref().unwrap();
    assert_eq!((status.code, &status.message), (2, why));
    has(second, &[("trestle.target", "other/gpt-4o-mini"), ("http.response.status_code", "200")]);
    assert!(second.span.status.is_none() && fallen.span.status.is_none());
    assert!(first.span.end_time_unix_nano <= second.span.start_time_unix_nano);
    let [event] = &fallen.span.events[..] else { panic!("{fallen:#?}") };
    assert_eq!(
        (event.name.as_str(), &flat(&event.attributes)["error.type"]),
        ("trestle.attempt.failed", why)
    );
    let told: Vec<_> =
        upstream.requests().iter().map(|seen| seen.header("traceparent").unwrap().to_owned()).collect();
    let wanted = [call, first, second]
        .map(|seen| format!("00-{}-{}-01", hex(&seen.span.trace_id), hex(&seen.span.span_id)));
    assert_eq!(told, wanted);

    has(refused, &[("http.response.status_code", "401"), ("trestle.outcome", "refused")]);
    assert!(!refused.attributes["error.type"].is_empty() && calls(refused).is_empty());
    // The caller's own fault is none of the server.
    assert!(refused.span.status.is_none() && refused.span.parent_span_id.is_empty());
}

/// The traces that are told of a request without a parent, with one that is sampled, with one that is not, and of one that is
/// refused.
fn told(arguments: &[&str]) -> [usize; 4] {
    let receiver = Receiver::start("grpc", 0);
    let (upstream, node) = to(&receiver, arguments);
    let mut parents = vec![Vec::new()];
    parents
        .extend([1, 0].map(|sampled| vec![traceparent(sampled).replace(TRACE, &format!("{sampled:031}f"))]));
    for headers in &parents {
        assert_eq!(ask(&node, CHAT, "", headers).status, 200);
    }
    assert_eq!(ask(&node, "openai/gpt-4o-mini+status=400", "", &[]).status, 400);
    let flags: Vec<_> =
        upstream.requests().iter().map(|seen| seen.header("traceparent").unwrap()[53..].to_owned()).collect();
    let spans = ended(node, &receiver);
    let servers = of_kind(&spans, SpanKind::Server);
    let [sampled, unsampled] = [1, 0].map(|sampled| {
        let id = format!("{sampled:031}f");
        servers.iter().filter(|seen| hex(&seen.span.trace_id) == id).count()
    });
    let failed = servers.iter().filter(|seen| seen.attributes["trestle.outcome"] == "fault");
    for seen in failed.clone() {
        // What was decided at the begin was told to the upstream.
        assert_eq!(format!("{:02x}", seen.span.flags & 1), flags[3]);
    }
    let failed = failed.count();
    [servers.len() - sampled - unsampled - failed, sampled, unsampled, failed]
}

#[test]
fn what_is_sampled_is_told() {
    assert_eq!(told(&["--traces-sample", "0", "--traces-errors", "false"]), [0, 1, 0, 0]);
    assert_eq!(told(&["--traces-sample", "0"]), [0, 1, 0, 1]);
    assert_eq!(told(&["--traces-sample", "1", "--traces-errors", "false"]), [1, 1, 0, 1]);
    assert_eq!(told(&["--traces-sample", "1", "--traces-parent", "false"]), [1, 1, 1, 1]);
    assert_eq!(
        told(&["--traces-sample", "0", "--traces-parent", "false", "--traces-errors", "false"]),
        [0; 4]
    );
}

#[test]
fn stages_can_be_left_out() {
    for (arguments, wanted) in [
        (["--traces-include", "attempt"], vec!["chat openai/a", "chat a"]),
        (["--traces-exclude", "attempt, receive"], vec!["chat openai/a", "route", "relay"]),
    ] {
        let receiver = Receiver::start("grpc", 0);
        let (_upstream, node) = to(&receiver, &[&["--traces-sample", "1"][..], &arguments].concat());
        assert_eq!(ask(&node, "openai/a", "", &[]).status, 200);
        let spans = ended(node, &receiver);
        assert_eq!(spans.iter().map(|seen| &*seen.span.name).collect::<Vec<_>>(), wanted);
    }
}

#[test]
fn a_collector_that_refuses_is_asked_again_and_told_once() {
    for (protocol, path) in [("grpc", ""), ("http", "/base")] {
        let receiver = Receiver::start(protocol, 2);
        let upstream = Mock::start(Options::default()).unwrap();
        let url = format!("{}{path}", receiver.url());
        let arguments = ["--otlp-endpoint", &url, "--otlp-protocol", protocol, "--traces-sample", "1"];
        let node = start(&upstream, &arguments);
        assert_eq!(ask(&node, CHAT, "", &[]).status, 200);
        eventually("the spans", || Some(()).filter(|()| !receiver.spans().is_empty()));
        node.printed("the collector takes telemetry again");
        assert_eq!(node.log().matches("the collector does not take telemetry").count(), 1);
        let sent = node.get("/metrics").body;
        assert!(sent.contains("trestle_spans_sent_total 5"), "{sent}");
    }
}

#[test]
fn a_collector_that_hangs_or_is_gone_does_no_harm() {
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [hanging.local_addr().unwrap(), gone] {
        let upstream = Mock::start(Options::default()).unwrap();
        let url = format!("http://{address}");
        let mut node = start(&upstream, &["--otlp-endpoint", &url, "--traces-sample", "1"]);
        for _ in 0..3 {
            assert_eq!(ask(&node, CHAT, "", &[]).status, 200);
        }
        node.signal("TERM");
        assert!(node.ended().success());
    }
}

#[test]
fn without_a_collector_nothing_is_traced() {
    let upstream = Mock::start(Options::default()).unwrap();
    let node = start(&upstream, &[]);
    let reply = ask(&node, CHAT, "", &[traceparent(1)]);
    assert_eq!((reply.status, header(&reply, "x-trestle-trace-id")), (200, None));
    assert_eq!(upstream.requests()[0].header("traceparent"), None);
    let metrics = node.get("/metrics").body;
    assert!(
        !metrics.contains("trestle_spans_sent_total") && metrics.contains("trestle_stage_seconds_bucket")
    );
    assert!(!node.log().contains("trace_id"));
}
