//! How datagrams get to an address and come from one, and at what time: UDP, or a simulation.

use futures_util::future::BoxFuture;
use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use tokio::net::UdpSocket;

/// A socket for datagrams.
pub trait DatagramSocket: Send + Sync + 'static {
    /// Sends one.
    fn send_to<'a>(&'a self, datagram: &'a [u8], to: SocketAddr) -> BoxFuture<'a, io::Result<usize>>;
    /// The next one. May be dropped and called again.
    fn recv_from<'a>(&'a self, buffer: &'a mut [u8]) -> BoxFuture<'a, io::Result<(usize, SocketAddr)>>;
    /// Where it is bound.
    ///
    /// # Errors
    ///
    /// The system does not say.
    fn local_addr(&self) -> io::Result<SocketAddr>;
}

/// How datagrams travel, where names are, and what time it is.
pub trait Datagrams: Send + Sync + 'static {
    /// A socket at an address.
    fn bind(&self, address: SocketAddr) -> BoxFuture<'static, io::Result<Arc<dyn DatagramSocket>>>;
    /// All addresses of `host:port`.
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>>;
    /// Nanoseconds since 1970; peers may differ by 30 s.
    fn unix_nanos(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Until the year 2554.
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// UDP and names as the system has them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Udp;

impl Datagrams for Udp {
    fn bind(&self, address: SocketAddr) -> BoxFuture<'static, io::Result<Arc<dyn DatagramSocket>>> {
        Box::pin(async move { Ok(Arc::new(UdpSocket::bind(address).await?) as Arc<dyn DatagramSocket>) })
    }

    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        let name = name.to_owned();
        Box::pin(async move { Ok(tokio::net::lookup_host(name).await?.collect()) })
    }
}

impl DatagramSocket for UdpSocket {
    fn send_to<'a>(&'a self, datagram: &'a [u8], to: SocketAddr) -> BoxFuture<'a, io::Result<usize>> {
        Box::pin(UdpSocket::send_to(self, datagram, to))
    }

    fn recv_from<'a>(&'a self, buffer: &'a mut [u8]) -> BoxFuture<'a, io::Result<(usize, SocketAddr)>> {
        Box::pin(UdpSocket::recv_from(self, buffer))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        UdpSocket::local_addr(self)
    }
}
