//! One request on a connection of its own, for admins and for single looks.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::wire::{Head, number};

/// The admin token of the nodes.
pub(super) const TOKEN: &str = "trestle-admin-of-the-drill";
/// Changes have ten seconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// A look that takes longer is none.
const LOOK: Duration = Duration::from_secs(2);
/// Bytes of an answer.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: String,
}

impl Answer {
    /// Its body, if it is a good one.
    pub(super) fn json(&self) -> anyhow::Result<Value> {
        ensure!(matches!(self.status, 200 | 201), "status {}: {}", self.status, self.body);
        Ok(serde_json::from_str(&self.body)?)
    }
}

/// Asks the admin API.
pub(super) fn admin(address: SocketAddr, line: &str, body: &str) -> anyhow::Result<Answer> {
    admin_within(address, (line, body), PATIENCE)
}

/// Looks at something of the admin API.
pub(super) fn look(address: SocketAddr, path: &str) -> anyhow::Result<Value> {
    admin_within(address, (&format!("GET {path}"), ""), LOOK)?.json()
}

fn admin_within(
    address: SocketAddr,
    (line, body): (&str, &str),
    patience: Duration,
) -> anyhow::Result<Answer> {
    let length = body.len();
    let head =
        format!("{line} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n");
    send(address, &format!("{head}content-length: {length}\r\n\r\n{body}"), patience)
}

/// A chat with a key.
pub(super) fn chat(address: SocketAddr, key: &str, model: &str) -> anyhow::Result<Answer> {
    let body = format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"Hello"}}]}}"#);
    let (head, length) =
        ("POST /v1/chat/completions HTTP/1.1\r\nhost: bench\r\nconnection: close", body.len());
    let request = format!(
        "{head}\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    send(address, &request, PATIENCE)
}

/// The revision that a node's requests see, if it is ready.
pub(super) fn revision(address: SocketAddr) -> Option<u64> {
    let request = "GET /readyz HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n";
    let answer = send(address, request, LOOK).ok()?;
    answer.json().ok()?["revision"].as_u64()
}

/// The sum of a metric over all its labels that have this text.
pub(super) fn metric(address: SocketAddr, name: &str, label: &str) -> anyhow::Result<f64> {
    let request = "GET /metrics HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n";
    let answer = send(address, request, LOOK)?;
    let values = answer.body.lines().filter_map(|line| {
        let (series, value) = line.rsplit_once(' ')?;
        let is_it = series.split('{').next() == Some(name) && series.contains(label);
        is_it.then(|| value.parse::<f64>().ok())?
    });
    Ok(values.sum())
}

fn send(address: SocketAddr, request: &str, patience: Duration) -> anyhow::Result<Answer> {
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_nodelay(true)?;
    stream.write_all(request.as_bytes())?;
    let (mut bytes, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        if let Some(head) = Head::find(&bytes)
            && let Some(end) = head.message_end(&bytes)
        {
            let body = bytes.get(head.bytes..end).unwrap_or_default();
            let status = u16::try_from(number(bytes.get(9..12).unwrap_or_default()))?;
            return Ok(Answer { status, body: String::from_utf8_lossy(body).into_owned() });
        }
        ensure!(bytes.len() < ANSWER_BYTES_MAX, "the answer has no end");
        let count = stream.read(&mut piece).context("no answer")?;
        ensure!(count > 0, "the connection was closed before the answer was complete");
        bytes.extend_from_slice(piece.get(..count).unwrap_or_default());
    }
}
