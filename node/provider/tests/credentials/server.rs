//! A small HTTP server inside of a test: answers by a function, and remembers what it was asked.

#![allow(dead_code, reason = "each test uses its part")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// With its query.
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// A member of a form.
    pub(crate) fn member(&self, name: &str) -> String {
        let pair = self.body.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        percent_encoding::percent_decode_str(pair.unwrap_or_default()).decode_utf8().unwrap().into_owned()
    }
}

/// An answer: status, a header, body.
pub(crate) struct Answer(pub(crate) u16, pub(crate) &'static str, pub(crate) String);

impl Answer {
    pub(crate) fn ok(body: impl Into<String>) -> Self {
        Self(200, "x-none: 1", body.into())
    }

    pub(crate) fn failed(status: u16) -> Self {
        Self(status, "x-none: 1", "{}".to_owned())
    }
}

/// The server; it ends with the test's process.
pub(crate) struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    most_at_once: Arc<AtomicUsize>,
}

impl Server {
    /// Answers with a function of the request and of how many came before it.
    pub(crate) fn start(answer: impl Fn(&Asked, usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, most_at_once) = (Arc::default(), Arc::default());
        let server = Self { address, asked: Arc::clone(&asked), most_at_once: Arc::clone(&most_at_once) };
        let (answer, now) = (Arc::new(answer), Arc::new(AtomicUsize::new(0)));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (asked, answer) = (Arc::clone(&asked), Arc::clone(&answer));
                let (now, most) = (Arc::clone(&now), Arc::clone(&most_at_once));
                thread::spawn(move || {
                    most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                    serve(stream, &asked, answer.as_ref());
                    now.fetch_sub(1, SeqCst);
                });
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The most requests that were there at once.
    pub(crate) fn most_at_once(&self) -> usize {
        self.most_at_once.load(SeqCst)
    }
}

fn serve(stream: TcpStream, asked: &Mutex<Vec<Asked>>, answer: &dyn Fn(&Asked, usize) -> Answer) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap().to_owned(), words.next().unwrap().to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    let one = Asked { method, path, headers, body: String::from_utf8(body).unwrap() };
    let before = {
        let mut all = asked.lock().unwrap();
        all.push(one.clone());
        all.len() - 1
    };
    let Answer(status, header, body) = answer(&one, before);
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status} X\r\n{header}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    let _ = reader.get_mut().write_all(format!("{head}{body}").as_bytes());
}
