//! A collector that is not ours understands the spans of a node: it writes out what it got.

use crate::{
    environment::{Environment, run},
    support::{KEY, Start, document, eventually},
};
use std::{
    fs,
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
};

struct Rotel(Child);

impl Drop for Rotel {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port that nobody has now.
fn free() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

#[test]
fn a_collector_of_others_understands_it() {
    let Some(environment) = Environment::of("telemetry-venv", "node/tests/telemetry/python") else { return };
    let place = "import importlib.util as u; print(u.find_spec('rotel').submodule_search_locations[0])";
    let place = run(Command::new(environment.python()).args(["-c", place])).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let (grpc, http) = (free(), free());
    let agent = Command::new(format!("{}/rotel-agent", place.trim()))
        .args([
            "start",
            "--exporter",
            "blackhole",
            "--debug-log",
            "traces",
            "--debug-log-verbosity",
            "detailed",
        ])
        .args(["--otlp-grpc-endpoint", &grpc, "--otlp-http-endpoint", &http])
        .arg("--pid-file")
        .arg(folder.path().join("pid"))
        .arg("--log-file")
        .arg(folder.path().join("log"))
        .stdout(fs::File::create(&out).unwrap())
        .stderr(Stdio::null())
        .spawn();
    let _agent = Rotel(agent.unwrap());
    for (protocol, address) in [("grpc", &grpc), ("http", &http)] {
        eventually("rotel listens", || TcpStream::connect(address).ok());
        let mut node = Start::serve(&document(""))
            .arguments(&["--otlp-endpoint", &format!("http://{address}"), "--otlp-protocol", protocol])
            .arguments(&["--otlp-resource", &format!("protocol={protocol}"), "--traces-sample", "1"])
            .arguments(&["--metrics-push-interval-ms", "0"])
            .start();
        assert_eq!(node.chat(KEY, "mock/echo").status, 200);
        node.signal("TERM");
        assert!(node.ended().success());
        let resource = format!("-> protocol: Str({protocol})");
        let seen = eventually("the spans in what it writes", || {
            let text = fs::read_to_string(&out).unwrap();
            let mine = text[text.find(&resource)?..].to_owned();
            mine.contains("SPAN_KIND_CLIENT").then_some(mine)
        });
        for wanted in [
            "Name           : chat mock/echo",
            "Kind           : SPAN_KIND_SERVER",
            "Kind           : SPAN_KIND_CLIENT",
            "-> gen_ai.operation.name: Str(chat)",
            "-> gen_ai.response.finish_reasons: Slice(Str(stop))",
            "-> http.response.status_code: Int(200)",
        ] {
            assert!(seen.contains(wanted), "{wanted} is not in\n{seen}");
        }
    }
}
