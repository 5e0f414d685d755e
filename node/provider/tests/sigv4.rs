//! Signatures are those of botocore, byte for byte.
//!
//! Needs python3 with `venv` and the package index. Where they are missing the test says so and passes; with
//! `TRESTLE_REQUIRE_CLIENTS=1` it fails.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic is a failed test")]

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, uri::PathAndQuery};
use serde_json::{Value, json};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, UNIX_EPOCH},
};
use trestle_provider::{
    AwsSignature, Operation, Provider, Received, Signable,
    credential::{AwsKeys, Fetched, Secret},
    listed, provider,
};

const ID: &str = "AKIDEXAMPLE";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const TOKEN: &str = "IQoJb3JpZ2luX2VjE//token+with/odd=letters==";
const REGION: &str = "eu-central-1";

/// One request, in pieces.
struct Case {
    method: Method,
    path: String,
    body: Vec<Bytes>,
    token: Option<&'static str>,
    now: u64,
    headers: Vec<(&'static str, &'static str)>,
}

impl Case {
    fn of(path: impl Into<String>) -> Self {
        let headers = vec![("content-type", "application/json"), ("user-agent", "trestle/1")];
        Self {
            method: Method::POST,
            path: path.into(),
            body: vec![Bytes::from_static(b"{}")],
            token: None,
            now: 1_700_000_000,
            headers,
        }
    }

    fn headers(&self, bedrock: &dyn Provider) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("host", bedrock.host().clone());
        headers.extend(
            self.headers
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))),
        );
        headers
    }

    /// What we put on.
    fn ours(&self, bedrock: &dyn Provider) -> Value {
        let before = self.headers(bedrock);
        let mut headers = before.clone();
        let keys = AwsKeys::new(ID, &Secret::new(SECRET), self.token.map(Secret::new).as_ref());
        let path: PathAndQuery = self.path.parse().unwrap();
        let now = UNIX_EPOCH + Duration::from_secs(self.now);
        let request = Signable { method: &self.method, path: &path, body: Some(&self.body), now };
        bedrock.present(&Fetched::Aws(keys), &request, &mut headers).unwrap();
        let added = headers.iter().filter(|(name, _)| !before.contains_key(*name));
        added.map(|(name, value)| (name.to_string(), text(value))).collect()
    }

    /// What botocore is told. It signs all headers that it is given but `user-agent`, and so gets those that we sign.
    fn told(&self, bedrock: &dyn Provider) -> Value {
        let headers = self.headers(bedrock);
        let headers: Value = headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
        let body: String = self.body.concat().iter().map(|byte| format!("{byte:02x}")).collect();
        json!({
            "method": self.method.as_str(), "path": self.path, "body": body, "headers": headers, "now": self.now, "id": ID, "secret": SECRET,
            "token": self.token, "region": REGION,
        })
    }
}

impl Case {
    /// What botocore signed is taken for what it is, and for nothing else.
    fn is_taken(&self, bedrock: &dyn Provider, signed: &Value) {
        let mut sent = self.headers(bedrock);
        for (name, value) in signed.as_object().unwrap() {
            sent.insert(HeaderName::try_from(name).unwrap(), value.as_str().unwrap().parse().unwrap());
        }
        let authorization = sent["authorization"].to_str().unwrap();
        let signature = AwsSignature::parse(authorization).unwrap();
        assert_eq!(signature.access_key_id, ID);
        let headers =
            |name: &str| sent.get_all(name).iter().map(|value| value.to_str().unwrap()).collect::<Vec<_>>();
        let body = self.body.concat();
        let now = UNIX_EPOCH + Duration::from_secs(self.now);
        let request = || Received {
            method: self.method.as_str(),
            target: &self.path,
            headers: &headers,
            body: &body,
            now,
        };
        let check = |secret: &str, request: Received<'_>| signature.check(&Secret::new(secret), &request);
        assert_eq!(check(SECRET, request()), Ok(()), "{}", self.path);
        assert!(check("other", request()).is_err());
        assert!(check(SECRET, Received { method: "OPTIONS", ..request() }).is_err());
        assert!(check(SECRET, Received { body: b"other", ..request() }).is_err());
        let other = format!("{}x", self.path);
        assert!(check(SECRET, Received { target: &other, ..request() }).is_err());
        for name in ["host", "x-amz-date", "content-type"] {
            let without = |asked: &str| if asked == name { Vec::new() } else { headers(asked) };
            assert!(check(SECRET, Received { headers: &without, ..request() }).is_err(), "{name}");
        }
        for (seconds, taken) in [(299, true), (301, false)] {
            let late = Received { now: now + Duration::from_secs(seconds), ..request() };
            assert_eq!(check(SECRET, late).is_ok(), taken);
        }
    }
}

fn text(value: &HeaderValue) -> Value {
    value.to_str().unwrap().into()
}

fn bedrock(base_url: Option<&str>) -> Box<dyn Provider> {
    let mut row = listed()["bedrock"].clone();
    row.base_url = base_url.map_or(row.base_url, str::to_owned);
    row.variables.insert("region".to_owned(), REGION.to_owned());
    provider(row).unwrap()
}

fn cases(bedrock: &dyn Provider) -> Vec<Case> {
    let models = [
        "anthropic.claude-3-haiku-20240307-v1:0",
        "arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.anthropic.claude-v1:0",
        "a/b:c?d#e f",
        "é%2F%zz+~_-.",
        "a//b",
        "..x",
        "100%",
    ];
    let operations = [Operation::Converse, Operation::ConverseStream];
    let paths =
        models.iter().flat_map(|model| operations.map(|op| bedrock.endpoint(op, model).unwrap().to_string()));
    let mut cases: Vec<_> = paths.map(Case::of).collect();
    for path in ["/", "/x?b=2&a=1", "/x?a=%20%2F&a=b", "/x?empty=", "/a%25b/c?x=y%3Dz", "/with//two"] {
        cases.push(Case::of(path));
    }
    let large: Vec<_> = (0..1000).map(|at: u32| Bytes::from(vec![at as u8; at as usize])).collect();
    for body in [Vec::new(), vec![Bytes::new(), Bytes::from_static("é\n".as_bytes())], large] {
        cases.push(Case { body, token: Some(TOKEN), ..Case::of("/model/m/converse") });
    }
    for method in [Method::GET, Method::DELETE, Method::PUT, Method::HEAD] {
        cases.push(Case { method, body: Vec::new(), ..Case::of("/guardrails/g-1?version=2&a=%20") });
    }
    for now in [0, 951_782_399, 4_102_444_799] {
        cases.push(Case { now, ..Case::of("/model/m/converse") });
    }
    let amazon = vec![
        ("content-type", "application/json"),
        ("x-amzn-bedrock-trace", "ENABLED"),
        ("x-amz-b", "  1  2 "),
    ];
    cases.push(Case { headers: amazon, token: Some(TOKEN), ..Case::of("/model/m/converse") });
    cases
}

#[test]
fn signatures_are_those_of_botocore() {
    let Some(python) = python() else { return };
    let (usual, with_port) = (bedrock(None), bedrock(Some("https://vpce-1.example:8443")));
    for bedrock in [usual.as_ref(), with_port.as_ref()] {
        let cases = cases(bedrock);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sigv4/sign.py");
        let mut signing =
            Command::new(&python).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = signing.stdin.take().unwrap();
        let told: Vec<_> = cases.iter().map(|case| case.told(bedrock).to_string()).collect();
        let writing =
            std::thread::spawn(move || told.iter().for_each(|line| writeln!(input, "{line}").unwrap()));
        let output = signing.wait_with_output().unwrap();
        writing.join().unwrap();
        assert!(output.status.success());
        let theirs = String::from_utf8(output.stdout).unwrap();
        assert_eq!(theirs.lines().count(), cases.len());
        for (case, theirs) in cases.iter().zip(theirs.lines()) {
            let theirs: Value = serde_json::from_str(theirs).unwrap();
            assert_eq!(case.ours(bedrock), theirs, "{}", case.path);
            case.is_taken(bedrock, &theirs);
        }
    }
}

/// Python with botocore, in an environment of its own; `None` where it cannot be had and is not required.
fn python() -> Option<PathBuf> {
    match make() {
        Ok(python) => Some(python),
        Err(problem) => {
            let required = std::env::var("TRESTLE_REQUIRE_CLIENTS").is_ok_and(|value| value == "1");
            assert!(!required, "the comparison with botocore is required, but: {problem}");
            // Not `eprintln!`, which the test harness keeps to itself where a test passes.
            let _ =
                writeln!(std::io::stderr(), "SKIPPED: signatures were not compared with botocore: {problem}");
            None
        }
    }
}

fn make() -> Result<PathBuf, String> {
    let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sigv4/requirements.txt");
    let pins = fs::read_to_string(&requirements).map_err(|error| error.to_string())?;
    let wanted = format!("{}{pins}", run(Command::new("python3").arg("--version"))?);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().ok_or("no target folder")?;
    let venv = target.join("botocore-venv");
    let (python, stamp) = (venv.join("bin/python"), venv.join("made-of.txt"));
    if fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
        return Ok(python);
    }
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
    let options = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "5", "-r"];
    run(Command::new(&python).args(options).arg(requirements))?;
    fs::write(&stamp, wanted).map_err(|error| error.to_string())?;
    Ok(python)
}

/// The output of a command that ends well; else what it said.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() {
        Ok(out.into_owned())
    } else {
        Err(format!("{command:?}: {}: {err}", output.status))
    }
}
