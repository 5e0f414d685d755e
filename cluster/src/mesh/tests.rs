//! Real servers and connections over TCP.

mod calls;
mod echo;
mod tls;

use super::{Channels, ClusterId, Identity, Server, Tcp, Tls};
use echo::routes;
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{sync::oneshot, task::JoinHandle};

/// Longer than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);

const LOCAL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// A server that answers to `Ask` with its node's number, and to `Wait` never.
struct Running {
    address: SocketAddr,
    identity: Identity,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

impl Running {
    async fn start(
        node: u64,
        cluster: Option<u128>,
        address: SocketAddr,
        tls: Option<Tls>,
    ) -> anyhow::Result<Self> {
        let server = Server::bind(address, &Tcp, tls).await?;
        let identity = Identity::new(node, cluster.map(ClusterId));
        let (stop, stopped) = oneshot::channel();
        let address = server.local_addr();
        let stopped = async { stopped.await.unwrap_or(()) };
        let ended = tokio::spawn(server.serve(routes(identity.clone()), identity.clone(), stopped));
        Ok(Self { address, identity, stop, ended })
    }

    async fn stop(self) -> anyhow::Result<()> {
        let _ = self.stop.send(());
        Ok(tokio::time::timeout(LONG, self.ended).await??)
    }

    fn at(&self) -> String {
        self.address.to_string()
    }
}

fn channels(node: u64, cluster: Option<u128>, tls: Option<Tls>) -> Channels {
    Channels::new(Identity::new(node, cluster.map(ClusterId)), Arc::new(Tcp), tls)
}
