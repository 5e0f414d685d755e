//! The bytes of a connection: plain or TLS, noted in its vitals, small writes joined.

use crate::serve::vitals::Vitals;
use bytes::{Buf, BytesMut};
use std::{
    cell::RefCell,
    io::{self, IoSlice},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::server::TlsStream;

/// What a client that knows HTTP/2 sends first.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Writes up to this size are copied together and sent by `write`: for a few small pieces `writev` costs more than
/// the copy. hyper is left in its mode for vectored writes, because the other one copies whole bodies of any size into
/// a buffer that stays as large as the largest for the life of the connection.
const JOINED_MAX: usize = 4096;

/// What the bytes run over.
#[derive(Debug)]
pub(super) enum Transport {
    /// As they are.
    Plain(TcpStream),
    /// Within TLS.
    Tls(Box<TlsStream<TcpStream>>),
}

/// The bytes of a connection.
#[derive(Debug)]
pub(super) struct Stream {
    transport: Transport,
    vitals: Rc<Vitals>,
    /// Read before it was known for whom, and not yet given on.
    ahead: BytesMut,
}

/// What the client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    Http1,
    Http2,
}

impl Stream {
    pub(super) fn new(transport: Transport, vitals: Rc<Vitals>) -> Self {
        Self { transport, vitals, ahead: BytesMut::new() }
    }

    /// What the client speaks: as negotiated, or by its first bytes.
    pub(super) async fn version(&mut self) -> io::Result<Version> {
        if let Transport::Tls(tls) = &self.transport
            && let Some(protocol) = tls.get_ref().1.alpn_protocol()
        {
            return Ok(if protocol == b"h2" { Version::Http2 } else { Version::Http1 });
        }
        while PREFACE.starts_with(&self.ahead) {
            if self.ahead.len() == PREFACE.len() {
                return Ok(Version::Http2);
            }
            let missing = PREFACE.len() - self.ahead.len();
            let mut chunk = [0; PREFACE.len()];
            let read = match &mut self.transport {
                Transport::Plain(stream) => stream.read(&mut chunk[..missing]).await?,
                Transport::Tls(stream) => stream.read(&mut chunk[..missing]).await?,
            };
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.ahead.extend_from_slice(&chunk[..read]);
        }
        Ok(Version::Http1)
    }

    /// Gives bytes back that were read, to be read again before all others.
    pub(super) fn unread(&mut self, bytes: &[u8]) {
        if self.ahead.is_empty() {
            self.ahead.extend_from_slice(bytes);
        } else {
            self.ahead = [bytes, &self.ahead].concat()[..].into();
        }
    }

    /// Whether bytes wait that were given back.
    pub(super) fn has_unread(&self) -> bool {
        !self.ahead.is_empty()
    }

    fn noted(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(_) => self.vitals.on_written(),
            Poll::Pending => self.vitals.on_stuck(),
        }
        written
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.ahead.is_empty() {
            let length = self.ahead.len().min(buffer.remaining());
            buffer.put_slice(&self.ahead[..length]);
            self.ahead.advance(length);
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(match &mut self.transport {
            Transport::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Transport::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        })?;
        if buffer.filled().len() > before {
            self.vitals.on_read();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = match &mut self.transport {
            Transport::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Transport::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        };
        self.noted(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = match &mut self.transport {
            Transport::Plain(stream) if !is_joined(pieces) => {
                Pin::new(stream).poll_write_vectored(context, pieces)
            }
            Transport::Plain(stream) => JOINED.with_borrow_mut(|joined| {
                join(pieces, joined);
                Pin::new(stream).poll_write(context, joined)
            }),
            // Copied together by TLS anyway.
            Transport::Tls(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
        };
        self.noted(written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = match &mut self.transport {
            Transport::Plain(stream) => Pin::new(stream).poll_flush(context),
            Transport::Tls(stream) => Pin::new(stream).poll_flush(context),
        };
        match &flushed {
            Poll::Ready(_) => self.vitals.on_flushed(),
            Poll::Pending => self.vitals.on_stuck(),
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.transport {
            Transport::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Transport::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

/// Whether pieces are to be written as one.
fn is_joined(pieces: &[IoSlice<'_>]) -> bool {
    pieces.len() > 1 && pieces.iter().map(|piece| piece.len()).sum::<usize>() <= JOINED_MAX
}

thread_local! {
    // One for the thread, and never cleared by zeros: an array on the stack would be, for each write.
    static JOINED: RefCell<Vec<u8>> = RefCell::new(Vec::with_capacity(JOINED_MAX));
}

/// The pieces one after the other.
fn join(pieces: &[IoSlice<'_>], joined: &mut Vec<u8>) {
    joined.clear();
    pieces.iter().for_each(|piece| joined.extend_from_slice(piece));
}

#[cfg(test)]
mod tests {
    use super::{JOINED_MAX, is_joined, join};
    use std::io::IoSlice;

    #[test]
    fn small_pieces_are_joined_and_large_ones_are_not() {
        let large = [7; JOINED_MAX];
        let pieces = |list: &[&'static [u8]]| list.iter().map(|p| IoSlice::new(p)).collect::<Vec<_>>();
        assert!(is_joined(&pieces(&[b"ab", b"", b"c"])));
        assert!(!is_joined(&pieces(&[b"ab"])), "one piece needs no copy");
        assert!(is_joined(&[IoSlice::new(b""), IoSlice::new(&large)]));
        assert!(!is_joined(&[IoSlice::new(b"a"), IoSlice::new(&large)]));

        let mut joined = b"old".to_vec();
        join(&pieces(&[b"ab", b"", b"c"]), &mut joined);
        assert_eq!(joined, b"abc");
    }
}
