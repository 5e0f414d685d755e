//! HTTP/1 as SDKs speak it: POSTs of a known length to the inference endpoints, one after the other. This is the hot
//! path, so nothing stands between the socket and the pipeline. A connection on which anything else comes goes on with
//! hyper, from that request on; but for the one that switches to WebSocket, which hyper could only hand on across threads.

use crate::serve::{
    service::{Served, Shared, Switched},
    stream::Stream,
};
use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, Method, Response, StatusCode, response::Parts};
use http_body::Body;
use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    io::{self, IoSlice, Write},
    mem::MaybeUninit,
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll, ready},
    time::{Duration, SystemTime},
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use trestle_gateway::{Cut, Endpoint, Headers, Lines, LocalBody, RequestBody, RequestLine};

/// Header lines; a request with more is hyper's to judge.
const LINES_MAX: usize = 64;
/// What one read takes at most, and with it the largest head that is served here.
const READ_BYTES: usize = 32 * 1024;
/// Room that a body is given on the client's word alone.
const TRUSTED: u64 = 1024 * 1024;
/// What is read of a large body at once.
const PIECE: u64 = 64 * 1024;
/// A client that is still sending when it is refused has so long to read why.
const LINGER: Duration = Duration::from_secs(2);

thread_local! {
    // Shared by all connections of a thread: what was read is copied out at once, and a waiting connection holds none.
    static ROOM: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into());
}

/// A connection as both sides of an exchange see it: the loop here and the body that the pipeline reads.
struct Wire {
    stream: RefCell<Stream>,
    /// Bytes of the request's body that were not read yet.
    left: Cell<u64>,
}

/// A request.
#[derive(Debug)]
struct Post {
    line: RequestLine,
    lines: Lines,
    length: u64,
    /// What came of the body with the head, with room for the rest.
    first: BytesMut,
}

/// What the bytes at the beginning of a request are.
#[derive(Debug)]
enum Head {
    /// Not all of a head.
    Partial,
    /// A request for us; what is behind its body.
    Post(Box<Post>, Bytes),
    /// A request for a session, and what is behind it.
    Switch(Box<(RequestLine, Lines)>, Bytes),
    /// Something else.
    Other,
}

/// Serves requests until the connection ends, or until something comes that is hyper's: then the stream comes back, as
/// if nothing of that had been read.
pub(super) async fn serve(stream: Stream, shared: &Rc<Shared>) -> Option<Stream> {
    let wire = Rc::new(Wire { stream: RefCell::new(stream), left: Cell::new(0) });
    loop {
        match wire.read_head().await.ok()? {
            Head::Post(post, behind) => {
                wire.stream.borrow_mut().unread(&behind);
                if !exchange(&wire, shared, *post).await.ok()? {
                    let refused = wire.left.get() > 0;
                    return wire.close(refused).await;
                }
            }
            Head::Switch(request, behind) => {
                wire.stream.borrow_mut().unread(&behind);
                if let Some((head, session)) = open(&wire, shared, *request).await.ok()? {
                    let mut stream = Rc::into_inner(wire)?.stream.into_inner();
                    stream.write_all(&head).await.ok()?;
                    session.run(stream).await;
                    return None;
                }
                if shared.is_told() {
                    return wire.close(false).await;
                }
            }
            Head::Other => return Rc::into_inner(wire).map(|wire| wire.stream.into_inner()),
            Head::Partial => return None,
        }
    }
}

/// One request and its answer; true if the connection can carry another.
async fn exchange(wire: &Rc<Wire>, shared: &Rc<Shared>, post: Post) -> io::Result<bool> {
    let Post { line, lines, length, first } = post;
    wire.left.set(length - first.len() as u64);
    let body = match wire.left.get() {
        0 => RequestBody::Bytes(first.freeze()),
        _ => RequestBody::Local(Box::new(Rest { wire: Rc::clone(wire), first: first.freeze() })),
    };
    let answering = pin!(shared.serve_post(line, (Headers::Lines(lines), body)));
    let answer = unless_left(wire, answering).await?;
    let keep = wire.left.get() == 0 && !shared.is_told();
    respond(wire, answer, keep).await
}

/// Waits for an answer as long as the client does.
async fn unless_left<T>(wire: &Wire, mut answering: Pin<&mut impl Future<Output = T>>) -> io::Result<T> {
    poll_fn(|cx| match answering.as_mut().poll(cx) {
        Poll::Ready(answer) => Poll::Ready(Ok(answer)),
        Poll::Pending => wire.poll_left(cx).map(Err),
    })
    .await
}

/// Writes an answer; true if the connection can carry another.
async fn respond(wire: &Wire, answer: Response<Served>, keep: bool) -> io::Result<bool> {
    let (head, body) = answer.into_parts();
    let mut out = Output::new(&head, body.size_hint().exact(), keep);
    let mut body = pin!(body);
    poll_fn(|cx| out.poll(wire, body.as_mut(), cx)).await?;
    Ok(keep)
}

/// Opens a session, and the head that switches the connection to it; `None` if it was refused.
async fn open(
    wire: &Wire,
    shared: &Shared,
    (line, lines): (RequestLine, Lines),
) -> io::Result<Option<(Vec<u8>, Switched)>> {
    let opening = pin!(shared.serve_session(line, Headers::Lines(lines)));
    let (headers, session) = match unless_left(wire, opening).await? {
        Ok(opened) => opened,
        Err(refused) => {
            respond(wire, *refused, !shared.is_told()).await?;
            return Ok(None);
        }
    };
    let mut head = b"HTTP/1.1 101 Switching Protocols\r\n".to_vec();
    write_headers(&headers, &mut head);
    head.extend_from_slice(b"\r\n");
    Ok(Some((head, session)))
}

impl Wire {
    /// Reads what is there, up to a bound, and looks at it in place. No bytes mean that the client has closed.
    fn poll_read<T>(&self, cx: &mut Context<'_>, look: impl FnOnce(&[u8]) -> T) -> Poll<io::Result<T>> {
        ROOM.with_borrow_mut(|room| {
            let mut read = ReadBuf::new(room);
            ready!(Pin::new(&mut *self.stream.borrow_mut()).poll_read(cx, &mut read))?;
            Poll::Ready(Ok(look(read.filled())))
        })
    }

    /// Reads a head, which nearly always comes in one piece. `Partial` if the client closed before its end.
    async fn read_head(&self) -> io::Result<Head> {
        let mut partial = Vec::new();
        let look = |read: &[u8], partial: &mut Vec<u8>| {
            if read.is_empty() {
                return Some(Head::Partial);
            }
            let fresh = partial.is_empty();
            let head = if fresh {
                parse(read)
            } else {
                partial.extend_from_slice(read);
                // Only a line's end can be the head's: one that dribbles in is not parsed again for each byte.
                if read.contains(&b'\n') { parse(partial) } else { Head::Partial }
            };
            if let Head::Post(..) | Head::Switch(..) = head {
                return Some(head);
            }
            if fresh {
                partial.extend_from_slice(read);
            }
            // A head that is too large is hyper's to refuse.
            (matches!(head, Head::Other) || partial.len() >= READ_BYTES).then_some(Head::Other)
        };
        let head = poll_fn(|cx| {
            loop {
                if let Some(head) = ready!(self.poll_read(cx, |read| look(read, &mut partial)))? {
                    return Poll::Ready(io::Result::Ok(head));
                }
            }
        });
        let head = head.await?;
        if let Head::Other = head {
            self.stream.borrow_mut().unread(&partial);
        }
        Ok(head)
    }

    /// Ready when the client has gone while it waits for its answer. A request that it sends ahead is kept for later,
    /// and ends the watch.
    fn poll_left(&self, cx: &mut Context<'_>) -> Poll<io::Error> {
        if self.left.get() > 0 || self.stream.borrow().has_unread() {
            return Poll::Pending;
        }
        let ahead = match ready!(self.poll_read(cx, Bytes::copy_from_slice)) {
            Ok(ahead) if ahead.is_empty() => return Poll::Ready(io::ErrorKind::UnexpectedEof.into()),
            Ok(ahead) => ahead,
            Err(error) => return Poll::Ready(error),
        };
        self.stream.borrow_mut().unread(&ahead);
        Poll::Pending
    }

    /// Says goodbye. A client that was refused while it was sending would lose the answer if its bytes met a closed
    /// socket.
    async fn close<T>(&self, refused: bool) -> Option<T> {
        poll_fn(|cx| Pin::new(&mut *self.stream.borrow_mut()).poll_shutdown(cx)).await.ok()?;
        if refused {
            let drain = async {
                while poll_fn(|cx| self.poll_read(cx, |read| !read.is_empty())).await.is_ok_and(|more| more) {
                }
            };
            let _ = tokio::time::timeout(LINGER, drain).await;
        }
        None
    }
}

/// Whether `bytes` begin with a request that is served here: all that is unusual is not.
fn parse(bytes: &[u8]) -> Head {
    let mut lines = [const { MaybeUninit::uninit() }; LINES_MAX];
    let mut request = httparse::Request::new(&mut []);
    let parsed =
        httparse::ParserConfig::default().parse_request_with_uninit_headers(&mut request, bytes, &mut lines);
    let end = match parsed {
        Ok(httparse::Status::Complete(end)) => end,
        Ok(httparse::Status::Partial) => return Head::Partial,
        Err(_) => return Head::Other,
    };
    let path = request.path.unwrap_or_default();
    if request.method == Some("GET") && is_switch(request.headers) {
        return switch(path, &request, (bytes, end)).unwrap_or(Head::Other);
    }
    let line = match RequestLine::find(&Method::POST, path) {
        Some(Ok(line)) if request.method == Some("POST") && request.version == Some(1) => line,
        _ => return Head::Other,
    };
    let Some(length) = plain_length(request.headers) else { return Head::Other };
    let lines = request.headers.iter().map(|header| (header.name, header.value));
    let Some(lines) = Lines::new(&bytes[..end], lines) else { return Head::Other };
    let rest = &bytes[end..];
    let (first, behind) = rest.split_at(usize::try_from(length).map_or(rest.len(), |n| n.min(rest.len())));
    let mut body = BytesMut::with_capacity(length.min(TRUSTED) as usize);
    body.extend_from_slice(first);
    Head::Post(Box::new(Post { line, lines, length, first: body }), Bytes::copy_from_slice(behind))
}

/// Whether a request would have its connection switched to WebSocket, and has no body.
fn is_switch(headers: &[httparse::Header<'_>]) -> bool {
    let has = |name: &str| headers.iter().any(|header| header.name.eq_ignore_ascii_case(name));
    has("upgrade") && has("sec-websocket-key") && !has("content-length") && !has("transfer-encoding")
}

/// A request for a session, if the path is that of one.
fn switch(path: &str, request: &httparse::Request<'_, '_>, (bytes, end): (&[u8], usize)) -> Option<Head> {
    let found = RequestLine::find(&Method::GET, path)?.ok();
    let line = found.filter(|line| line.endpoint == Endpoint::Realtime && request.version == Some(1))?;
    let lines = request.headers.iter().map(|header| (header.name, header.value));
    let lines = Lines::new(&bytes[..end], lines)?;
    Some(Head::Switch(Box::new((line, lines)), Bytes::copy_from_slice(&bytes[end..])))
}

/// The length of the body, if it is told once, in digits, and nothing else is said about it or the connection.
fn plain_length(headers: &[httparse::Header<'_>]) -> Option<u64> {
    let mut length = None;
    for header in headers {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        match header.name.len() {
            6 if is("expect") => return None,
            7 if is("upgrade") => return None,
            10 if is("connection") && !header.value.eq_ignore_ascii_case(b"keep-alive") => return None,
            17 if is("transfer-encoding") => return None,
            14 if is("content-length") => {
                if length.is_some() || !header.value.iter().all(u8::is_ascii_digit) {
                    return None;
                }
                length = Some(std::str::from_utf8(header.value).ok()?.parse().ok()?);
            }
            _ => {}
        }
    }
    length
}

/// A body that did not come whole with its head.
struct Rest {
    wire: Rc<Wire>,
    first: Bytes,
}

impl LocalBody for Rest {
    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let left = self.wire.left.get();
        if !self.first.is_empty() {
            return Poll::Ready(Some(Ok(std::mem::take(&mut self.first))));
        }
        if left == 0 {
            return Poll::Ready(None);
        }
        let length = left.min(PIECE) as usize;
        let mut piece = BytesMut::with_capacity(length).limit(length);
        let read = {
            let mut stream = self.wire.stream.borrow_mut();
            ready!(pin!(stream.read_buf(&mut piece)).poll(cx))
        };
        Poll::Ready(Some(match read {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                self.wire.left.set(left - read as u64);
                Ok(piece.into_inner().freeze())
            }
            Err(error) => Err(error),
        }))
    }

    fn is_end(&self) -> bool {
        self.first.is_empty() && self.wire.left.get() == 0
    }
}

/// An answer on its way out: text (the head, the size of a chunk), data, and what follows the data.
struct Output {
    text: Vec<u8>,
    data: Bytes,
    tail: &'static [u8],
    sent: usize,
    chunked: bool,
    ended: bool,
}

impl Output {
    fn new(head: &Parts, length: Option<u64>, keep: bool) -> Self {
        let bodiless = matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        let mut text = Vec::with_capacity(512);
        text.extend_from_slice(b"HTTP/1.1 ");
        text.extend_from_slice(head.status.as_str().as_bytes());
        text.push(b' ');
        text.extend_from_slice(head.status.canonical_reason().unwrap_or_default().as_bytes());
        text.extend_from_slice(b"\r\n");
        write_headers(&head.headers, &mut text);
        // Writing to a vector cannot fail.
        let _ = match length {
            // These have no body, and must not speak of one.
            _ if bodiless => Ok(()),
            Some(length) => write!(text, "content-length: {length}\r\n"),
            None => write!(text, "transfer-encoding: chunked\r\n"),
        };
        text.extend_from_slice(b"date: ");
        DATE.with_borrow_mut(|date| text.extend_from_slice(date.now()));
        text.extend_from_slice(if keep { b"\r\n\r\n" } else { b"\r\nconnection: close\r\n\r\n" });
        let (chunked, ended) = (length.is_none() && !bodiless, length == Some(0) || bodiless);
        Self { text, data: Bytes::new(), tail: b"", sent: 0, chunked, ended }
    }

    fn queue(&mut self, data: Bytes, last: bool) {
        self.ended = last;
        if self.chunked {
            if !data.is_empty() {
                let _ = write!(self.text, "{:x}\r\n", data.len());
            }
            self.tail = match (data.is_empty(), last) {
                (false, false) => b"\r\n",
                (false, true) => b"\r\n0\r\n\r\n",
                (true, true) => b"0\r\n\r\n",
                (true, false) => b"",
            };
        }
        self.data = data;
    }

    /// Writes the head with what is there of the body, then the rest as it comes; an end that the body does not reach
    /// is an error, so that the connection is cut.
    fn poll(
        &mut self,
        wire: &Wire,
        mut body: Pin<&mut Served>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            if self.data.is_empty() && self.tail.is_empty() && self.sent == 0 && !self.ended {
                match body.as_mut().poll_frame(cx) {
                    Poll::Ready(Some(Ok(frame))) => {
                        let last = body.is_end_stream();
                        self.queue(frame.into_data().unwrap_or_default(), last);
                    }
                    Poll::Ready(Some(Err(Cut))) => return Poll::Ready(Err(io::Error::other(Cut))),
                    Poll::Ready(None) => self.queue(Bytes::new(), true),
                    Poll::Pending if self.text.is_empty() => {
                        let _ = Pin::new(&mut *wire.stream.borrow_mut()).poll_flush(cx)?;
                        return wire.poll_left(cx).map(Err);
                    }
                    Poll::Pending => {}
                }
            }
            let mut stream = wire.stream.borrow_mut();
            let mut skip = self.sent;
            let rest = [&self.text[..], &self.data[..], self.tail].map(|part| {
                let rest = part.get(skip..).unwrap_or_default();
                skip = skip.saturating_sub(part.len());
                IoSlice::new(rest)
            });
            if rest.iter().all(|part| part.is_empty()) {
                (self.data, self.tail, self.sent) = (Bytes::new(), b"", 0);
                self.text.clear();
                if self.ended {
                    return Pin::new(&mut *stream).poll_flush(cx);
                }
                continue;
            }
            match ready!(Pin::new(&mut *stream).poll_write_vectored(cx, &rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.sent += written,
            }
        }
    }
}

fn write_headers(headers: &HeaderMap, text: &mut Vec<u8>) {
    for (name, value) in headers {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
}

thread_local! {
    static DATE: RefCell<Date> = const { RefCell::new(Date { second: 0, text: Vec::new() }) };
}

/// The `date` header, written anew each second.
struct Date {
    second: u64,
    text: Vec<u8>,
}

impl Date {
    fn now(&mut self) -> &[u8] {
        let now = SystemTime::now();
        let second = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if second != self.second || self.text.is_empty() {
            self.second = second;
            self.text = httpdate::fmt_http_date(now).into_bytes();
        }
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::{Head, parse};

    fn usual(lines: &str) -> String {
        format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n{lines}\r\nhello, world"
        )
    }

    #[test]
    fn what_sdks_send_is_served_here() {
        let request = usual("Content-Length: 5\r\n");
        let Head::Post(post, behind) = parse(request.as_bytes()) else { panic!("not served") };
        assert_eq!((post.length, &post.first[..], &behind[..]), (5, &b"hello"[..], &b", world"[..]));
        let Head::Post(post, behind) = parse(usual("content-length: 99\r\n").as_bytes()) else {
            panic!("not served")
        };
        assert_eq!((post.length, &post.first[..], &behind[..]), (99, &b"hello, world"[..], &b""[..]));
        assert!(post.first.capacity() >= 99, "the rest would be copied");
        for end in 0..request.find("\r\n\r\n").unwrap() + 4 {
            assert!(matches!(parse(&request.as_bytes()[..end]), Head::Partial), "{end} bytes");
        }
    }

    #[test]
    fn answers_without_a_body_do_not_speak_of_one() {
        for (status, length, expected) in [
            (204, None, ""),
            (304, Some(0), ""),
            (200, Some(0), "content-length: 0\r\n"),
            (200, None, "transfer-encoding: chunked\r\n"),
        ] {
            let (head, ()) = http::Response::builder().status(status).body(()).unwrap().into_parts();
            let out = super::Output::new(&head, length, true);
            let text = String::from_utf8(out.text).unwrap();
            let behind = text.split_once("\r\n").unwrap().1;
            assert!(behind.starts_with(&format!("{expected}date: ")), "{text}");
            assert_eq!(
                (out.ended, out.chunked),
                (!expected.starts_with("transfer"), expected.starts_with("transfer"))
            );
        }
    }

    #[test]
    fn all_that_is_unusual_is_left_to_hyper() {
        for lines in [
            "",
            "content-length: 5\r\ncontent-length: 5\r\n",
            "content-length: +5\r\n",
            "content-length: 5, 5\r\n",
            "content-length:\r\n",
            "content-length: 99999999999999999999\r\n",
            "transfer-encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\ncontent-length: 5\r\n",
            "content-length: 5\r\nexpect: 100-continue\r\n",
            "content-length: 5\r\nconnection: close\r\n",
            "content-length: 5\r\nupgrade: h2c\r\n",
            "content-length : 5\r\n",
            "content-length: 5\r\n folded: yes\r\n",
        ] {
            assert!(matches!(parse(usual(lines).as_bytes()), Head::Other), "{lines:?}");
        }
        let good = usual("content-length: 5\r\n");
        assert!(matches!(parse(good.as_bytes()), Head::Post(..)));
        for (from, to) in [
            ("POST", "GET"),
            ("POST", "post"),
            ("HTTP/1.1", "HTTP/1.0"),
            ("/v1/chat/completions", "/v1/models"),
            ("/v1/chat/completions", "/metrics"),
            ("/v1/chat/completions", "http://a/v1/chat/completions"),
        ] {
            assert!(matches!(parse(good.replacen(from, to, 1).as_bytes()), Head::Other), "{from} to {to}");
        }
        let session = |path: &str, lines: &str| {
            format!("GET {path} HTTP/1.1\r\nupgrade: websocket\r\nsec-websocket-key: k\r\n{lines}\r\n\x01")
        };
        let head = parse(session("/v1/realtime?model=m", "").as_bytes());
        assert!(matches!(head, Head::Switch(_, behind) if behind == b"\x01"[..]));
        for (path, lines) in [
            ("/v1/models", ""),
            ("/other", ""),
            ("/v1/realtime", "content-length: 1\r\n"),
            ("/v1/realtime", "transfer-encoding: chunked\r\n"),
        ] {
            assert!(matches!(parse(session(path, lines).as_bytes()), Head::Other), "{path} {lines}");
        }
        let many = usual(&("a: b\r\n".repeat(super::LINES_MAX) + "content-length: 5\r\n"));
        assert!(matches!(parse(many.as_bytes()), Head::Other));
    }
}
