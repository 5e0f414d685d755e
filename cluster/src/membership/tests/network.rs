//! UDP that remembers what was sent.

use crate::membership::{DatagramSocket, Datagrams, Udp};
use futures_util::future::BoxFuture;
use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

type Sent = Vec<(SocketAddr, Vec<u8>)>;

/// All datagrams that nodes sent, and to whom.
#[derive(Clone, Default)]
pub(super) struct Tapped(Arc<Mutex<Sent>>);

impl Tapped {
    pub(super) fn sent(&self) -> Sent {
        self.0.lock().unwrap().clone()
    }
}

impl Datagrams for Tapped {
    fn bind(&self, address: SocketAddr) -> BoxFuture<'static, io::Result<Arc<dyn DatagramSocket>>> {
        let (binding, tapped) = (Udp.bind(address), self.clone());
        Box::pin(async move { Ok(Arc::new(TappedSocket(binding.await?, tapped)) as Arc<dyn DatagramSocket>) })
    }

    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        Udp.resolve(name)
    }
}

struct TappedSocket(Arc<dyn DatagramSocket>, Tapped);

impl DatagramSocket for TappedSocket {
    fn send_to<'a>(&'a self, datagram: &'a [u8], to: SocketAddr) -> BoxFuture<'a, io::Result<usize>> {
        self.1.0.lock().unwrap().push((to, datagram.to_vec()));
        self.0.send_to(datagram, to)
    }

    fn recv_from<'a>(&'a self, buffer: &'a mut [u8]) -> BoxFuture<'a, io::Result<(usize, SocketAddr)>> {
        self.0.recv_from(buffer)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}
