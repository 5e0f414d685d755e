//! Calls that are not what they should be: refused, and nothing is left of them.

use super::*;
use crate::consensus::{frame, network::PIECE_BYTES, types::Vote};
use bytes::Bytes;
use futures_util::stream;
use tonic::Code;
use trestle_proto::raft::{
    ElectNow, Frame, SnapshotHead, SnapshotPiece, leadership_client::LeadershipClient,
    raft_client::RaftClient, snapshot_piece::Piece,
};

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_changes_nothing() {
    let mut nodes = Nodes::expecting(1);
    nodes.start("a").await;
    nodes.all_vote().await;
    nodes.set("a", "k", "1").await;
    let consensus = nodes.at("a");
    let (node, place) = (consensus.node(), nodes.places["a"].to_string());
    // The same cluster, as another node.
    let other = crate::mesh::Identity::new(node ^ 1, consensus.identity().cluster());
    let channels = Channels::new(other, Arc::new(crate::mesh::Tcp), None);
    let mut client = RaftClient::new(channels.to(node, &place));
    let junk = || Frame { content: Bytes::from_static(b"\x01{}") };
    assert_eq!(client.vote(junk()).await.unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(client.append(junk()).await.unwrap_err().code(), Code::InvalidArgument);

    let piece = |piece| SnapshotPiece { piece: Some(piece) };
    let head = |length_bytes| {
        let vote = frame::write(&Vote::new(1, 1)).unwrap().content;
        piece(Piece::Head(SnapshotHead { vote, length_bytes }))
    };
    let data = |bytes: usize| piece(Piece::Data(vec![0; bytes].into()));
    for (pieces, why) in [
        (vec![], "begins with its head"),
        (vec![data(1)], "begins with its head"),
        (vec![head(2), data(1)], "shorter"),
        (vec![head(PIECE_BYTES as u64), data(PIECE_BYTES), data(1)], "longer"),
        (vec![head(u64::MAX)], "too large"),
        (vec![head(1), data(1)], "damaged"),
        (vec![head(100), data(100)], "damaged"),
    ] {
        let refused = client.snapshot(stream::iter(pieces)).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{why}");
        assert!(refused.message().contains(why), "{why}: {refused}");
    }
    let left = fs::read_dir(nodes.path("a").join("consensus/snapshots")).unwrap().count();
    assert_eq!(left, 0);

    // A leader need not be elected, and one of another term has nothing to say.
    let term = nodes.status("a").await.term;
    let mut client = LeadershipClient::new(channels.to(node, &place));
    for term in [term, term + 1] {
        assert!(!client.elect(ElectNow { term }).await.unwrap().into_inner().begun);
    }
    nodes.set("a", "k", "2").await;
    assert_eq!(nodes.status("a").await.term, term);
}
