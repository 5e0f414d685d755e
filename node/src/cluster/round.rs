//! One question to all members at once, and to copies of those that do not answer.

use super::{
    answer::Answers,
    stand_in::{Holder, Holders},
    wire::MESSAGE_BYTES_MAX,
};
use futures_util::future::join_all;
use std::time::Duration;
use tokio::time::timeout;
use trestle_cluster::{Census, Channels, NodeId, Other, Peer};
use trestle_proto::{
    queries::{OfCopy, queries_client::QueriesClient},
    tonic::Status,
};

/// A peer that has not answered by then counts as one that does not.
const DEADLINE: Duration = Duration::from_secs(3);

/// What a node answers.
pub(super) type Answer<T> = Result<T, Status>;

/// Who is asked, and how.
#[derive(Clone, Copy)]
pub(super) struct Round<'a> {
    pub(super) answers: &'a Answers,
    pub(super) channels: &'a Channels,
    pub(super) census: &'a Census,
}

/// What copies say for nodes that did not.
pub(super) struct OfCopies<T> {
    /// Of each node what each holder said.
    pub(super) answers: Vec<(NodeId, Vec<T>)>,
    /// Nodes of which nothing is known.
    pub(super) silent: Vec<NodeId>,
    /// Names of nodes of which not all is known.
    pub(super) incomplete: Vec<String>,
}

impl<'a> Round<'a> {
    /// Asks members; their answers in the same order.
    pub(super) async fn ask<T, F: Future<Output = Answer<T>>>(
        &self,
        asked: &[&'a Other],
        question: impl Fn(QueriesClient<Peer>, &'a Other) -> F,
    ) -> Vec<Answer<T>> {
        join_all(asked.iter().map(|other| in_time(question(self.client(other), other)))).await
    }

    /// Asks those who have copies of nodes that did not answer, and of those that were removed for good if they are
    /// `wanted`.
    pub(super) async fn copies<T, F: Future<Output = Answer<T>>>(
        &self,
        silent: &[&'a Other],
        wanted: impl Fn(NodeId) -> bool,
        question: impl Fn(Holder<'a>, OfCopy) -> F,
    ) -> OfCopies<T> {
        let is_silent = |other: &Other| silent.iter().any(|silent| silent.node == other.node);
        let there = self.census.others.iter().filter(|other| !is_silent(other)).collect();
        let retired = self.census.retired.iter().copied().filter(|node| wanted(*node));
        let nodes: Vec<_> = silent.iter().map(|other| other.node).chain(retired).collect();
        let holders = Holders { answers: self.answers, channels: self.channels, there };
        let found = holders.find(&nodes).await;
        let mut answers = OfCopies { answers: Vec::new(), silent: Vec::new(), incomplete: Vec::new() };
        for stand_in in found {
            let asking = stand_in.shares.into_iter().map(|(holder, of)| in_time(question(holder, of)));
            let said: Answer<Vec<T>> = join_all(asking).await.into_iter().collect();
            match said {
                Ok(said) => {
                    // One more that is away may have had segments of it, too.
                    let others_away = silent.iter().any(|other| other.node != stand_in.node);
                    if others_away || !stand_in.is_whole {
                        answers.incomplete.push(self.name(0, stand_in.node));
                    }
                    answers.answers.push((stand_in.node, said));
                }
                Err(status) => {
                    let node = stand_in.node;
                    tracing::debug!(node, %status, "copies of a node do not answer");
                    answers.silent.push(node);
                    answers.incomplete.push(self.name(0, node));
                }
            }
        }
        for other in silent {
            let has_answer = answers.answers.iter().any(|(node, _)| *node == other.node);
            if !has_answer && !answers.silent.contains(&other.node) {
                answers.silent.push(other.node);
                answers.incomplete.push(other.name.clone());
            }
        }
        answers.incomplete.sort();
        answers
    }

    /// By which name people know a node; one that was removed is known by its number.
    pub(super) fn name(&self, own: NodeId, node: NodeId) -> String {
        match self.census.others.iter().find(|other| other.node == node) {
            Some(other) => other.name.clone(),
            None if node == own => self.census.own.clone(),
            None => format!("{node:016x}"),
        }
    }

    pub(super) fn client(&self, other: &Other) -> QueriesClient<Peer> {
        QueriesClient::new(self.channels.to(other.node, &other.address))
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX)
    }
}

async fn in_time<T>(answer: impl Future<Output = Answer<T>>) -> Answer<T> {
    let late = |_| Err(Status::deadline_exceeded(format!("no answer within {DEADLINE:?}")));
    timeout(DEADLINE, answer).await.unwrap_or_else(late)
}
