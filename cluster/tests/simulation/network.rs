//! A network of which a test decides what arrives.

use futures_util::future::BoxFuture;
use std::{io, net::SocketAddr, sync::Arc};
use trestle_cluster::{DatagramSocket, Datagrams, Listener, Network, Stream};
use turmoil::net::{TcpListener, TcpStream, UdpSocket};

/// The network of a simulation. To be used inside of one.
#[derive(Clone, Copy)]
pub(crate) struct Simulated;

/// `host:port`, of which the host is one of the simulation.
fn parse(address: &str) -> io::Result<SocketAddr> {
    let bad = || io::Error::new(io::ErrorKind::InvalidInput, format!("{address} is not host:port"));
    let (host, port) = address.rsplit_once(':').ok_or_else(bad)?;
    Ok(SocketAddr::new(turmoil::lookup(host), port.parse().map_err(|_| bad())?))
}

impl Network for Simulated {
    fn connect(&self, address: &str) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
        let address = parse(address);
        Box::pin(async move { Ok(Box::new(TcpStream::connect(address?).await?) as Box<dyn Stream>) })
    }

    fn bind(&self, address: SocketAddr) -> BoxFuture<'static, io::Result<Box<dyn Listener>>> {
        Box::pin(
            async move { Ok(Box::new(Listening(TcpListener::bind(address).await?)) as Box<dyn Listener>) },
        )
    }

    fn is_private(&self, _: SocketAddr) -> bool {
        true
    }
}

struct Listening(TcpListener);

impl Listener for Listening {
    fn accept(&mut self) -> BoxFuture<'_, io::Result<(Box<dyn Stream>, SocketAddr)>> {
        Box::pin(async move {
            let (stream, from) = self.0.accept().await?;
            Ok((Box::new(stream) as Box<dyn Stream>, from))
        })
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl Datagrams for Simulated {
    fn bind(&self, address: SocketAddr) -> BoxFuture<'static, io::Result<Arc<dyn DatagramSocket>>> {
        Box::pin(
            async move { Ok(Arc::new(Bound(UdpSocket::bind(address).await?)) as Arc<dyn DatagramSocket>) },
        )
    }

    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        let address = parse(name);
        Box::pin(async move { Ok(vec![address?]) })
    }

    fn unix_nanos(&self) -> u64 {
        turmoil::since_epoch().and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or_default()
    }
}

struct Bound(UdpSocket);

impl DatagramSocket for Bound {
    fn send_to<'a>(&'a self, datagram: &'a [u8], to: SocketAddr) -> BoxFuture<'a, io::Result<usize>> {
        Box::pin(self.0.send_to(datagram, to))
    }

    fn recv_from<'a>(&'a self, buffer: &'a mut [u8]) -> BoxFuture<'a, io::Result<(usize, SocketAddr)>> {
        Box::pin(self.0.recv_from(buffer))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}
