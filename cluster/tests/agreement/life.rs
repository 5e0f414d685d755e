//! One life of a node: it founds a cluster with the others or finds itself in it, and writes.

use crate::{acknowledged::number, network::Simulated, world::Shared};
use std::{
    error::Error,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::time::sleep;
use trestle_cluster::{
    Change, Channels, Consensus, Founding, MeshWay, OpenError, Prepared, ProposeError, Server, Write,
};

const PORT: u16 = 10102;
const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), PORT);
/// Longest wait for a change.
const DEADLINE: Duration = Duration::from_secs(8);
/// Between two looks at who leads.
const LOOK: Duration = Duration::from_millis(50);

/// The host of a node.
pub(crate) fn name(place: u64) -> String {
    format!("n{place}")
}

fn address(place: u64) -> String {
    format!("{}:{PORT}", name(place))
}

pub(crate) async fn live(
    (place, size): (u64, u64),
    folder: PathBuf,
    world: Shared,
) -> Result<(), Box<dyn Error>> {
    let prepared = open(&folder).await?;
    let identity = prepared.identity().clone();
    let server = Server::bind(ANY, &Simulated, None).await?;
    let channels = Channels::new(identity.clone(), Arc::new(Simulated), None);
    let way = MeshWay { channels, address: address(place), name: name(place) };
    let consensus = prepared.join(way).await?.consensus;
    tokio::spawn(server.serve(consensus.routes(), identity, std::future::pending()));
    let life = {
        let mut world = world.lock().unwrap();
        let lives = world.lives.entry(place).or_default();
        *lives += 1;
        let life = *lives;
        world.running.insert(place, (life, consensus.clone()));
        life
    };
    let peers = move || (1..=size).map(address).collect();
    consensus.found(&Founding { expect: u32::try_from(size)?, peers: Box::new(peers) }).await?;
    let looking = async {
        while let Ok(status) = consensus.status().await {
            world.lock().unwrap().leaders.hear(place, &status);
            sleep(LOOK).await;
        }
    };
    tokio::join!(looking, write((place, life), &consensus, &world));
    Err(consensus.ended().await.into())
}

/// The handle of the life before may still be closing beside.
async fn open(folder: &Path) -> Result<Prepared, OpenError> {
    loop {
        match Prepared::open(folder).await {
            Err(OpenError::InUse(_)) => std::thread::sleep(Duration::from_millis(1)),
            opened => return opened,
        }
    }
}

/// Writes one change after the other: entities of its own, and a number that all count up.
async fn write((place, life): (u64, u64), consensus: &Consensus, world: &Shared) {
    for count in 0.. {
        let pause = {
            let mut world = world.lock().unwrap();
            world.writing.remove(&place);
            if world.stop {
                return;
            }
            Duration::from_millis(100 + world.random.below(400))
        };
        sleep(pause).await;
        world.lock().unwrap().writing.insert(place);
        if count % 3 == 2 {
            count_up(consensus, world).await;
            continue;
        }
        let name = format!("{place}-{life}-{count}");
        let change = Change { writes: vec![entity("key", &name, "")], ..Change::default() };
        let proposed = consensus.propose(change, DEADLINE).await;
        let mut world = world.lock().unwrap();
        match proposed {
            Ok(revision) => {
                let own = consensus.entity("key", &name).unwrap();
                assert_eq!(own.map(|own| own.revision), Some(revision), "{name} is not seen by its writer");
                world.acknowledge(place, name, revision);
            }
            Err(ProposeError::NoLeader) => drop(world.refused.insert(name)),
            Err(ProposeError::Unknown) => {}
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

fn entity(kind: &str, id: &str, value: &str) -> Write {
    Write { kind: kind.to_owned(), id: id.to_owned(), introduced: 1, value: Some(value.into()) }
}

/// One more than what this node sees, if nothing has changed since.
async fn count_up(consensus: &Consensus, world: &Shared) {
    let (revision, seen) = number(consensus);
    let writes = vec![entity("number", "n", &(seen + 1).to_string())];
    let change = Change { expected_revision: Some(revision), writes, origin: Vec::new() };
    // A node that crashes meanwhile does not come to say that it does not know.
    world.lock().unwrap().perhaps_counted += 1;
    let proposed = consensus.propose(change, DEADLINE).await;
    let mut world = world.lock().unwrap();
    match proposed {
        Ok(_) => world.counted += 1,
        Err(ProposeError::NoLeader | ProposeError::Conflict { .. }) => {}
        Err(ProposeError::Unknown) => return,
        Err(error) => panic!("the number: {error}"),
    }
    world.perhaps_counted -= 1;
}
