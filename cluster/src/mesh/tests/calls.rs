//! Calls that are for this node and cluster, calls that are not, and peers that go away.

use super::{LOCAL, LONG, Running, channels, echo::call};
use crate::mesh::{ClusterId, NotThisCluster, Server, ServerError, Tcp, was_sent};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{
    net::TcpListener,
    time::{Instant, timeout},
};

/// What a call came to: the answer, or the code.
async fn seen(answer: impl Future<Output = Result<String, tonic::Status>>) -> String {
    match timeout(LONG, answer).await {
        Ok(Ok(text)) => text,
        Ok(Err(status)) => format!("{:?}", status.code()),
        Err(_) => "nothing".to_owned(),
    }
}

#[tokio::test]
async fn only_calls_for_this_node_and_cluster_arrive() -> anyhow::Result<()> {
    let server = Running::start(7, Some(1), LOCAL, None).await?;
    let (at, own) = (server.at(), channels(9, Some(1), None));
    assert_eq!(seen(call(own.to(7, &at), "Counters/Ask")).await, "7");
    assert_eq!(seen(call(own.to(8, &at), "Counters/Ask")).await, "FailedPrecondition");
    assert_eq!(seen(call(own.to(0, &at), "Counters/Ask")).await, "FailedPrecondition");
    assert_eq!(seen(call(own.to(0, &at), "Status/Ask")).await, "7");
    assert_eq!(seen(call(own.to(7, &at), "Nothing/Ask")).await, "Unimplemented");
    let other = channels(9, Some(2), None);
    assert_eq!(seen(call(other.to(7, &at), "Raft/Ask")).await, "PermissionDenied");
    assert_eq!(seen(call(other.to(0, &at), "Status/Ask")).await, "PermissionDenied");
    let none = channels(9, None, None);
    assert_eq!(seen(call(none.to(7, &at), "Raft/Ask")).await, "PermissionDenied");
    assert_eq!(seen(call(none.to(0, &at), "Status/Ask")).await, "7");
    // The same connection, after its owner joined.
    none.identity().join(ClusterId(1))?;
    assert_eq!(seen(call(none.to(7, &at), "Raft/Ask")).await, "7");
    server.stop().await
}

#[tokio::test]
async fn a_call_without_a_connection_was_not_sent() -> anyhow::Result<()> {
    let own = channels(9, Some(1), None);
    let listener = TcpListener::bind(LOCAL).await?;
    let at = listener.local_addr()?.to_string();
    drop(listener);
    let Err(refused) = call(own.to(7, &at), "Counters/Ask").await else {
        anyhow::bail!("an answer of nobody")
    };
    assert!(!was_sent(&refused), "{refused}");

    // Whoever takes a connection may have taken the call.
    let listener = TcpListener::bind(LOCAL).await?;
    let at = listener.local_addr()?.to_string();
    let taking = tokio::spawn(async move { listener.accept().await.map(drop) });
    let Err(lost) = call(own.to(7, &at), "Counters/Ask").await else { anyhow::bail!("an answer of nobody") };
    assert!(was_sent(&lost), "{lost}");
    Ok(taking.await??)
}

#[tokio::test]
async fn a_node_without_a_cluster_joins_the_one_of_consensus() -> anyhow::Result<()> {
    let server = Running::start(7, None, LOCAL, None).await?;
    let kept = Arc::new(AtomicUsize::new(0));
    let counted = kept.clone();
    server.identity.on_join(move |_| match counted.fetch_add(1, Ordering::SeqCst) {
        0 => Err(io::Error::other("full")),
        _ => Ok(()),
    });
    let (at, founder) = (server.at(), channels(9, Some(1), None));
    assert_eq!(seen(call(founder.to(7, &at), "Counters/Ask")).await, "FailedPrecondition");
    assert_eq!(seen(call(founder.to(7, &at), "Status/Ask")).await, "7");
    assert_eq!(server.identity.cluster(), None);
    // What cannot be kept is not joined, and the next call tries again.
    assert_eq!(seen(call(founder.to(7, &at), "Raft/Ask")).await, "Unavailable");
    assert_eq!(server.identity.cluster(), None);
    assert_eq!(seen(call(founder.to(7, &at), "Raft/Ask")).await, "7");
    assert_eq!(server.identity.cluster(), Some(ClusterId(1)));
    assert_eq!(seen(call(founder.to(7, &at), "Counters/Ask")).await, "7");
    assert_eq!(kept.load(Ordering::SeqCst), 2);
    let other = channels(9, Some(2), None);
    assert_eq!(seen(call(other.to(7, &at), "Raft/Ask")).await, "PermissionDenied");
    assert!(matches!(server.identity.join(ClusterId(2)), Err(NotThisCluster::Another { .. })));
    server.stop().await
}

#[tokio::test]
async fn a_peer_that_comes_back_is_reached_again() -> anyhow::Result<()> {
    let server = Running::start(7, Some(1), LOCAL, None).await?;
    let (address, own) = (server.address, channels(9, Some(1), None));
    let peer = own.to(7, &address.to_string());
    assert_eq!(seen(call(peer.clone(), "Raft/Ask")).await, "7");
    // A call that never ends does not keep a server from stopping.
    let waiting = tokio::spawn(seen(call(peer.clone(), "Raft/Wait")));
    server.stop().await?;
    assert_ne!(timeout(LONG, waiting).await??, "nothing");
    assert_eq!(seen(call(peer.clone(), "Raft/Ask")).await, "Unavailable");

    let server = Running::start(7, Some(1), address, None).await?;
    let deadline = Instant::now() + LONG;
    while seen(call(peer.clone(), "Raft/Ask")).await != "7" {
        anyhow::ensure!(Instant::now() < deadline, "the peer is back but not reached");
        tokio::task::yield_now().await;
    }
    server.stop().await
}

#[tokio::test]
async fn an_address_that_changed_is_another_connection() -> anyhow::Result<()> {
    let (first, second) =
        (Running::start(7, Some(1), LOCAL, None).await?, Running::start(7, Some(1), LOCAL, None).await?);
    let own = channels(9, Some(1), None);
    assert_eq!(seen(call(own.to(7, &first.at()), "Raft/Ask")).await, "7");
    first.stop().await?;
    assert_eq!(seen(call(own.to(7, &second.at()), "Raft/Ask")).await, "7");
    own.forget(7);
    assert_eq!(seen(call(own.to(7, &second.at()), "Raft/Ask")).await, "7");
    second.stop().await
}

/// The kernel takes the connection; nobody ever answers. Without keep-alive the call would wait for ever.
#[tokio::test]
async fn a_peer_that_says_nothing_is_found_out() -> anyhow::Result<()> {
    let silent = TcpListener::bind(LOCAL).await?;
    let at = silent.local_addr()?.to_string();
    let own = channels(9, Some(1), None);
    let called = tokio::spawn(seen(call(own.to(7, &at), "Raft/Ask")));
    let (kept_open, _) = timeout(LONG, silent.accept()).await??;
    let answer = timeout(LONG, called).await??;
    assert_eq!(answer, "Unavailable");
    drop(kept_open);
    Ok(())
}

#[tokio::test]
async fn strangers_are_not_served_without_tls() -> anyhow::Result<()> {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let bound = Server::bind(address.parse()?, &Tcp, None).await;
        assert!(matches!(bound, Err(ServerError::NeedsTls(_))), "{address}");
    }
    let taken = TcpListener::bind(LOCAL).await?;
    let bound = Server::bind(taken.local_addr()?, &Tcp, None).await;
    assert!(matches!(bound, Err(ServerError::Bind(..))));
    Ok(())
}
