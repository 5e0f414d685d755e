//! The acceptor: takes connections and hands each to the least loaded data thread.

use crate::{
    metric,
    serve::{Front, connection},
};
use std::{io, sync::Arc, time::Duration};
use tokio::net::{TcpListener, TcpStream};

/// After an error that the next call would meet again (no free file descriptors, no memory).
const BACK_OFF: Duration = Duration::from_millis(100);

/// Accepts until the node drains; the listener is closed on return.
pub(crate) async fn accept(listener: TcpListener, front: Arc<Front>) {
    let mut draining = front.draining.clone();
    loop {
        let accepted = tokio::select! {
            biased;
            _ = draining.wait_for(|draining| *draining) => return,
            accepted = listener.accept() => accepted,
        };
        match accepted.and_then(|(stream, _)| hand_over(stream, &front)) {
            Ok(()) => {}
            Err(error) if concerns_one_connection(&error) => {}
            Err(error) => {
                metric::accept_failed();
                tracing::warn!(%error, "cannot accept connections at the moment");
                tokio::time::sleep(BACK_OFF).await;
            }
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
