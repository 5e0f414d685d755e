//! The way from one node to another: passes bytes on, or keeps them for later while it is cut.

use std::net::{Ipv4Addr, SocketAddr};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, split},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

/// As long as it lives, it passes on.
pub(super) struct Way {
    pub(super) address: String,
    cut: watch::Sender<bool>,
    _tasks: JoinSet<()>,
}

impl Way {
    pub(super) async fn to(target: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?.to_string();
        let cut = watch::Sender::new(false);
        let mut tasks = JoinSet::new();
        let seen = cut.subscribe();
        tasks.spawn(async move {
            let mut all = JoinSet::new();
            while let Ok((from, _)) = listener.accept().await {
                let seen = seen.clone();
                all.spawn(async move {
                    if let Ok(to) = TcpStream::connect(target).await {
                        let ((from_read, from_write), (to_read, to_write)) = (split(from), split(to));
                        tokio::select! {
                            () = pass(from_read, to_write, seen.clone()) => {}
                            () = pass(to_read, from_write, seen) => {}
                        }
                    }
                });
            }
        });
        Ok(Self { address, cut, _tasks: tasks })
    }

    /// From now on nothing arrives; or all of it again.
    pub(super) fn cut(&self, cut: bool) {
        self.cut.send_replace(cut);
    }
}

async fn pass(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut cut: watch::Receiver<bool>,
) {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let Ok(count @ 1..) = from.read(&mut bytes).await else { return };
        if cut.wait_for(|cut| !cut).await.is_err() || to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
