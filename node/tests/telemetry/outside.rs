//! A collector that is not ours takes the spans of a node, and passes them on.

use crate::{
    environment::{Environment, run},
    receiver::Receiver,
    support::{KEY, Start, document, eventually},
};
use std::{
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
    let receiver = Receiver::start("grpc", 0);
    let (grpc, http) = (free(), free());
    let agent = Command::new(format!("{}/rotel-agent", place.trim()))
        .args(["start", "--exporter", "otlp", "--otlp-exporter-endpoint", &receiver.url()])
        .args(["--otlp-grpc-endpoint", &grpc, "--otlp-http-endpoint", &http])
        .arg("--pid-file")
        .arg(folder.path().join("pid"))
        .arg("--log-file")
        .arg(folder.path().join("log"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let _agent = Rotel(agent.unwrap());
    for (protocol, address) in [("grpc", &grpc), ("http", &http)] {
        eventually("rotel listens", || TcpStream::connect(address).ok());
        let mut node = Start::serve(&document(""))
            .arguments(&["--otlp-endpoint", &format!("http://{address}"), "--otlp-protocol", protocol])
            .arguments(&["--traces-sample", "1", "--metrics-push-interval-ms", "0"])
            .arguments(&["--otlp-resource", &format!("protocol={protocol}")])
            .start();
        let model = "mock/echo";
        assert_eq!(node.chat(KEY, model).status, 200);
        node.signal("TERM");
        assert!(node.ended().success());
        let server = eventually("the span that was passed on", || {
            let spans = receiver.spans().into_iter().filter(|seen| seen.span.name == "chat mock/echo");
            spans.last().filter(|_| receiver.resource().get("protocol").is_some_and(|p| p == protocol))
        });
        assert_eq!(server.attributes["trestle.target"], model);
        assert_eq!(receiver.resource()["service.name"], "trestle");
    }
}
