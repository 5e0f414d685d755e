//! How bytes get to an address and come from one: TCP, or a simulation.

use futures_util::future::BoxFuture;
use std::{io, net::SocketAddr};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
};

/// Bytes in both directions.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Takes connections at an address.
pub trait Listener: Send {
    /// The next connection, and whose it is. May be dropped and called again.
    fn accept(&mut self) -> BoxFuture<'_, io::Result<(Box<dyn Stream>, SocketAddr)>>;
    /// Where it listens.
    ///
    /// # Errors
    ///
    /// The system does not say.
    fn local_addr(&self) -> io::Result<SocketAddr>;
}

/// How bytes get to an address and come from one.
pub trait Network: Send + Sync + 'static {
    /// Connects to `host:port`. A name is resolved anew each time, all its addresses are tried.
    fn connect(&self, address: &str) -> BoxFuture<'static, io::Result<Box<dyn Stream>>>;
    /// Listens at an address.
    fn bind(&self, address: SocketAddr) -> BoxFuture<'static, io::Result<Box<dyn Listener>>>;
    /// Whether no stranger can reach an address, so that it may be served without TLS.
    fn is_private(&self, address: SocketAddr) -> bool {
        address.ip().is_loopback()
    }
}

/// TCP as the system has it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tcp;

impl Network for Tcp {
    fn connect(&self, address: &str) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
        let address = address.to_owned();
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            // Frames of consensus are small and waited for.
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Stream>)
        })
    }

    fn bind(&self, address: SocketAddr) -> BoxFuture<'static, io::Result<Box<dyn Listener>>> {
        Box::pin(async move { Ok(Box::new(TcpListener::bind(address).await?) as Box<dyn Listener>) })
    }
}

impl Listener for TcpListener {
    fn accept(&mut self) -> BoxFuture<'_, io::Result<(Box<dyn Stream>, SocketAddr)>> {
        Box::pin(async move {
            let (stream, from) = TcpListener::accept(self).await?;
            stream.set_nodelay(true)?;
            Ok((Box::new(stream) as Box<dyn Stream>, from))
        })
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        TcpListener::local_addr(self)
    }
}
