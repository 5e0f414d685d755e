//! A `trestle serve` process that ends with its handle.

#![allow(clippy::expect_used, clippy::panic)] // a panic is a failed test

use std::{
    collections::VecDeque,
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError, mpsc},
    time::Duration,
};
use tempfile::TempDir;

/// Lines of its log that are kept for the report of a failed test.
const LINES_KEPT: usize = 200;

/// How long a start may take.
const START_MAX: Duration = Duration::from_secs(30);

/// The admin token of a node.
pub(crate) const ADMIN: &str =
    "trestle-admin-00000000000000000000000000000000000000000000000000000000000000aa";

/// A running node.
pub(crate) struct Node {
    child: Child,
    url: String,
    lines: Arc<Mutex<VecDeque<String>>>,
    _folder: TempDir,
}

impl Node {
    /// Serves a document on a free port; returns once it listens.
    pub(crate) fn serve(document: &str, variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gateway.yaml");
        fs::write(&path, document).expect("the document is written");
        let mut child = Command::new(env!("CARGO_BIN_EXE_trestle"))
            .args(["serve", "--listen", "127.0.0.1:0", "--document"])
            .arg(&path)
            .arg("--data-dir")
            .arg(folder.path().join("data"))
            .current_dir(folder.path())
            .env_clear()
            .envs(variables.iter().copied())
            // The document names keys of the upstream in clear.
            .args(["--key-encryption-key", "env:TRESTLE_TEST_KEK"])
            .env("TRESTLE_TEST_KEK", "5a".repeat(32))
            .args(["--root-token", "env:TRESTLE_TEST_ADMIN"])
            .env("TRESTLE_TEST_ADMIN", ADMIN)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the node starts");
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let (found, listening) = mpsc::channel();
        let (stderr, kept) = (child.stderr.take().expect("stderr"), lines.clone());
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if let Some(url) = url_in(&line) {
                    let _ = found.send(url);
                }
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push_back(line);
                if kept.len() > LINES_KEPT {
                    kept.pop_front();
                }
            }
        });
        let url = listening.recv_timeout(START_MAX);
        let mut node = Self { child, url: String::new(), lines, _folder: folder };
        node.url = url.unwrap_or_else(|_| panic!("the node does not listen:\n{}", node.log()));
        node
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    fn log(&self) -> String {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the node's log:\n{}", self.log());
        }
    }
}

/// The address in the line that says where clients connect.
fn url_in(line: &str) -> Option<String> {
    let rest = line.split("\"listening on ").nth(1).or_else(|| line.split(" listening on ").nth(1))?;
    let end = rest.find(|c: char| c == '"' || c.is_whitespace()).unwrap_or(rest.len());
    Some(rest[..end].to_owned()).filter(|url| url.starts_with("http"))
}
