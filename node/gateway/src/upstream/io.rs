//! Sockets to providers: plain or TLS, with small vectored writes joined.

use std::{
    cell::RefCell,
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// Up to this size the parts of a vectored write are joined: one short copy is cheaper for the kernel than a vector.
const JOIN_MAX: usize = 4096;

thread_local! {
    // One for the thread, and never cleared by zeros: an array on the stack would be, for each write.
    static JOINED: RefCell<Vec<u8>> = RefCell::new(Vec::with_capacity(JOIN_MAX));
}

/// What can be read and written.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Duplex for T {}

/// A connection, plain or with TLS.
pub(crate) enum Stream<T> {
    /// Plain.
    Plain(TcpStream),
    /// With TLS on top.
    Tls(Box<T>),
    /// With TLS inside of that of a proxy.
    Nested(Box<dyn Duplex>),
}

impl<T: AsyncRead + Unpin> AsyncRead for Stream<T> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_read(cx, buf),
            Self::Tls(io) => Pin::new(io).poll_read(cx, buf),
            Self::Nested(io) => Pin::new(io).poll_read(cx, buf),
        }
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Stream<T> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_write(cx, buf),
            Self::Tls(io) => Pin::new(io).poll_write(cx, buf),
            Self::Nested(io) => Pin::new(io).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(io) => {
                let total: usize = bufs.iter().map(|b| b.len()).sum();
                if bufs.len() < 2 || total > JOIN_MAX {
                    return Pin::new(io).poll_write_vectored(cx, bufs);
                }
                JOINED.with_borrow_mut(|joined| {
                    joined.clear();
                    bufs.iter().for_each(|buf| joined.extend_from_slice(buf));
                    Pin::new(io).poll_write(cx, joined)
                })
            }
            Self::Tls(io) => Pin::new(io).poll_write_vectored(cx, bufs),
            Self::Nested(io) => Pin::new(io).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(io) => io.is_write_vectored(),
            Self::Tls(io) => io.is_write_vectored(),
            Self::Nested(io) => io.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_flush(cx),
            Self::Tls(io) => Pin::new(io).poll_flush(cx),
            Self::Nested(io) => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Self::Tls(io) => Pin::new(io).poll_shutdown(cx),
            Self::Nested(io) => Pin::new(io).poll_shutdown(cx),
        }
    }
}
