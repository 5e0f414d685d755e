//! Layers of settings: which wins, and what is refused.

use super::{
    HeaderSource, Layers, LogFormat, Mesh, Metrics, Otlp, Protocol, Settings, TlsFiles, Traces,
    default_data_dir,
};
use std::{collections::BTreeMap, path::PathBuf, time::Duration};
use trestle_gateway::{Ratio, Sampling, Stage};

fn from_toml(text: &str) -> Layers {
    let mut layers = Layers::default();
    layers.add_table("node.toml", "", &text.parse().unwrap());
    layers
}

fn problems(layers: Layers) -> Vec<String> {
    layers.settle().unwrap_err().0
}

#[test]
fn later_layers_win() {
    let mut layers = from_toml("listen = '127.0.0.1:1'\nthreads = 3\ndrain_ms = 5");
    layers.add("threads", "4".into(), "TRESTLE_THREADS".into());
    layers.add("drain_ms", "6".into(), "TRESTLE_DRAIN_MS".into());
    layers.add("drain_ms", "7".into(), "--drain-ms".into());
    let settings = layers.settle().unwrap();
    assert_eq!(settings.listen, "127.0.0.1:1".parse().unwrap());
    assert_eq!(settings.threads, 4);
    assert_eq!(settings.drain, Duration::from_millis(7));
}

#[test]
fn every_member_is_read() {
    let layers = from_toml(
        "listen = '[::1]:1'\nadmin_listen = '127.0.0.1:2'\ndata_dir = 'd'\ndocument = 'g.yaml'\nwatch = true
         authoritative = true\nroot_token = 'env:ADMIN'\nkey_encryption_key = 'file:/kek'\nkey_encryption_key_previous = 'env:OLD_KEK'
         threads = 2\ndrain_ms = 3\nhead_timeout_ms = 4\nidle_timeout_ms = 5\nlog_format = 'text'\nconnections_max = 6
         ledger_bytes_max = 33554432\nledger_keep_days = 7
         cluster_secret_file = 's'\nseeds = 'a:1, b:2'\nbootstrap_expect = 3\nnode_name = 'n'\nzone = 'z'
         [mesh]\nname = 'm'\nlisten = '0.0.0.0:8'\naddress = 'h:9'\ngossip_listen = '0.0.0.0:10'
         gossip_address = '10.0.0.1:11'\ntls_dir = 't'
         [tls]\ncert = 'c'\nkey = 'k'
         [otlp]\nendpoint = 'https://c:4318/x'\nprotocol = 'http'\nheaders = 'a=file:/t, b=x%2Cy==,c=env:C'\nca = 'o'
         resource = 'team=core'
         [traces]\nsample = 0.5\nparent = false\nerrors = false\ninclude = 'receive, relay, attempt'\nexclude = 'relay'
         [metrics]\npush_interval_ms = 20\nkeys_max = 30",
    );
    let wanted = Settings {
        authoritative: true,
        root_token: Some("env:ADMIN".to_owned()),
        key_encryption_key: Some("file:/kek".to_owned()),
        key_encryption_key_previous: Some("env:OLD_KEK".to_owned()),
        listen: "[::1]:1".parse().unwrap(),
        admin_listen: Some("127.0.0.1:2".parse().unwrap()),
        data_dir: "d".into(),
        document: Some("g.yaml".into()),
        watch: true,
        threads: 2,
        tls: Some(TlsFiles { cert: "c".into(), key: "k".into() }),
        drain: Duration::from_millis(3),
        head_timeout: Duration::from_millis(4),
        idle_timeout: Duration::from_millis(5),
        log_format: LogFormat::Text,
        connections_max: 6,
        ledger_bytes_max: 33_554_432,
        ledger_keep: Some(Duration::from_secs(7 * 86_400)),
        metrics: Metrics { push_interval: Some(Duration::from_millis(20)), keys_max: 30 },
        mesh: Some(Mesh {
            secret_file: "s".into(),
            seeds: vec!["a:1".to_owned(), "b:2".to_owned()],
            expect: 3,
            node_name: "n".to_owned(),
            zone: "z".to_owned(),
            name: "m".to_owned(),
            listen: "0.0.0.0:8".parse().unwrap(),
            address: Some("h:9".to_owned()),
            gossip_listen: "0.0.0.0:10".parse().unwrap(),
            gossip_address: Some("10.0.0.1:11".parse().unwrap()),
            tls_dir: Some("t".into()),
        }),
        otlp: Some(Otlp {
            endpoint: "https://c:4318/x".parse().unwrap(),
            protocol: Protocol::Http,
            headers: vec![
                ("a".parse().unwrap(), HeaderSource::File("/t".into())),
                ("b".parse().unwrap(), HeaderSource::Value("x,y==".to_owned())),
                ("c".parse().unwrap(), HeaderSource::Variable("C".to_owned())),
            ],
            ca: Some("o".into()),
            resource: vec![("team".to_owned(), "core".to_owned())],
            traces: Traces {
                sampling: Sampling { parent: false, ratio: Ratio::new(0.5).unwrap(), errors: false },
                stages: vec![Stage::Receive, Stage::Attempt],
            },
        }),
    };
    assert_eq!(layers.settle().unwrap(), wanted);
}

#[test]
fn all_problems_come_at_once_each_with_its_place() {
    let mut layers = from_toml(
        "listn = '127.0.0.1:1'\nthreads = [1]\nconnections_max = 0\nwatch = true\nauthoritative = true
         root_token = 'secret'\nkey_encryption_key_previous = 'file:'
         [tls]\ncert = 'c'\nkeys = 'k'\n[extra]\nx = 1",
    );
    layers.add("listen", "localhost".into(), "TRESTLE_LISTEN".into());
    layers.add("log_format", "xml".into(), "--log-format".into());
    let found = problems(layers);
    for wanted in [
        "node.toml: listn: unknown member",
        "node.toml: threads: is array",
        "node.toml: connections_max: is 0, must be a whole number from 1",
        "node.toml: authoritative: needs a document",
        "node.toml: root_token: must be a reference",
        "node.toml: key_encryption_key_previous: must be a reference",
        "node.toml: tls.cert: needs `tls.key`",
        "node.toml: tls.keys: unknown member",
        "node.toml: extra: unknown member",
        "TRESTLE_LISTEN: is `localhost`, must be an address",
        "--log-format: is `xml`, must be json or text",
    ] {
        assert!(found.iter().any(|problem| problem.starts_with(wanted)), "{wanted} is not in {found:#?}");
    }
    assert_eq!(found.len(), 11, "{found:#?}");
    let found = problems(from_toml("watch = true\nkey_encryption_key_previous = 'env:A'"));
    assert!(
        found[0].contains("set `authoritative` too") && found[1].contains("needs `key_encryption_key`"),
        "{found:?}"
    );
}

#[test]
fn a_node_that_is_alone_has_no_mesh() {
    let found = problems(from_toml("bootstrap_expect = 3\n[mesh]\nlisten = '0.0.0.0:1'"));
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found.iter().all(|problem| problem.contains("set `cluster_secret_file` too")), "{found:#?}");
    let found = problems(from_toml("cluster_secret_file = 's'\nseeds = 'a'\nbootstrap_expect = 0"));
    assert!(found.iter().any(|problem| problem.contains("seeds: has `a`, must be host:port")), "{found:#?}");
    assert!(found.iter().any(|problem| problem.contains("bootstrap_expect: is 0")), "{found:#?}");
    let mesh = from_toml("cluster_secret_file = 's'").settle().unwrap().mesh.unwrap();
    assert!(mesh.listen.ip().is_loopback() && mesh.gossip_listen.ip().is_loopback(), "no TLS, no strangers");
    assert_eq!((mesh.listen.port(), mesh.gossip_listen.port(), mesh.expect), (10_102, 10_101, 1));
    assert!(!mesh.node_name.is_empty());
}

#[test]
fn a_collector_is_told_whole_and_without_its_secrets() {
    let check = |text: &str, wanted: &str| {
        let found = problems(from_toml(&format!("[otlp]\n{text}")));
        assert!(found.len() == 1 && found[0].contains(wanted) && !found[0].contains("hush"), "{found:#?}");
    };
    check("protocol = 'http'", "otlp.protocol: is for what is sent to a collector");
    check("endpoint = 'collector:4317'", "otlp.endpoint: must be a URL");
    check("endpoint = 'http://me:hush@c'", "otlp.endpoint: holds a name or a password");
    check("endpoint = 'http://c/path'", "otlp.endpoint: has a path");
    check("endpoint = 'http://c'\nca = 'f'", "otlp.ca: is for an `otlp.endpoint` with https");
    check("endpoint = 'http://c'\nprotocol = 'udp'", "must be grpc or http");
    check("endpoint = 'http://c'\nheaders = 'a=hush,hush'", "otlp.headers: is wrong at part 2");
    check("endpoint = 'http://c'\nheaders = 'a b=hush'", "otlp.headers: has `a b`");
    check("endpoint = 'http://c'\n[traces]\nsample = 2", "traces.sample: is 2, must be a share");
    check("endpoint = 'http://c'\n[traces]\nsample = 'some'", "traces.sample: is `some`, must be a share");
    check("endpoint = 'http://c'\n[traces]\nexclude = 'relay,guard'", "traces.exclude: has `guard`");
    check("[traces]\nsample = 1", "traces.sample: is for what is sent to a collector");
    check("[metrics]\npush_interval_ms = 1", "metrics.push_interval_ms: is for what is sent to a collector");
    check("[metrics]\nkeys_max = 100001", "metrics.keys_max: is 100001, must be a whole number");
    let shown = from_toml("[otlp]\nendpoint = 'http://c'\nheaders = 'a=hush'").settle().unwrap();
    assert!(!format!("{shown:?}").contains("hush"));
}

#[test]
fn metrics_are_sent_unless_told_otherwise() {
    let check = |text: &str, wanted: Option<u64>| {
        let metrics = from_toml(text).settle().unwrap().metrics;
        assert_eq!(metrics.push_interval, wanted.map(Duration::from_millis), "{text}");
    };
    check("[otlp]\nendpoint = 'http://c'", Some(15_000));
    check("[otlp]\nendpoint = 'http://c'\n[metrics]\npush_interval_ms = 50", Some(50));
    check("[otlp]\nendpoint = 'http://c'\n[metrics]\npush_interval_ms = 0", None);
    assert_eq!(from_toml("").settle().unwrap().metrics.keys_max, 0);
}

#[test]
fn a_file_that_is_no_toml_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("node.toml");
    std::fs::write(&path, "listen = ").unwrap();
    let error = Settings::load(Some(&path), BTreeMap::new()).unwrap_err().to_string();
    assert!(error.contains("node.toml: TOML parse error at line 1"), "{error}");
}

#[test]
fn state_is_kept_where_the_desktop_says() {
    let env = |pairs: &'static [(&str, &str)]| {
        default_data_dir(move |name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
    };
    assert_eq!(env(&[("XDG_STATE_HOME", "/s"), ("HOME", "/h")]), PathBuf::from("/s/trestle"));
    assert_eq!(
        env(&[("XDG_STATE_HOME", "relative"), ("HOME", "/h")]),
        PathBuf::from("/h/.local/state/trestle")
    );
    assert_eq!(env(&[]), PathBuf::from("./.trestle"));
}
