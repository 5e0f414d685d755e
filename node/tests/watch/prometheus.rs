//! A Prometheus of our own that scrapes the nodes of a cluster each second, with the rules of the chart.

use crate::{
    boards::{Variable, chart},
    environment::{or_skip, run},
    nodes::Mesh,
    support::{self, eventually},
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use std::{
    fs,
    net::{SocketAddr, TcpStream},
    process::{Child, Command, Stdio},
    sync::OnceLock,
};
use tempfile::TempDir;

/// Of the network of the mesh: a place that no node has, and its port.
const PLACE: usize = 99;
const PORT: u16 = 18_090;

/// The program, where the machine has it.
pub(crate) struct Program;

impl Program {
    /// `None`, and a word about it, where it is missing and is not required.
    pub(crate) fn find() -> Option<&'static Self> {
        static FOUND: OnceLock<Result<Program, String>> = OnceLock::new();
        or_skip(FOUND.get_or_init(|| run(Command::new("prometheus").arg("--version")).map(|_| Program)))
    }

    /// Starts one that watches these nodes.
    pub(crate) fn watch(&self, mesh: &Mesh) -> Prometheus {
        let folder = tempfile::tempdir().unwrap();
        let address = mesh.net.at(PLACE, PORT);
        let targets: Vec<_> = (0..mesh.size()).map(|node| mesh.http(node).to_string()).collect();
        let configuration = format!(
            "global: {{ scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }}\nrule_files: [rules.yaml]\n\
             scrape_configs:\n  - job_name: trestle\n    static_configs: [{{ targets: {targets:?}, labels: {{ namespace: tests }} }}]\n"
        );
        fs::write(folder.path().join("prometheus.yaml"), configuration).unwrap();
        fs::write(folder.path().join("rules.yaml"), hasty_rules()).unwrap();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let child = Command::new("prometheus")
            .args(["--config.file=prometheus.yaml", "--storage.tsdb.path=data"])
            .arg(format!("--web.listen-address={address}"))
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let prometheus = Prometheus { child, address, folder };
        eventually("Prometheus to be ready", || {
            TcpStream::connect(address).ok()?;
            (support::get(address, "/-/ready").status == 200).then_some(())
        });
        eventually("the nodes to be scraped", || {
            (prometheus.values(r#"sum(up{job="trestle"})"#) == [mesh.size() as f64]).then_some(())
        });
        prometheus
    }
}

/// The rules of the chart, whose alerts wait for seconds instead of minutes.
fn hasty_rules() -> String {
    let rules = fs::read_to_string(chart().join("alerts/trestle.yaml")).unwrap();
    let lines = rules
        .lines()
        .map(|line| if line.trim_start().starts_with("for: ") { "        for: 2s" } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

/// One that runs; it ends with its handle.
pub(crate) struct Prometheus {
    child: Child,
    address: SocketAddr,
    folder: TempDir,
}

impl Prometheus {
    /// What its API answers.
    fn ask(&self, path: &str, parameters: &[(&str, &str)]) -> Value {
        let encoded = |text| utf8_percent_encode(text, NON_ALPHANUMERIC);
        let query: Vec<_> =
            parameters.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        let reply = support::get(self.address, &format!("/api/v1/{path}?{}", query.join("&")));
        assert_eq!(reply.status, 200, "{parameters:?}: {}", reply.body);
        let answer: Value = serde_json::from_str(&reply.body).unwrap();
        assert!(answer["warnings"].is_null(), "{parameters:?}: {answer}");
        answer["data"].clone()
    }

    /// The values that a query has now, without those that are no numbers.
    pub(crate) fn values(&self, query: &str) -> Vec<f64> {
        let data = self.ask("query", &[("query", query)]);
        let samples = data["result"].as_array().unwrap();
        let values =
            samples.iter().map(|sample| sample["value"][1].as_str().unwrap().parse::<f64>().unwrap());
        values.filter(|value| !value.is_nan()).collect()
    }

    /// What can be chosen of a variable, but for nothing.
    pub(crate) fn choices(&self, variable: &Variable) -> Vec<String> {
        let values = self.ask(&format!("label/{}/values", variable.label), &[("match[]", &variable.of)]);
        let names = values.as_array().unwrap().iter().map(|value| value.as_str().unwrap().to_owned());
        names.filter(|name| !name.is_empty()).collect()
    }

    /// Waits until no alert was even pending for ten seconds; but those of the disk, which is that of the machine.
    pub(crate) fn is_calm(&self) {
        let active = r#"count by (alertname) (ALERTS{alertname!~"TrestleDisk.*"})"#;
        eventually("no alert for ten seconds", || {
            let most = self.values(&format!("max_over_time((count({active}) or vector(0))[10s:1s])"));
            // What was not evaluated yet counts for nothing.
            let evaluated = self.values("min_over_time((count(up) or vector(0))[10s:1s])");
            if most != [0.0] {
                // Told where the test fails.
                println!("alerts: {}", self.ask("query", &[("query", active)])["result"]);
            }
            (most == [0.0] && evaluated == [3.0]).then_some(())
        });
    }

    /// No rule fails.
    pub(crate) fn evaluates_all_rules(&self) {
        let groups = self.ask("rules", &[]);
        let rules: Vec<_> = groups["groups"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|group| group["rules"].as_array().unwrap())
            .collect();
        assert!(rules.len() > 50, "{} rules", rules.len());
        for rule in rules {
            assert_eq!(rule["health"], "ok", "{rule}");
        }
    }

    fn alerts(&self, name: &str) -> usize {
        self.values(&format!(r#"ALERTS{{alertname="{name}",alertstate="firing"}}"#)).len()
    }

    /// Waits until an alert fires.
    pub(crate) fn tells(&self, alert: &str) {
        eventually(&format!("{alert} to fire"), || (self.alerts(alert) > 0).then_some(()));
    }

    /// Waits until it does not fire.
    pub(crate) fn tells_no_more(&self, alert: &str) {
        eventually(&format!("{alert} to end"), || (self.alerts(alert) == 0).then_some(()));
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!(
                "Prometheus said:\n{}",
                fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
            );
        }
    }
}
