//! Nodes that gossip over loopback.

use super::network::Tapped;
use crate::{
    membership::{Datagrams, Facts, Members, Membership, MembershipError, MembershipSettings, Secrets, Udp},
    mesh::Identity,
};
use futures_util::FutureExt;
use std::{collections::HashSet, net::SocketAddr, path::Path, sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio::{net::UdpSocket, time::timeout};

const LONG: Duration = Duration::from_secs(60);
const LOCAL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);
const SECRET: &[u8] = b"a secret that is long enough";

fn facts(node: u64) -> Facts {
    Facts {
        name: format!("node-{node}"),
        address: format!("127.0.0.1:{node}"),
        version: 1,
        ..Facts::default()
    }
}

fn settings(node: u64, folder: &Path, seeds: &[SocketAddr]) -> anyhow::Result<MembershipSettings> {
    Ok(MembershipSettings {
        listen: LOCAL,
        advertise: None,
        seeds: seeds.iter().map(ToString::to_string).collect(),
        expected: 3,
        mesh_name: "trestle.mesh".to_owned(),
        secrets: Secrets::new(&[SECRET])?,
        folder: folder.join(node.to_string()),
        facts: facts(node),
    })
}

async fn start(
    settings: MembershipSettings,
    node: u64,
    datagrams: Arc<dyn Datagrams>,
) -> anyhow::Result<Membership> {
    Ok(Membership::start(settings, Identity::new(node, None), datagrams).await?)
}

/// Nodes 1 to `count`; the first is the seed of the others.
async fn mesh(count: u64, folder: &Path, datagrams: Arc<dyn Datagrams>) -> anyhow::Result<Vec<Membership>> {
    let mut nodes: Vec<Membership> = Vec::new();
    for node in 1..=count {
        let seeds: Vec<SocketAddr> = nodes.iter().take(1).map(Membership::address).collect();
        nodes.push(start(settings(node, folder, &seeds)?, node, datagrams.clone()).await?);
    }
    for node in &nodes {
        until(node, "all are live", |members| members.live().count() == count as usize).await?;
    }
    Ok(nodes)
}

/// Waits until a node sees what it should.
async fn until(node: &Membership, what: &str, seen: impl Fn(&Members) -> bool) -> anyhow::Result<()> {
    let mut members = node.members();
    let waited = timeout(LONG, members.wait_for(|members| seen(members))).await;
    let missed = waited.is_err();
    drop(waited);
    anyhow::ensure!(!missed, "not seen: {what}; instead {:?}", members.borrow());
    Ok(())
}

#[tokio::test]
async fn nodes_see_each_other_and_what_they_say() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let mut nodes = mesh(3, folder.path(), Arc::new(Udp)).await?;
    for node in &nodes {
        until(node, "facts of all", |members| {
            (1..=3).all(|node| members.get(node).is_some_and(|member| member.facts == facts(node)))
        })
        .await?;
    }

    // A changed fact, and health.
    let changed = Facts { ready: true, load: 7, revision: 3, ..facts(2) };
    nodes[1].publish(changed.clone());
    nodes[1].publish_health(vec!["packed".to_owned()])?;
    assert!(nodes[1].publish_health(vec![String::new(); 17]).is_err());
    for node in &nodes {
        until(node, "the changed facts", |members| {
            members.get(2).is_some_and(|member| member.facts == changed)
        })
        .await?;
    }
    let mut health = nodes[0].health();
    let said =
        timeout(LONG, health.wait_for(|health| health.get(&2).is_some_and(|said| said == &["packed"])))
            .await??;
    assert_eq!(said.len(), 1);
    drop(said);

    // One that stopped is seen as dead, and stays known.
    let (address, generation) = (nodes[2].address(), nodes[2].generation());
    nodes.pop();
    for node in &nodes {
        until(node, "a death", |members| members.get(3).is_some_and(|member| !member.live)).await?;
    }
    // It comes back as a later run, at another address; it alone counts.
    let back = start(settings(3, folder.path(), &[nodes[0].address()])?, 3, Arc::new(Udp)).await?;
    assert!(back.generation() > generation);
    for node in nodes.iter().chain([&back]) {
        until(node, "the later run", |members| {
            members.get(3).is_some_and(|member| {
                member.live && member.generation == back.generation() && member.gossip == back.address()
            })
        })
        .await?;
        assert_eq!(node.members().borrow().iter().count(), 3);
    }
    assert_ne!(back.address(), address);
    assert_eq!(nodes[0].health().borrow().len(), 1);
    Ok(())
}

#[tokio::test]
async fn strangers_change_nothing_and_are_counted() -> anyhow::Result<()> {
    let (folder, tapped) = (TempDir::new()?, Tapped::default());
    let nodes = mesh(3, folder.path(), Arc::new(tapped.clone())).await?;
    let victim = &nodes[0];
    let before = victim.members().borrow().clone();
    assert!(tapped.sent().iter().all(|(_, datagram)| !datagram.windows(5).any(|bytes| bytes == b"node-")));

    let stranger = UdpSocket::bind(LOCAL).await?;
    for datagram in [&b"hello"[..], &[0; 1500], &[1; 64], &[]] {
        stranger.send_to(datagram, victim.address()).await?;
    }
    let replayed: Vec<_> =
        tapped.sent().into_iter().filter(|(to, _)| *to == victim.address()).take(5).collect();
    for (_, datagram) in &replayed {
        stranger.send_to(datagram, victim.address()).await?;
        let mut changed = datagram.clone();
        *changed.last_mut().unwrap() ^= 1;
        stranger.send_to(&changed, victim.address()).await?;
    }
    // What the victim sent itself: nobody who sends to it has that salt.
    let salt = |datagram: &[u8]| datagram[2..18].to_vec();
    let (to_it, to_others): (Vec<_>, Vec<_>) =
        tapped.sent().into_iter().partition(|(to, _)| *to == victim.address());
    let of_others: HashSet<_> = to_it.iter().map(|(_, datagram)| salt(datagram)).collect();
    let own: Vec<_> =
        to_others.into_iter().filter(|(_, datagram)| !of_others.contains(&salt(datagram))).take(20).collect();
    assert!(!replayed.is_empty() && !own.is_empty());
    for (_, datagram) in &own {
        stranger.send_to(datagram, victim.address()).await?;
    }
    let counted = async {
        loop {
            let counts = victim.counts();
            // `[1; 64]` begins like one of ours.
            if counts.garbage >= 3
                && counts.replayed >= (replayed.len() + own.len()) as u64
                && counts.sealed > replayed.len() as u64
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = timeout(LONG, counted).await;
    assert!(waited.is_ok(), "{:?}", victim.counts());
    let seen = |members: &Members| {
        let seen = members.iter().map(|member| (member.node, member.generation, member.facts.clone()));
        seen.collect::<Vec<_>>()
    };
    assert_eq!(seen(&victim.members().borrow()), seen(&before));
    // Gossip goes on.
    nodes[1].publish(Facts { revision: 9, ..facts(2) });
    until(victim, "a later fact", |members| members.get(2).is_some_and(|member| member.facts.revision == 9))
        .await?;
    let counts = nodes[1].counts();
    assert!(counts.sent > 0 && counts.received > 0 && counts.message_bytes_max > 0, "{counts:?}");
    assert_eq!((counts.too_large, counts.garbage, counts.time), (0, 0, 0));
    Ok(())
}

#[tokio::test]
async fn nodes_with_another_secret_or_name_are_not_heard() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let nodes = mesh(2, folder.path(), Arc::new(Udp)).await?;
    let seeds = [nodes[0].address()];
    let of_other_secret = MembershipSettings {
        secrets: Secrets::new(&[b"another secret, as long as it"])?,
        ..settings(8, folder.path(), &seeds)?
    };
    let of_other_mesh =
        MembershipSettings { mesh_name: "other.mesh".to_owned(), ..settings(9, folder.path(), &seeds)? };
    let strangers =
        [start(of_other_secret, 8, Arc::new(Udp)).await?, start(of_other_mesh, 9, Arc::new(Udp)).await?];
    // With both at work, a friend that comes later is heard.
    let rotated = MembershipSettings {
        secrets: Secrets::new(&[SECRET, b"the secret that comes next"])?,
        ..settings(3, folder.path(), &seeds)?
    };
    let friend = start(rotated, 3, Arc::new(Udp)).await?;
    for node in nodes.iter().chain([&friend]) {
        until(node, "the friend", |members| members.live().count() == 3).await?;
        assert!(node.members().borrow().iter().all(|member| member.node <= 3));
    }
    assert!(nodes[0].counts().sealed > 0);
    assert!(strangers.iter().all(|stranger| stranger.members().borrow().iter().count() == 1));
    Ok(())
}

/// More than a datagram of UDP can have: each node says 16 KiB that cannot be compressed to less than 12. The gossip library
/// sends it in messages that it estimates to fit, so the largest is somewhat less than 64 KiB.
#[tokio::test]
async fn what_all_say_may_be_more_than_a_datagram() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let nodes = mesh(7, folder.path(), Arc::new(Udp)).await?;
    let mut random = [0; 16 * 1024];
    let said = |random: &[u8]| -> Vec<String> {
        // 64 letters.
        let text = |chunk: &[u8]| chunk.iter().map(|byte| char::from(b'0' + byte % 64)).collect();
        random.chunks(1024).map(text).collect()
    };
    for node in &nodes {
        getrandom::fill(&mut random)?;
        node.publish_health(said(&random))?;
    }
    // One that comes last gets all of it.
    let late = start(settings(8, folder.path(), &[nodes[0].address()])?, 8, Arc::new(Udp)).await?;
    for node in nodes.iter().take(1).chain([&late]) {
        let others = if std::ptr::eq(node, &late) { 7 } else { 6 };
        let mut health = node.health();
        let all = health.wait_for(|health| {
            health.len() == others && health.values().all(|said| said.len() == 16 && said[0].len() == 1024)
        });
        let waited = timeout(LONG, all).await;
        let missed = waited.is_err();
        drop(waited);
        anyhow::ensure!(!missed, "{:?} {:?}", node.counts(), health.borrow().len());
    }
    let counts = nodes[0].counts();
    assert!(counts.too_large == 0 && counts.not_sent == 0, "{counts:?}");
    let largest = nodes.iter().map(|node| node.counts().message_bytes_max).max();
    assert!(largest > Some(40_000), "{largest:?}");
    Ok(())
}

#[tokio::test]
async fn what_cannot_start_says_why() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let of = |settings| Membership::start(settings, Identity::new(1, None), Arc::new(Udp));
    let everywhere = MembershipSettings { listen: "0.0.0.0:0".parse()?, ..settings(1, folder.path(), &[])? };
    assert!(matches!(of(everywhere).await, Err(MembershipError::Advertise(_))));
    let taken = UdpSocket::bind(LOCAL).await?;
    let twice = MembershipSettings { listen: taken.local_addr()?, ..settings(1, folder.path(), &[])? };
    assert!(matches!(of(twice).await, Err(MembershipError::Bind(..))));
    std::fs::write(folder.path().join("1"), "")?;
    let no_folder = settings(1, folder.path(), &[])?;
    assert!(matches!(of(no_folder).await, Err(MembershipError::Generation(..))));
    Ok(())
}

#[tokio::test]
async fn the_end_of_gossip_is_told() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let node = start(settings(1, folder.path(), &[])?, 1, Arc::new(Udp)).await?;
    assert!(node.ended().now_or_never().is_none(), "it has not ended");
    node.abort();
    assert!(!timeout(LONG, node.ended()).await?.is_empty());
    Ok(())
}
