//! What nodes share: replicated entities that survive crashes. Knows no type of the configuration, only bytes.

mod cluster;
mod consensus;
mod exchange;
mod measured;
mod membership;
mod mesh;
mod shares;

pub use cluster::{Census, Cluster, JoinError, MeshSettings, Other, Standing};
pub use consensus::{
    BackupError, ChainError, Change, Changed, ClusterError, Consensus, Entity, Founding, MemberStatus,
    MeshWay, Mismatch, OpenError, Opened, Prepared, ProposeError, ReadError, Record, RecordStep,
    RestoreError, Restored, Revision, SetAside, ShareRun, Status, Step, Write, chain, restore,
};
pub use exchange::{
    CLOCK_OFFSET_ALERT_MS, Clock, Exchange, ExchangeCounts, ExchangeSettings, Flushed, Neighbours,
    PeerCounts, Pulled, SystemClock,
};
pub use measured::{FSYNC_SECONDS, GOSSIP_ROUND_SECONDS};
pub use membership::{
    BadSecrets, DatagramSocket, Datagrams, Facts, GossipCounts, Health, HealthTooLarge, Member, Members,
    Membership, MembershipError, MembershipSettings, Secrets, Udp,
};
pub use mesh::{
    Channels, ClusterId, Identity, InitTls, InitTlsError, Listener, Network, NodeId, NotAClusterId,
    NotThisCluster, Peer, Server, ServerError, Stream, Tcp, Tls, TlsError, certificate_end, init_tls,
};
