//! An operator: requests to the admin API with a token.

use crate::support::{Node, Reply, Start, connect, exchange};
use serde_json::Value;
use std::net::SocketAddr;

/// The token that nodes of tests take by the variable `TRESTLE_TEST_ADMIN`.
pub(crate) const TOKEN: &str = "trestle-admin-of-the-process-tests";

impl Start {
    /// With the token of the tests.
    pub(crate) fn administered(self) -> Self {
        self.arguments(&["--root-token", "env:TRESTLE_TEST_ADMIN"]).variable("TRESTLE_TEST_ADMIN", TOKEN)
    }

    /// With a key that seals secrets.
    pub(crate) fn sealing(self) -> Self {
        self.arguments(&["--key-encryption-key", "env:TRESTLE_TEST_KEK"])
            .variable("TRESTLE_TEST_KEK", &"5a".repeat(32))
    }
}

/// Who asks.
#[derive(Debug, Clone)]
pub(crate) struct Operator {
    address: SocketAddr,
    token: String,
}

impl Operator {
    /// With the token of the tests.
    pub(crate) fn of(node: &Node) -> Self {
        Self { address: node.address, token: TOKEN.to_owned() }
    }

    /// With another token.
    pub(crate) fn with(&self, token: &str) -> Self {
        Self { token: token.to_owned(), ..self.clone() }
    }

    /// At another address.
    pub(crate) fn at(&self, address: SocketAddr) -> Self {
        Self { address, ..self.clone() }
    }

    /// A request with more headers, each with its line end.
    pub(crate) fn send(&self, line: &str, headers: &str, body: &str) -> Reply {
        let (token, length) = (&self.token, body.len());
        let head = format!("{line} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {token}\r\n{headers}");
        exchange(&mut connect(self.address), &format!("{head}content-length: {length}\r\n\r\n{body}"))
    }

    /// The answer to a request that succeeds.
    pub(crate) fn done(&self, line: &str, body: &str) -> Value {
        self.done_if(line, "", body)
    }

    /// The same with more headers.
    pub(crate) fn done_if(&self, line: &str, headers: &str, body: &str) -> Value {
        let reply = self.send(line, headers, body);
        assert!(matches!(reply.status, 200 | 201), "{line}: {reply:?}");
        serde_json::from_str(&reply.body).unwrap()
    }

    /// The problem of a request that fails with this status.
    pub(crate) fn refused(&self, status: u16, line: &str, body: &str) -> Value {
        self.refused_if(status, line, "", body)
    }

    /// The same with more headers.
    pub(crate) fn refused_if(&self, status: u16, line: &str, headers: &str, body: &str) -> Value {
        let reply = self.send(line, headers, body);
        assert_eq!(reply.status, status, "{line}: {reply:?}");
        assert!(reply.head.contains("content-type: application/problem+json"), "{line}: {reply:?}");
        let problem: Value = serde_json::from_str(&reply.body).unwrap();
        assert_eq!(problem["status"], status);
        problem
    }

    /// The document as it is.
    pub(crate) fn document(&self) -> Value {
        self.done("GET /api/document", "")
    }
}

/// The paths of all problems.
pub(crate) fn paths(problem: &Value) -> Vec<&str> {
    problem["problems"].as_array().unwrap().iter().map(|place| place["path"].as_str().unwrap()).collect()
}
