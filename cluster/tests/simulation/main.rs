//! Nodes in a network that is cut and mended, in simulated time. `SIMULATION_SEEDS` runs other seeds.

#![allow(clippy::panic)] // a panic is a failed test

mod network;
mod seeds;

use http::uri::PathAndQuery;
use network::Simulated;
use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tonic::Code;
use tonic_prost::ProstCodec;
use trestle_cluster::{
    Channels, ClusterId, Facts, Identity, Members, Membership, MembershipSettings, Peer, Secrets, Server,
};

const PORT: u16 = 10102;
const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), PORT);
const CLUSTER: ClusterId = ClusterId(1);

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn simulation(seed: u64) -> turmoil::Sim<'static> {
    let mut builder = turmoil::Builder::new();
    builder
        .rng_seed(seed)
        .simulation_duration(Duration::from_secs(120))
        .tick_duration(Duration::from_millis(5));
    builder.build()
}

/// Serves nothing: a call that arrives is unimplemented.
async fn serve(node: u64) -> Outcome {
    let server = Server::bind(ANY, &Simulated, None).await?;
    server
        .serve(tonic::service::Routes::default(), Identity::new(node, Some(CLUSTER)), std::future::pending())
        .await;
    Ok(())
}

/// Whether a call arrives. It must not wait for longer than keep-alive and a connect take.
async fn arrives(peer: &Peer) -> Result<bool, Box<dyn std::error::Error>> {
    let mut client = tonic::client::Grpc::new(peer.clone());
    let call = async {
        client.ready().await?;
        let path = PathAndQuery::from_static("/trestle.cluster.v1.Raft/Ask");
        client.unary(tonic::Request::new(()), path, ProstCodec::<(), ()>::default()).await
    };
    match timeout(Duration::from_secs(5), call).await?.map_err(|status| status.code()) {
        Err(Code::Unimplemented) => Ok(true),
        Err(Code::Unavailable) => Ok(false),
        other => Err(format!("{other:?}").into()),
    }
}

async fn until_it_arrives(peer: &Peer) -> Outcome {
    let begun = Instant::now();
    while !arrives(peer).await? {
        if begun.elapsed() > Duration::from_secs(5) {
            return Err("the peer is not reached again".into());
        }
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

#[test]
fn a_peer_behind_a_cut_is_found_out_and_reached_again() -> Outcome {
    for seed in seeds::seeds("SIMULATION_SEEDS", 50) {
        let mut simulation = simulation(seed);
        simulation.host("server", || serve(7));
        simulation.client("caller", async {
            let channels = Channels::new(Identity::new(9, Some(CLUSTER)), Arc::new(Simulated), None);
            let peer = channels.to(7, "server:10102");
            until_it_arrives(&peer).await?;
            for cut_ms in [100, 1000, 10_000] {
                turmoil::partition("caller", "server");
                let called = arrives(&peer);
                let mended = async {
                    sleep(Duration::from_millis(cut_ms)).await;
                    turmoil::repair("caller", "server");
                };
                let (arrived, ()) = tokio::join!(called, mended);
                // Nothing is sent again by this network, so the call is lost with what carried it.
                assert!(!arrived?, "{cut_ms}");
                until_it_arrives(&peer).await?;
            }
            Ok(())
        });
        simulation.run().map_err(|error| format!("seed {seed}: {error}"))?;
    }
    Ok(())
}

type Seen = Arc<Mutex<Vec<(u64, watch::Receiver<Arc<Members>>)>>>;

async fn gossip(node: u64, folder: std::path::PathBuf, seen: Seen) -> Outcome {
    let name = format!("node-{node}");
    let settings = MembershipSettings {
        listen: ANY,
        advertise: Some(SocketAddr::new(turmoil::lookup(name.as_str()), PORT)),
        seeds: (1..=3).map(|node| format!("node-{node}:{PORT}")).collect(),
        expected: 3,
        mesh_name: "trestle.mesh".to_owned(),
        secrets: Secrets::new(&[b"a secret that is long enough"])?,
        folder: folder.join(&name),
        facts: Facts { name, version: 1, ..Facts::default() },
    };
    let membership = Membership::start(settings, Identity::new(node, None), Arc::new(Simulated)).await?;
    seen.lock().unwrap_or_else(PoisonError::into_inner).push((node, membership.members()));
    Err(membership.ended().await.into())
}

/// Waits until each node sees as many live ones as it should.
async fn until_live(seen: &Seen, live: [usize; 3]) -> Outcome {
    let begun = Instant::now();
    loop {
        let mut sees = [0; 3];
        for (node, members) in seen.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // Of several runs of a node the last one was added last.
            sees[*node as usize - 1] = members.borrow().live().count();
        }
        if sees == live {
            return Ok(());
        }
        if begun.elapsed() > Duration::from_secs(20) {
            return Err(format!("{sees:?} instead of {live:?}").into());
        }
        sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn a_node_behind_a_cut_is_dead_until_it_is_mended() -> Outcome {
    for seed in seeds::seeds("SIMULATION_SEEDS", 200) {
        let folder = TempDir::new()?;
        let seen = Seen::default();
        let mut simulation = simulation(seed);
        for node in 1..=3 {
            let (path, seen) = (folder.path().to_owned(), seen.clone());
            simulation.host(format!("node-{node}"), move || gossip(node, path.clone(), seen.clone()));
        }
        simulation.client("observer", async move {
            until_live(&seen, [3, 3, 3]).await?;
            turmoil::partition("node-3", "node-1");
            // One of two ways is enough.
            sleep(Duration::from_secs(10)).await;
            until_live(&seen, [3, 3, 3]).await?;
            turmoil::partition("node-3", "node-2");
            until_live(&seen, [2, 2, 1]).await?;
            turmoil::repair("node-3", "node-1");
            turmoil::repair("node-3", "node-2");
            until_live(&seen, [3, 3, 3]).await
        });
        simulation.run().map_err(|error| format!("seed {seed}: {error}"))?;
    }
    Ok(())
}
