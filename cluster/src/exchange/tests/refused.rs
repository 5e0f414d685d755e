//! What a node does not take from a peer.

use super::node::{Node, settings};
use crate::{Channels, ClusterId, Identity, Peer, SystemClock, Tcp, exchange::wire::PAGE_CELLS_MAX};
use std::sync::Arc;
use tonic::Code;
use trestle_counters::Settled;
use trestle_proto::counters::{
    Actor, Cell, Compare, Heard, RepairQuestion, Swap, Told, counters_client::CountersClient,
    repair_question::Question,
};

/// A peer of node 1 that says what it likes.
fn client(node: &Node) -> CountersClient<Peer> {
    let channels = Channels::new(Identity::new(2, Some(ClusterId(9))), Arc::new(Tcp), None);
    CountersClient::new(channels.to(1, &node.address.to_string()))
}

async fn tell(node: &Node, told: Vec<Told>) -> Result<Vec<Heard>, Code> {
    let answers = client(node).exchange(tokio_stream::iter(told)).await;
    let mut answers = answers.map_err(|status| status.code())?.into_inner();
    let mut all = Vec::new();
    while let Some(heard) = answers.message().await.map_err(|status| status.code())? {
        all.push(heard);
    }
    Ok(all)
}

fn hello(node: u64, incarnation: u64) -> Told {
    Told { hello: Some(Actor { node, incarnation }), ..Told::default() }
}

#[tokio::test]
async fn what_no_node_of_a_cluster_tells_is_refused() -> anyhow::Result<()> {
    let node = Node::start((1, 1), &Settled::new(0), SystemClock, settings()).await?;
    let cells = |cells| vec![hello(2, 5), Told { cells, up_to: 1, ..Told::default() }];
    let heard = tell(&node, cells(vec![Cell::default()])).await.unwrap();
    let acknowledged: Vec<_> = heard.iter().map(|heard| heard.acknowledged).collect();
    assert_eq!((acknowledged, heard[0].hello.map(|actor| actor.node)), (vec![0, 1], Some(1)));
    let heard = tell(&node, vec![hello(2, 5)]).await.unwrap();
    assert_eq!(heard[0].acknowledged, 1, "it is remembered");

    let refused = [
        (vec![Told::default()], Code::InvalidArgument, "nobody"),
        (vec![hello(3, 5)], Code::InvalidArgument, "another one than the caller"),
        (vec![hello(2, 4)], Code::FailedPrecondition, "an earlier life"),
        (cells(vec![Cell { window: 255, ..Cell::default() }]), Code::InvalidArgument, "no window"),
        (cells(vec![Cell::default(); 2_001]), Code::InvalidArgument, "too many cells"),
        (
            cells(vec![Cell { limit: 1, subject_low: 1, ..Cell::default() }; 60_000]),
            Code::OutOfRange,
            "too large",
        ),
    ];
    for (told, code, what) in refused {
        assert_eq!(tell(&node, told).await.unwrap_err(), code, "{what}");
    }
    Ok(())
}

#[tokio::test]
async fn questions_that_make_no_sense_are_refused() -> anyhow::Result<()> {
    let node = Node::start((1, 1), &Settled::new(0), SystemClock, settings()).await?;
    let ask = async |node_of_caller, question| {
        let caller = Some(Actor { node: node_of_caller, incarnation: 1 });
        let answer = client(&node).repair(RepairQuestion { caller, question }).await;
        answer.map(|answer| answer.into_inner().cells.len()).map_err(|status| status.code())
    };
    let compare = |count| Some(Question::Compare(Compare { hashes: vec![0; count] }));
    let swap = |cells| {
        let buckets = (0..=u8::MAX).collect::<Vec<_>>().into();
        Some(Question::Swap(Swap { buckets, after: None, cells }))
    };
    let cell = Cell { window: 1, node: 7, charged: 3, window_id: u64::MAX, ..Cell::default() };
    assert_eq!(ask(2, compare(256)).await, Ok(0));
    assert_eq!(ask(2, compare(255)).await, Err(Code::InvalidArgument));
    assert_eq!(ask(2, None).await, Err(Code::InvalidArgument));
    assert_eq!(ask(3, compare(256)).await, Err(Code::InvalidArgument));
    assert_eq!(ask(2, swap(vec![cell; 3])).await, Ok(1), "the same one, thrice");
    assert_eq!(ask(2, swap(vec![cell; PAGE_CELLS_MAX + 1])).await, Err(Code::InvalidArgument));
    Ok(())
}
