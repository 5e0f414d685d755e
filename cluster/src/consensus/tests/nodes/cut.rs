//! A network of which nodes can be cut off.

use crate::{
    consensus::types::NodeId,
    mesh::{Listener, Network, Stream, Tcp},
};
use futures_util::future::BoxFuture;
use std::{
    collections::{HashMap, HashSet},
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

#[derive(Default)]
struct State {
    places: HashMap<String, NodeId>,
    off: HashSet<NodeId>,
}

/// Who is cut off from all others.
#[derive(Clone, Default)]
pub(super) struct Cut(Arc<Mutex<State>>);

impl Cut {
    pub(super) fn place(&self, node: NodeId, address: SocketAddr) {
        self.0.lock().unwrap().places.insert(address.to_string(), node);
    }

    pub(super) fn off(&self, node: NodeId) {
        self.0.lock().unwrap().off.insert(node);
    }

    pub(super) fn heal(&self) {
        self.0.lock().unwrap().off.clear();
    }

    fn between(&self, node: NodeId, address: &str) -> bool {
        let state = self.0.lock().unwrap();
        state.off.contains(&node) || state.places.get(address).is_some_and(|other| state.off.contains(other))
    }
}

/// The network as one node has it.
pub(super) struct Wire {
    node: NodeId,
    cut: Cut,
}

impl Wire {
    pub(super) fn of(node: NodeId, cut: Cut) -> Self {
        Self { node, cut }
    }
}

impl Network for Wire {
    fn connect(&self, address: &str) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
        let (node, cut, to, connecting) =
            (self.node, self.cut.clone(), address.to_owned(), Tcp.connect(address));
        Box::pin(async move {
            if cut.between(node, &to) {
                return Err(io::ErrorKind::HostUnreachable.into());
            }
            Ok(Box::new(Line { inner: connecting.await?, node, cut, to }) as Box<dyn Stream>)
        })
    }

    fn bind(&self, address: SocketAddr) -> BoxFuture<'static, io::Result<Box<dyn Listener>>> {
        Tcp.bind(address)
    }
}

/// A connection that ends once it is used after one of its ends was cut off.
struct Line {
    inner: Box<dyn Stream>,
    node: NodeId,
    cut: Cut,
    to: String,
}

impl Line {
    fn whole(&self) -> io::Result<()> {
        match self.cut.between(self.node, &self.to) {
            true => Err(io::ErrorKind::ConnectionReset.into()),
            false => Ok(()),
        }
    }
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.whole()?;
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.whole()?;
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.whole()?;
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
