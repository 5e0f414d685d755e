//! The acceptor: takes connections and hands each to the least loaded data thread.

use crate::{
    metric,
    serve::{Front, connection},
};
use std::{io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// Connections that the system accepts for us before we do: what tokio asks for.
const BACKLOG: usize = 1024;
/// After an error that the next call would meet again (no free file descriptors, no memory).
const BACK_OFF: Duration = Duration::from_millis(100);

/// Accepts until the node drains, and then those that the system has accepted already: their clients take them for
/// connected. The listener is closed on return.
pub(crate) async fn accept(listener: TcpListener, front: Arc<Front>) {
    let mut draining = front.draining.clone();
    loop {
        tokio::select! {
            biased;
            () = told(&mut draining) => break,
            accepted = listener.accept() => take(accepted, &front).await,
        }
    }
    for _ in 0..BACKLOG {
        tokio::select! {
            biased;
            accepted = listener.accept() => take(accepted, &front).await,
            () = std::future::ready(()) => return,
        }
    }
}

async fn told(draining: &mut watch::Receiver<bool>) {
    // An error is the end of the node, and as good as being told.
    let _ = draining.wait_for(|draining| *draining).await;
}

async fn take(accepted: io::Result<(TcpStream, SocketAddr)>, front: &Arc<Front>) {
    match accepted.and_then(|(stream, _)| hand_over(stream, front)) {
        Ok(()) => {}
        Err(error) if concerns_one_connection(&error) => {}
        Err(error) => {
            metric::accept_failed();
            tracing::warn!(%error, "cannot accept connections at the moment");
            tokio::time::sleep(BACK_OFF).await;
        }
    }
}

fn hand_over(stream: TcpStream, front: &Arc<Front>) -> io::Result<()> {
    let Some(place) = front.admit() else {
        return Ok(());
    };
    stream.set_nodelay(true)?;
    // Leaves this runtime's poller; the data thread takes it into its own.
    let stream = stream.into_std()?;
    front.gateway.spawn(move |worker| connection::serve(stream, place, worker));
    Ok(())
}

/// The client was gone before we came to it: nothing to wait for.
fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, InvalidInput, NotConnected};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | InvalidInput | NotConnected
    )
}
