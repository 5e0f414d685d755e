//! HTTP/1 towards providers. A connection carries one call at a time, and the call itself writes and reads: no task
//! and no channel stand between, and a connection that waits holds no buffer.

use super::{
    Head, Keep, Outgoing, chunked::Chunked, connect::Io, incoming::Broken, outgoing::Rest, proxy::Via,
};
use bytes::Bytes;
use http::{Method, Request, StatusCode, header::UPGRADE};
use smallvec::{SmallVec, smallvec};
use std::{
    cell::RefCell,
    future::poll_fn,
    io::{self, IoSlice},
    mem::MaybeUninit,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Largest head of an answer, in bytes (if it comes in parts, with what comes of the body in the last) and in headers.
const HEAD_BYTES_MAX: usize = 64 * 1024;
const HEADERS_MAX: usize = 128;
/// What one read takes at most.
const READ_BYTES: usize = HEAD_BYTES_MAX;
/// What one write offers at most.
const WRITE_SLICES: usize = 64;

thread_local! {
    // Shared by all connections of a thread: what was read is copied out at once, into pieces of just its size.
    static ROOM: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into());
}

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    /// Nothing of the request was taken: it may be sent again on another connection.
    #[error("the connection was closed before the request was written")]
    Unsent(#[source] io::Error),
    /// The connection broke.
    #[error("the connection broke")]
    Io(#[from] io::Error),
    /// It ended before the head of an answer did.
    #[error("the connection was closed before an answer came")]
    Closed,
    /// What came is not HTTP/1.
    #[error("the answer is not HTTP: {0}")]
    Malformed(&'static str),
}

/// A connection between two calls.
pub(super) struct Connection {
    io: Io,
    via: Option<Rc<Via>>,
}

/// What of a request decides how its answer is read.
#[derive(Debug, Clone, Copy)]
struct Asked {
    /// An answer to `HEAD` says what it would have, and has no body.
    head_alone: bool,
    /// The connection is to go on in another protocol.
    switches: bool,
    keep: Keep,
}

impl Asked {
    fn by(request: &Request<Outgoing>) -> Self {
        Self {
            head_alone: *request.method() == Method::HEAD,
            switches: request.headers().contains_key(UPGRADE),
            keep: request.body().keep(),
        }
    }
}

impl Connection {
    pub(super) fn new(io: Io, via: Option<Rc<Via>>) -> Self {
        Self { io, via }
    }

    /// Whether a call may begin: the other side has not closed, nor said anything that nobody asked for.
    pub(super) fn is_idle(&mut self, cx: &mut Context<'_>) -> bool {
        poll_read(&mut self.io, cx, |_| ()).is_pending()
    }

    /// Sends a request and waits for the head of its answer. An answer that comes before the request is written ends
    /// the writing.
    pub(super) async fn call(mut self, request: &Request<Outgoing>) -> Result<(Head, Body), CallError> {
        let mut upload = Upload::new(request, self.via.as_deref());
        let (mut partial, asked) = (Vec::new(), Asked::by(request));
        let mut failed = None;
        let answer = poll_fn(|cx| {
            if failed.is_none()
                && let Poll::Ready(Err(error)) = upload.poll(&mut self.io, cx)
            {
                if !upload.begun {
                    return Poll::Ready(Err(CallError::Unsent(error)));
                }
                if upload.cut {
                    return Poll::Ready(Err(error.into()));
                }
                failed = Some(error);
            }
            // Where writing failed an answer may be on its way before the end, and says more.
            let answer = ready!(poll_head(&mut self.io, &mut partial, asked, cx));
            Poll::Ready(answer.map_err(|error| failed.take().map_or(error, CallError::Io)))
        });
        let mut answer = answer.await?;
        answer.keep &= upload.is_done();
        let Answer { head, framing, first, keep } = answer;
        Ok((head, Body { io: self.io, via: self.via, framing, first, keep }))
    }
}

/// Reads what is there, up to a bound, and looks at it in place. No bytes mean the end of the connection.
fn poll_read<T>(io: &mut Io, cx: &mut Context<'_>, look: impl FnOnce(&[u8]) -> T) -> Poll<io::Result<T>> {
    ROOM.with_borrow_mut(|room| {
        let mut read = ReadBuf::new(room);
        ready!(Pin::new(io).poll_read(cx, &mut read))?;
        Poll::Ready(Ok(look(read.filled())))
    })
}

/// A request on its way out: a head (that of the request, later that of a chunk) with the pieces behind it, then more of
/// both from the rest of the body.
struct Upload {
    head: Vec<u8>,
    body: Outgoing,
    /// Bytes of head and pieces that have gone.
    sent: usize,
    /// Whether any byte has gone.
    begun: bool,
    rest: Option<Rest>,
    /// The rest broke off.
    cut: bool,
    chunked: bool,
    flushed: bool,
}

impl Upload {
    fn new(request: &Request<Outgoing>, via: Option<&Via>) -> Self {
        let mut body = request.body().clone();
        let (head, chunked) = (head_of(request, via), body.length().is_none());
        Self {
            head,
            rest: body.take_rest(),
            body,
            sent: 0,
            begun: false,
            cut: false,
            chunked,
            flushed: false,
        }
    }

    fn is_done(&self) -> bool {
        self.flushed
    }

    fn poll(&mut self, io: &mut Io, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.flushed {
            let mut skip = self.sent;
            let mut slices = SmallVec::<[IoSlice<'_>; 8]>::new();
            for part in
                std::iter::once(&self.head[..]).chain(self.body.pieces().iter().map(|piece| &piece[..]))
            {
                match part.get(skip..) {
                    Some(rest) if !rest.is_empty() && slices.len() < WRITE_SLICES => {
                        slices.push(IoSlice::new(rest));
                        skip = 0;
                    }
                    _ => skip = skip.saturating_sub(part.len()),
                }
            }
            if slices.is_empty() {
                drop(slices);
                ready!(Pin::new(&mut *io).poll_flush(cx))?;
                if self.rest.is_some() {
                    ready!(self.poll_rest(cx))?;
                    continue;
                }
                self.flushed = true;
                break;
            }
            match ready!(Pin::new(&mut *io).poll_write_vectored(cx, &slices))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => (self.sent, self.begun) = (self.sent + written, true),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Takes the next bytes of the rest.
    fn poll_rest(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(rest) = &mut self.rest else { return Poll::Ready(Ok(())) };
        let next = ready!(rest.poll_next(cx)).transpose();
        self.cut = next.is_err();
        let next = next?;
        (self.sent, self.head) = (0, Vec::new());
        if next.is_none() {
            self.rest = None;
        }
        let data = next.unwrap_or_default();
        if self.chunked && (self.rest.is_none() || !data.is_empty()) {
            // The chunk before has no end yet.
            self.head = format!("\r\n{:x}\r\n", data.len()).into();
            if self.rest.is_none() {
                self.head.extend_from_slice(b"\r\n");
            }
        }
        self.body = Outgoing::new(smallvec![data]);
        Poll::Ready(Ok(()))
    }
}

fn head_of(request: &Request<Outgoing>, via: Option<&Via>) -> Vec<u8> {
    let mut head = Vec::with_capacity(512);
    head.extend_from_slice(request.method().as_str().as_bytes());
    head.push(b' ');
    head.extend_from_slice(via.map_or("", |via| &via.target).as_bytes());
    head.extend_from_slice(request.uri().path_and_query().map_or("/", |path| path.as_str()).as_bytes());
    head.extend_from_slice(b" HTTP/1.1\r\n");
    if let Some(authorization) = via.and_then(|via| via.authorization.as_ref()) {
        head.extend_from_slice(b"proxy-authorization: ");
        head.extend_from_slice(authorization.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    for (name, value) in request.headers() {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    match request.body().length() {
        // Of the others nobody expects a body, and some stumble over being told that there is none.
        Some(0) if !matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH) => {
            head.extend_from_slice(b"\r\n");
        }
        Some(length) => {
            head.extend_from_slice(b"content-length: ");
            head.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
            head.extend_from_slice(b"\r\n\r\n");
        }
        // What is held is the first chunk, and not empty: it ends inside of a file.
        None => {
            let first = format!("transfer-encoding: chunked\r\n\r\n{:x}\r\n", request.body().held());
            head.extend_from_slice(first.as_bytes());
        }
    }
    head
}

/// The head of an answer, and the first bytes of its body.
struct Answer {
    head: Head,
    framing: Framing,
    first: Bytes,
    keep: bool,
}

/// Reads up to the end of a head. Nearly always it comes in one piece and is parsed where it lies; `partial` holds
/// the beginning of one that does not.
fn poll_head(
    io: &mut Io,
    partial: &mut Vec<u8>,
    asked: Asked,
    cx: &mut Context<'_>,
) -> Poll<Result<Answer, CallError>> {
    loop {
        let answer = ready!(poll_read(io, cx, |read| {
            if read.is_empty() {
                return Err(CallError::Closed);
            }
            if partial.is_empty() {
                let answer = parse_head(read, asked)?;
                if answer.is_none() {
                    partial.extend_from_slice(read);
                }
                return Ok(answer);
            }
            if partial.len() + read.len() > HEAD_BYTES_MAX {
                return Err(CallError::Malformed("its head is too large"));
            }
            partial.extend_from_slice(read);
            // Only a line's end can be the head's: a head that dribbles in is not parsed again for each byte.
            if read.contains(&b'\n') { parse_head(partial, asked) } else { Ok(None) }
        }))??;
        if let Some(answer) = answer {
            return Poll::Ready(Ok(answer));
        }
    }
}

/// Parses the final head in `bytes`, if it is complete; interim ones before it are passed over.
fn parse_head(mut bytes: &[u8], asked: Asked) -> Result<Option<Answer>, CallError> {
    loop {
        let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
        let mut parsed = httparse::Response::new(&mut []);
        let length = match httparse::ParserConfig::default().parse_response_with_uninit_headers(
            &mut parsed,
            bytes,
            &mut headers,
        ) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => {
                return Err(CallError::Malformed("it has too many headers"));
            }
            Err(_) => return Err(CallError::Malformed("its head cannot be read")),
        };
        let status = parsed.code.and_then(|code| StatusCode::from_u16(code).ok());
        let status = status.ok_or(CallError::Malformed("its status is none"))?;
        let switched = status == StatusCode::SWITCHING_PROTOCOLS;
        if switched && !asked.switches {
            return Err(CallError::Malformed("it switches to another protocol"));
        }
        if status.is_informational() && !switched {
            bytes = &bytes[length..];
            continue;
        }
        return answer(status, &parsed, &bytes[length..], asked).map(Some);
    }
}

/// What a head says about its body and its connection (RFC 9112, sections 6.3 and 9.3).
fn answer(
    status: StatusCode,
    parsed: &httparse::Response<'_, '_>,
    rest: &[u8],
    asked: Asked,
) -> Result<Answer, CallError> {
    let mut head = Head::new(status, asked.keep);
    let modern = parsed.version == Some(1);
    let mut keep = modern;
    let (mut length, mut coded, mut chunked) = (None, false, false);
    for header in parsed.headers.iter() {
        head.read(header.name, header.value);
        if header.name.eq_ignore_ascii_case("content-length") {
            let told = digits(header.value).ok_or(CallError::Malformed("its content-length is no number"))?;
            if length.replace(told).is_some_and(|before| before != told) {
                return Err(CallError::Malformed("it has two lengths"));
            }
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            coded = true;
            chunked = tokens(header.value).last().is_some_and(|last| last.eq_ignore_ascii_case(b"chunked"));
        } else if header.name.eq_ignore_ascii_case("connection") {
            for token in tokens(header.value) {
                keep &= !token.eq_ignore_ascii_case(b"close");
                keep |= !modern && token.eq_ignore_ascii_case(b"keep-alive");
            }
        }
    }
    let framing = match (coded, length) {
        _ if status == StatusCode::SWITCHING_PROTOCOLS => Framing::UntilClosed,
        _ if asked.head_alone || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) => {
            Framing::Ended
        }
        (true, _) if !modern => return Err(CallError::Malformed("HTTP/1.0 has no transfer-encoding")),
        (true, both) => {
            // Two ways to tell the length: whoever is between may have believed the other one.
            keep &= both.is_none();
            if chunked { Framing::Chunked(Chunked::new()) } else { Framing::UntilClosed }
        }
        (false, Some(0)) => Framing::Ended,
        (false, Some(length)) => Framing::Length(length),
        (false, None) => Framing::UntilClosed,
    };
    let mut answer = Answer { head, framing, first: Bytes::new(), keep };
    if !rest.is_empty() || matches!(answer.framing, Framing::Ended) {
        answer.first = answer
            .framing
            .take(rest, &mut answer.keep)
            .map_err(|_| CallError::Malformed("its chunks make no sense"))?;
    }
    Ok(answer)
}

fn digits(value: &[u8]) -> Option<u64> {
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(value).ok().filter(|_| digits)?.parse().ok()
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// How the end of a body is known.
#[derive(Debug)]
enum Framing {
    /// So many bytes are left.
    Length(u64),
    /// In chunks.
    Chunked(Chunked),
    /// With the connection.
    UntilClosed,
    /// It was read.
    Ended,
}

impl Framing {
    /// The data in bytes that were read. What is behind the end of the body was not asked for: the connection is not
    /// kept.
    fn take(&mut self, read: &[u8], keep: &mut bool) -> Result<Bytes, Broken> {
        let (data, used) = match self {
            Self::Ended => (Bytes::new(), 0),
            Self::UntilClosed => (Bytes::copy_from_slice(read), read.len()),
            Self::Length(left) => {
                let used = usize::try_from(*left).map_or(read.len(), |left| left.min(read.len()));
                *left -= used as u64;
                let ended = *left == 0;
                if ended {
                    *self = Self::Ended;
                }
                (Bytes::copy_from_slice(&read[..used]), used)
            }
            Self::Chunked(chunked) => {
                let mut data = Vec::with_capacity(read.len());
                let used = chunked.decode(read, &mut data).map_err(|_| Broken::Connection)?;
                if chunked.is_ended() {
                    *self = Self::Ended;
                }
                (data.into(), used)
            }
        };
        *keep &= used == read.len();
        Ok(data)
    }
}

/// The body of an answer.
pub(crate) struct Body {
    io: Io,
    via: Option<Rc<Via>>,
    framing: Framing,
    first: Bytes,
    keep: bool,
}

impl Body {
    /// Whether all of it has been handed out.
    pub(super) fn is_ended(&self) -> bool {
        matches!(self.framing, Framing::Ended) && self.first.is_empty()
    }

    /// The connection after it has switched to another protocol, and what was read of that already.
    pub(super) fn into_io(self) -> (Io, Bytes) {
        (self.io, self.first)
    }

    /// The connection, if it can carry another call.
    pub(super) fn into_connection(self) -> Option<Connection> {
        (self.keep && self.is_ended()).then_some(Connection { io: self.io, via: self.via })
    }

    /// The next data; all that one read brings, without the marks of chunks between.
    pub(super) fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        loop {
            if !self.first.is_empty() {
                return Poll::Ready(Some(Ok(std::mem::take(&mut self.first))));
            }
            if matches!(self.framing, Framing::Ended) {
                return Poll::Ready(None);
            }
            let (framing, keep) = (&mut self.framing, &mut self.keep);
            let taken = ready!(poll_read(&mut self.io, cx, |read| match framing {
                Framing::UntilClosed if read.is_empty() => {
                    (*framing, *keep) = (Framing::Ended, false);
                    Ok(Bytes::new())
                }
                _ if read.is_empty() => Err(Broken::Connection),
                _ => framing.take(read, keep),
            }));
            match taken {
                Ok(Ok(data)) => self.first = data,
                Ok(Err(broken)) => return Poll::Ready(Some(Err(broken))),
                Err(_) => return Poll::Ready(Some(Err(Broken::Connection))),
            }
        }
    }
}

#[cfg(test)]
mod tests;
