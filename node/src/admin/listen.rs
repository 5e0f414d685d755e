//! The admin listener: plain HTTP/1.1 on the admin runtime, also while the node drains.

use crate::{admin::Admin, metric};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use std::{sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::Semaphore};

/// Operators are few.
const CONNECTIONS_MAX: usize = 256;
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
const HEAD_BYTES_MAX: usize = 64 * 1024;
const BACK_OFF: Duration = Duration::from_millis(100);

/// Serves as long as the process; beyond the bound, connections wait in the system's queue.
pub(crate) async fn listen(listener: TcpListener, admin: Admin) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                metric::accept_failed();
                tracing::warn!(%error, "cannot accept admin connections at the moment");
                tokio::time::sleep(BACK_OFF).await;
                continue;
            }
        };
        let service = TowerToHyperService::new(admin.router(peer));
        tokio::spawn(async move {
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .max_header_size(HEAD_BYTES_MAX)
                .serve_connection(TokioIo::new(stream), service)
                .await;
            if let Err(error) = served {
                tracing::debug!(%error, "an admin connection ended");
            }
            drop(place);
        });
    }
}
