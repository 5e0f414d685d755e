//! A plain HTTP/1.1 client for tests: one request a connection, blocking, everything visible.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use trestle_bench::mock::Mock;

/// An answer, with chunks joined.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// Whether the body ended as its framing says.
    pub(crate) complete: bool,
    /// The error that reading ended in.
    pub(crate) error: Option<std::io::ErrorKind>,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    /// The data of all events, the end mark included.
    pub(crate) fn events(&self) -> Vec<&str> {
        self.text().lines().filter_map(|line| line.strip_prefix("data: ")).collect()
    }
}

/// A request without its answer yet.
pub(crate) fn open(mock: &Mock, start: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(mock.addr()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let of_body = headers.iter().any(|(name, _)| *name == "content-type");
    let json = if of_body { "" } else { "content-type: application/json\r\n" };
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let head = format!(
        "{start} HTTP/1.1\r\nhost: mock\r\nconnection: close\r\n{json}\
         content-length: {length}\r\n{headers}\r\n"
    );
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).unwrap();
    stream
}

pub(crate) fn send(mock: &Mock, start: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut stream = open(mock, start, headers, body);
    let mut raw = Vec::new();
    let error = stream.read_to_end(&mut raw).err().map(|error| error.kind());
    let end = raw.windows(4).position(|window| window == b"\r\n\r\n").expect("a head") + 4;
    let head = String::from_utf8(raw[..end].to_vec()).unwrap();
    let status = head[9..12].parse().unwrap();
    let mut answer = Answer { status, head, body: raw[end..].to_vec(), complete: false, error };
    if answer.header("transfer-encoding").is_some() {
        (answer.body, answer.complete) = joined(&raw[end..]);
    } else {
        let length = answer.header("content-length").map(|length| length.parse::<usize>().unwrap());
        answer.complete = length == Some(answer.body.len());
    }
    answer
}

fn joined(mut raw: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(line) = raw.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&raw[..line]).unwrap(), 16).unwrap();
        raw = &raw[line + 2..];
        if size == 0 {
            return (body, true);
        }
        let got = size.min(raw.len());
        body.extend_from_slice(&raw[..got]);
        raw = &raw[(size + 2).min(raw.len())..];
    }
    (body, false)
}

/// A chat request with a key and settings.
pub(crate) fn chat(mock: &Mock, settings: &str, body: &Value) -> Answer {
    let headers = [("authorization", "Bearer sk-test"), ("x-mock", settings)];
    send(mock, "POST /v1/chat/completions", &headers, &body.to_string())
}

/// A messages request with a key and settings.
pub(crate) fn messages(mock: &Mock, settings: &str, body: &Value) -> Answer {
    let headers = [("x-api-key", "sk-ant-test"), ("anthropic-version", "2023-06-01"), ("x-mock", settings)];
    send(mock, "POST /v1/messages", &headers, &body.to_string())
}
