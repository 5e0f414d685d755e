//! What is measured of the cluster: consensus, gossip, the exchange of counters.

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge};
use trestle_cluster::{Cluster, ExchangeCounts, FSYNC_SECONDS, GOSSIP_ROUND_SECONDS, GossipCounts, Status};

const LEADS: &str = "trestle_raft_leads";
const HAS_LEADER: &str = "trestle_raft_has_leader";
const TERM: &str = "trestle_raft_term";
const COMMIT_LAG: &str = "trestle_raft_commit_lag";
const APPLY_LAG: &str = "trestle_raft_apply_lag";
const APPLIED: &str = "trestle_raft_applied_index";
const REVISION_LAG: &str = "trestle_document_revision_lag";
const QUORUM_ACK: &str = "trestle_raft_quorum_ack_seconds";
const MEMBERS: &str = "trestle_cluster_members";
const VERSION: &str = "trestle_cluster_version";
const NODES: &str = "trestle_gossip_nodes";
const DATAGRAMS: &str = "trestle_gossip_datagrams_total";
const GOSSIP_BYTES: &str = "trestle_gossip_bytes_total";
const BYTES: &str = "trestle_exchange_bytes_total";
const CELLS: &str = "trestle_exchange_cells_total";
const PEERS: &str = "trestle_exchange_peers";
const LAG: &str = "trestle_exchange_lag_seconds";
const FROZEN: &str = "trestle_exchange_frozen";
const REPAIRS: &str = "trestle_exchange_repairs_total";
const CLOCK: &str = "trestle_clock_offset_seconds";

/// Says what each is.
pub(super) fn describe() {
    describe_gauge!(LEADS, "1 on the node that leads the cluster.");
    describe_gauge!(HAS_LEADER, "1 while this node knows who leads; at 0 no changes are taken.");
    describe_gauge!(TERM, "Counts elections.");
    describe_gauge!(COMMIT_LAG, "Entries on this disk that are not known to be on a majority.");
    describe_gauge!(APPLY_LAG, "Entries on a majority that are not in effect here.");
    describe_gauge!(APPLIED, "The last entry that is in effect here.");
    describe_gauge!(
        REVISION_LAG,
        "Revisions of the document that others have in effect and this node does not."
    );
    describe_histogram!(FSYNC_SECONDS, Unit::Seconds, "Until what consensus has written is on the disk.");
    describe_histogram!(
        GOSSIP_ROUND_SECONDS,
        Unit::Seconds,
        "From a peer being asked in gossip to its answer."
    );
    describe_gauge!(QUORUM_ACK, Unit::Seconds, "On the leader: since a majority followed it.");
    describe_gauge!(VERSION, "The version of the cluster, which `trestle cluster finalize` raises.");
    describe_gauge!(MEMBERS, "Members of the cluster, by whether they vote.");
    describe_gauge!(
        NODES,
        "Nodes that gossip knows, this one among them, by whether they were heard of lately."
    );
    describe_counter!(DATAGRAMS, "Datagrams of gossip, by what became of them.");
    describe_counter!(GOSSIP_BYTES, Unit::Bytes, "Bytes of datagrams of gossip, by direction.");
    describe_counter!(BYTES, Unit::Bytes, "Bytes of counters exchanged with peers, by direction.");
    describe_counter!(CELLS, "Cells of counters exchanged with peers, by direction.");
    describe_gauge!(PEERS, "Peers that counters are exchanged with.");
    describe_gauge!(
        LAG,
        Unit::Seconds,
        "For how long the peer that lags most has not had all that was counted here."
    );
    describe_gauge!(FROZEN, "1 while a member is out of reach and limits are spent by shares.");
    describe_counter!(REPAIRS, "Comparisons of counters with a peer, by result.");
    describe_gauge!(
        CLOCK,
        Unit::Seconds,
        "How far the clock of the peer that differs most is from this one's."
    );
}

/// Takes a look.
pub(super) async fn look(cluster: &Cluster) {
    if let Ok(status) = cluster.consensus().status().await {
        consensus(&status);
    }
    gauge!(REVISION_LAG).set(revision_lag(cluster) as f64);
    if let Some(members) = cluster.members() {
        // Not borrowed twice at once: a writer that comes between waits for the first, and the second for the writer.
        let members = members.borrow().clone();
        let (all, live) = (members.iter().count(), members.live().count());
        gauge!(NODES, "live" => "true").set(live as f64);
        gauge!(NODES, "live" => "false").set(all.saturating_sub(live) as f64);
    }
    if let Some(counts) = cluster.gossip_counts() {
        gossip(&counts);
    }
    if let Some(counts) = cluster.exchange_counts() {
        exchange(&counts);
    }
}

/// Nothing where this node is alone.
fn revision_lag(cluster: &Cluster) -> u64 {
    let members = cluster.members().map(|members| members.borrow().clone());
    let known = members.iter().flat_map(|members| members.iter()).map(|member| member.facts.revision).max();
    known.unwrap_or(0).saturating_sub(cluster.consensus().revision())
}

fn consensus(status: &Status) {
    let flag = |is: bool| f64::from(u8::from(is));
    gauge!(LEADS).set(flag(status.leader == Some(status.node)));
    gauge!(HAS_LEADER).set(flag(status.leader.is_some()));
    gauge!(TERM).set(status.term as f64);
    gauge!(VERSION).set(f64::from(status.version));
    gauge!(COMMIT_LAG).set(status.commit_lag() as f64);
    gauge!(APPLY_LAG).set(status.apply_lag() as f64);
    gauge!(APPLIED).set(status.applied as f64);
    gauge!(QUORUM_ACK).set(status.quorum_ack_ms_ago.unwrap_or(0) as f64 / 1_000.0);
    let voters = status.members.iter().filter(|member| member.votes).count();
    gauge!(MEMBERS, "votes" => "true").set(voters as f64);
    gauge!(MEMBERS, "votes" => "false").set((status.members.len() - voters) as f64);
}

fn gossip(counts: &GossipCounts) {
    counter!(GOSSIP_BYTES, "direction" => "in").absolute(counts.bytes_received);
    counter!(GOSSIP_BYTES, "direction" => "out").absolute(counts.bytes_sent);
    for (what, count) in [
        ("sent", counts.sent),
        ("received", counts.received),
        ("not_sent", counts.not_sent),
        ("too_large", counts.too_large),
        ("garbage", counts.garbage),
        ("sealed", counts.sealed),
        ("time", counts.time),
        ("replayed", counts.replayed),
        ("crowded", counts.crowded),
    ] {
        counter!(DATAGRAMS, "what" => what).absolute(count);
    }
}

fn exchange(counts: &ExchangeCounts) {
    counter!(BYTES, "direction" => "in").absolute(counts.bytes_received);
    counter!(BYTES, "direction" => "out").absolute(counts.bytes_sent);
    counter!(CELLS, "direction" => "in").absolute(counts.cells_received);
    counter!(CELLS, "direction" => "out").absolute(counts.cells_sent);
    counter!(REPAIRS, "result" => "ok").absolute(counts.repairs);
    counter!(REPAIRS, "result" => "failed").absolute(counts.repairs_failed);
    gauge!(PEERS).set(counts.peers.iter().filter(|peer| peer.connected).count() as f64);
    gauge!(FROZEN).set(f64::from(u8::from(counts.frozen)));
    let lag_ms = counts.peers.iter().map(|peer| peer.lag_ms).max().unwrap_or(0);
    gauge!(LAG).set(lag_ms as f64 / 1_000.0);
    let offsets = counts.peers.iter().filter_map(|peer| peer.clock_offset_ms);
    let offset_ms = offsets.max_by_key(|offset| offset.unsigned_abs()).unwrap_or(0);
    gauge!(CLOCK).set(offset_ms as f64 / 1_000.0);
}
