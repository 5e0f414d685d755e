//! Forms, and bodies of clients that come when the test says so.

use crate::support::{Bed, Whole, whole};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use std::{
    io,
    task::{Context, Poll},
};
use tokio::{sync::mpsc, task::JoinHandle};
use trestle_gateway::{LocalBody, RequestBody, RequestLine};

pub(crate) const TYPE: &str = "multipart/form-data; boundary=\"a b\"";

/// A part of a form: its name, the name of a file, its content.
pub(crate) type Part<'a> = (&'a str, Option<&'a str>, &'a [u8]);

/// A form, with its boundary behind `TYPE`.
pub(crate) fn form(parts: &[Part<'_>]) -> Vec<u8> {
    let mut out = open_form(parts);
    out.extend_from_slice(b"--a b--\r\n");
    out
}

/// The same without its end.
pub(crate) fn open_form(parts: &[Part<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, file, content) in parts {
        out.extend_from_slice(format!("--a b\r\nContent-Disposition: form-data; name=\"{name}\"").as_bytes());
        if let Some(file) = file {
            let media_type = if file.ends_with("png") { "image/png" } else { "audio/wav" };
            out.extend_from_slice(format!("; filename=\"{file}\"\r\nContent-Type: {media_type}").as_bytes());
        }
        out.extend_from_slice(b"\r\n\r\n");
        out.extend_from_slice(content);
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// A picture of such a size, as far as a vendor looks.
pub(crate) fn png(bytes: usize) -> Vec<u8> {
    let noise = (0u32..).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8);
    b"\x89PNG\r\n\x1a\n".iter().copied().chain(noise).take(bytes).collect()
}

pub(crate) fn line(path: &str) -> RequestLine {
    RequestLine::find(&Method::POST, path).unwrap().unwrap()
}

/// Sends a form that is there.
pub(crate) async fn post(bed: &Bed, path: &str, body: Vec<u8>) -> Whole {
    post_with(bed, path, &[], body).await
}

pub(crate) async fn post_with(
    bed: &Bed,
    path: &str,
    headers: &[(&'static str, &str)],
    body: Vec<u8>,
) -> Whole {
    let mut map = head(Some(body.len()));
    for (name, value) in headers {
        map.insert(*name, value.parse().unwrap());
    }
    whole(bed.client.send(line(path), map, body.into()).await.unwrap()).await
}

fn head(length: Option<usize>) -> HeaderMap {
    let mut map = HeaderMap::new();
    map.insert("content-type", HeaderValue::from_static(TYPE));
    if let Some(length) = length {
        map.insert("content-length", HeaderValue::from(length));
    }
    map
}

/// A client that is still sending.
pub(crate) struct Sending {
    chunks: mpsc::Sender<io::Result<Bytes>>,
    pub(crate) answer: JoinHandle<Whole>,
}

impl Sending {
    /// Begins to send a form; `length` is announced, if it is there.
    pub(crate) fn begin(bed: &Bed, path: &str, length: Option<usize>) -> Self {
        let (chunks, receiver) = mpsc::channel(1);
        let (client, line, left) = (bed.client.clone(), line(path), length.map(|length| length as u64));
        let answer = tokio::spawn(async move {
            let body = Feed { chunks: receiver, left };
            whole(client.upload(line, head(length), body).await.unwrap()).await
        });
        Self { chunks, answer }
    }

    /// Sends more; false if nobody takes it any more.
    pub(crate) async fn send(&self, bytes: &[u8]) -> bool {
        for piece in bytes.chunks(60_000) {
            if self.chunks.send(Ok(Bytes::copy_from_slice(piece))).await.is_err() {
                return false;
            }
        }
        true
    }

    /// The connection breaks.
    pub(crate) async fn cut(&self) {
        let _ = self.chunks.send(Err(io::ErrorKind::ConnectionReset.into())).await;
    }

    /// Sends nothing more.
    pub(crate) async fn end(self) -> Whole {
        drop(self.chunks);
        self.answer.await.unwrap()
    }
}

struct Feed {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    left: Option<u64>,
}

impl From<Feed> for RequestBody {
    fn from(feed: Feed) -> Self {
        Self::Local(Box::new(feed))
    }
}

impl LocalBody for Feed {
    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let next = std::task::ready!(self.chunks.poll_recv(cx));
        if let (Some(left), Some(Ok(bytes))) = (&mut self.left, &next) {
            *left = left.checked_sub(bytes.len() as u64).unwrap_or(u64::MAX);
        }
        Poll::Ready(next)
    }

    fn is_end(&self) -> bool {
        self.left == Some(0)
    }
}
