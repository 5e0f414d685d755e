//! `trestle dev --nodes`: several nodes of one cluster, as a developer has them, and the commands about a cluster.

use crate::support::{chat, eventually, exchange, trestle};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
};

struct Cluster {
    process: Child,
    nodes: Vec<(String, SocketAddr, String)>,
    key: String,
    token: String,
}

impl Cluster {
    fn start(folder: &Path) -> Self {
        let folder = folder.to_str().unwrap();
        let mut command =
            trestle(&["dev", "--nodes", "3", "--mock", "--listen", "127.0.0.1:0", "--data-dir", folder]);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let (mut nodes, mut key, mut token) = (Vec::new(), None, None);
        for line in BufReader::new(process.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            let words: Vec<_> = line.split_whitespace().collect();
            match words[..] {
                [name, url, _, process, _] if name.starts_with("node-") => {
                    let address = url.strip_prefix("http://").unwrap().parse().unwrap();
                    nodes.push((name.to_owned(), address, process.to_owned()));
                }
                ["Key", value] => key = Some(value.to_owned()),
                ["Admin", "token", value] => token = Some(value.to_owned()),
                ["All", ..] => break,
                _ => {}
            }
        }
        assert_eq!(nodes.len(), 3, "no table of three nodes was printed");
        Self { process, nodes, key: key.unwrap(), token: token.unwrap() }
    }

    /// Asks the node at that place.
    fn command(&self, at: usize, arguments: &[&str]) -> (bool, String, String) {
        let mut command = trestle(arguments);
        command.env("TRESTLE_URL", format!("http://{}", self.nodes[at].1));
        let output = command.env("TRESTLE_ADMIN_TOKEN", &self.token).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    }

    fn members(&self, at: usize) -> Vec<Value> {
        let (_, out, _) = self.command(at, &["cluster", "members", "--json"]);
        let members: Value = serde_json::from_str(&out).unwrap_or_default();
        members["items"].as_array().cloned().unwrap_or_default()
    }

    fn status_of_chat(&self, at: usize) -> u16 {
        let mut stream = TcpStream::connect(self.nodes[at].1).unwrap();
        exchange(&mut stream, &chat(&self.key, "mock/echo", "")).status
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let _ = self.process.wait();
    }
}

#[test]
fn three_nodes_for_development_and_what_operators_do_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::start(folder.path());
    for at in 0..3 {
        assert_eq!(cluster.status_of_chat(at), 200, "node {at}");
    }
    let ready = |members: &[Value]| {
        members.len() == 3
            && members.iter().all(|member| member["ready"] == true && member["votes"] == true)
            && members.iter().filter(|member| member["leads"] == true).count() == 1
    };
    eventually("three ready voters", || ready(&cluster.members(0)).then_some(()));
    let leads = |members: &[Value]| {
        let leader = members.iter().find(|member| member["leads"] == true)?;
        Some(leader["name"].as_str()?.to_owned())
    };
    let at = |name: &str| cluster.nodes.iter().position(|(node, ..)| node == name).unwrap();
    let leader = leads(&cluster.members(0)).unwrap();
    let other = (at(&leader) + 1) % 3;
    let (done, _, error) = cluster.command(other, &["cluster", "step-down"]);
    assert!(!done && error.contains(&leader), "{error}");
    let (done, _, error) = cluster.command(at(&leader), &["cluster", "step-down"]);
    assert!(done, "{error}");
    eventually("another leader", || leads(&cluster.members(0)).filter(|now| *now != leader));
    let (_, status, _) = cluster.command(0, &["cluster", "status"]);
    assert!(status.contains("Members    3, 3 of them vote"), "{status}");

    // A backup founds another cluster.
    let file = folder.path().join("a.backup");
    let (done, _, error) = cluster.command(1, &["cluster", "backup", file.to_str().unwrap()]);
    assert!(done, "{error}");
    let (done, _, error) = cluster.command(1, &["cluster", "backup", file.to_str().unwrap()]);
    assert!(!done && error.contains("a.backup"), "not over another: {error}");
    let other_folder = folder.path().join("other");
    let restore =
        ["cluster", "restore", file.to_str().unwrap(), "--data-dir", other_folder.to_str().unwrap()];
    let (done, out, error) = cluster.command(1, &restore);
    assert!(done && out.contains("of the new cluster"), "{out} {error}");
    assert!(!cluster.command(1, &restore).0, "not over what is there");

    // One is killed: the others go on, and say so; then it is removed.
    let (name, _, process) = cluster.nodes[2].clone();
    assert!(Command::new("kill").args(["-9", &process]).status().unwrap().success());
    assert_eq!((cluster.status_of_chat(0), cluster.status_of_chat(1)), (200, 200));
    eventually("it is away", || {
        let members = cluster.members(0);
        members.iter().any(|member| member["name"] == *name && member["live"] == false).then_some(())
    });
    eventually("it is removed", || cluster.command(0, &["cluster", "remove", &name]).0.then_some(()));
    eventually("two are left", || (cluster.members(1).len() == 2).then_some(()));
    assert_eq!((cluster.status_of_chat(0), cluster.status_of_chat(1)), (200, 200));
    assert!(Command::new("kill").arg(cluster.process.id().to_string()).status().unwrap().success());
    assert!(cluster.process.wait().unwrap().success());
}
