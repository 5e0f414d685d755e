//! A node in a process of its own, and a plain HTTP/1.1 client.

use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// The key that documents of tests know by the variable `TRESTLE_TEST_KEY`.
pub(crate) const KEY: &str = "sk-trestle-of-the-process-tests";

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Looks again and again until there is something to see.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < end, "not seen in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// `trestle` with these arguments and nothing of this process's environment.
pub(crate) fn trestle(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trestle"));
    command.env_clear().args(arguments);
    command
}

/// Makes of a source in C, seen from this package, a library that is loaded before others: a disk with faults.
pub(crate) fn faulty_disk(source: &str, folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let library = folder.join(source.file_name().unwrap()).with_extension("so");
    let made = Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(made.expect("cannot start cc").success(), "{} cannot be compiled", source.display());
    library
}

/// A document with a caller, and the built-in mock with these settings, such as `gap_ms: 20`.
pub(crate) fn document(mock: &str) -> String {
    format!(
        "providers:\n  mock: {{ mock: {{ {mock} }} }}\nkeys:\n  tests: {{ value: env:TRESTLE_TEST_KEY }}\n"
    )
}

/// What to start.
pub(crate) struct Start {
    command: Command,
    folder: TempDir,
}

impl Start {
    /// `trestle serve` on a free port with this document.
    pub(crate) fn serve(document: &str) -> Self {
        Self::bare("serve")
            .file("gateway.yaml", document)
            .arguments(&["--document", "gateway.yaml"])
            .variable("TRESTLE_TEST_KEY", KEY)
    }

    /// A command that listens, on a free port.
    pub(crate) fn bare(command: &str) -> Self {
        Self::bare_at(command, SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    /// A command that listens at this address.
    pub(crate) fn bare_at(command: &str, address: SocketAddr) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = trestle(&[command, "--listen", &address.to_string()]);
        command.current_dir(folder.path());
        Self { command, folder }
    }

    /// The same in a folder that outlives the node.
    pub(crate) fn within(mut self, folder: &Path) -> Self {
        self.command.arg("--data-dir").arg(folder);
        self
    }

    /// A file in the folder where it will run.
    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        fs::write(self.folder.path().join(name), text).unwrap();
        self
    }

    pub(crate) fn arguments(mut self, arguments: &[&str]) -> Self {
        self.command.args(arguments);
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts, and returns once it listens.
    pub(crate) fn start(self) -> Node {
        self.try_start().unwrap_or_else(|log| panic!("the node ended before it listened:\n{log}"))
    }

    /// Starts, and waits for nothing.
    pub(crate) fn spawn(mut self) -> Node {
        let mut child = self.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        collect(child.stdout.take().unwrap(), &lines);
        collect(child.stderr.take().unwrap(), &lines);
        Node { child, lines, folder: self.folder, address: SocketAddr::from(([0, 0, 0, 0], 0)) }
    }

    /// Starts; what it printed if it ended before it listened.
    pub(crate) fn try_start(self) -> Result<Node, String> {
        let mut node = self.spawn();
        let address = eventually("the line that says where it listens", || {
            if node.has_ended().is_some() {
                return Some(None);
            }
            node.listening().map(Some)
        });
        let Some(address) = address else {
            // The last lines are still on their way.
            eventually("its last words", || node.log().contains("error: ").then_some(()));
            return Err(node.log());
        };
        node.address = address;
        Ok(node)
    }
}

fn collect(output: impl Read + Send + 'static, lines: &Arc<Mutex<Vec<String>>>) {
    let lines = Arc::clone(lines);
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            lines.lock().unwrap().push(line);
        }
    });
}

/// A running node; it is killed with its handle.
pub(crate) struct Node {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
    folder: TempDir,
    /// Where clients connect.
    pub(crate) address: SocketAddr,
}

impl Node {
    /// Where it runs; the document is `gateway.yaml` there.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file beside, then renames it over: as careful editors do.
    pub(crate) fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder().join(name);
        let beside = self.folder().join(format!("{name}.new"));
        fs::write(&beside, text).unwrap();
        fs::rename(&beside, &path).unwrap();
        path
    }

    /// All that it has printed.
    pub(crate) fn log(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }

    /// Waits until it has printed something.
    pub(crate) fn printed(&self, text: &str) {
        eventually(&format!("`{text}` in the output"), || self.log().contains(text).then_some(()));
    }

    /// Where it listens for clients, once it does.
    pub(crate) fn listening(&self) -> Option<SocketAddr> {
        // Of JSON or of text; the line of the admin listener has another word before.
        let address = self.address_after("\"listening on http");
        address.or_else(|| self.address_after("INFO listening on http"))
    }

    /// The address that follows a piece of text and `://`.
    pub(crate) fn address_after(&self, text: &str) -> Option<SocketAddr> {
        let log = self.log();
        let rest = &log[log.find(text)? + text.len()..];
        let rest = rest.trim_start_matches('s').strip_prefix("://")?;
        rest.split(['"', ' ', '\n']).next()?.parse().ok()
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent =
            Command::new("sh").args(["-c", &format!("kill -{name} {}", self.child.id())]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end of the process.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        eventually("the end of the process", || self.has_ended())
    }

    /// How the process has ended, if it has.
    pub(crate) fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        connect(self.address)
    }

    /// `GET` on a connection of its own.
    pub(crate) fn get(&self, path: &str) -> Reply {
        get(self.address, path)
    }

    /// A chat request with a key on a connection of its own.
    pub(crate) fn chat(&self, key: &str, model: &str) -> Reply {
        exchange(&mut self.connect(), &chat(key, model, ""))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the node printed:\n{}", self.log());
        }
    }
}

/// A connection that gives up reading in the end.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Reply {
    exchange(&mut connect(address), &format!("GET {path} HTTP/1.1\r\nhost: test\r\n\r\n"))
}

/// A chat request as it goes over the wire; `members` are more members of the body, such as `,"stream":true`.
pub(crate) fn chat(key: &str, model: &str, members: &str) -> String {
    let body =
        format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"Hello, bridge"}}]{members}}}"#);
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Sends a request and reads its answer; the connection may be used again.
pub(crate) fn exchange(stream: &mut (impl Read + Write), request: &str) -> Reply {
    stream.write_all(request.as_bytes()).unwrap();
    reply(stream).unwrap()
}

/// Reads an answer with a length or in chunks.
pub(crate) fn reply(stream: &mut impl Read) -> io::Result<Reply> {
    let head = read_head(stream)?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body)?;
    while head.contains("transfer-encoding: chunked") {
        let size = read_until(stream, "\r\n")?;
        let mut chunk = vec![0; usize::from_str_radix(size.trim(), 16).unwrap() + 2];
        stream.read_exact(&mut chunk)?;
        if chunk.len() == 2 {
            break;
        }
        body.extend_from_slice(&chunk[..chunk.len() - 2]);
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Ok(Reply { status, head, body: String::from_utf8_lossy(&body).into_owned() })
}

/// Reads a head up to its empty line, in lower case.
pub(crate) fn read_head(stream: &mut impl Read) -> io::Result<String> {
    Ok(read_until(stream, "\r\n\r\n")?.to_lowercase())
}

fn read_until(stream: &mut impl Read, end: &str) -> io::Result<String> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(end.as_bytes()) {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        bytes.extend_from_slice(&byte);
    }
    Ok(String::from_utf8(bytes).unwrap())
}

/// Reads until the other side closes; a reset is an end, too.
pub(crate) fn read_to_end(stream: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => bytes.extend_from_slice(&chunk[..length]),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
            Err(error) => panic!("the connection is not closed: {error}"),
        }
    }
    String::from_utf8(bytes).unwrap()
}
