//! Questions about the cluster: all of its nodes are asked, and what they say is made one answer.

use super::{
    answer::Answers,
    merge::{self, Place, Reached},
    round::{Answer, Round},
    stand_in::Holder,
    wire::{self, Malformed},
};
use crate::ledger::Unanswered;
use futures_util::future::OptionFuture;
use std::{collections::BTreeMap, io};
use trestle_cluster::{Cluster, ClusterError, Other, Peer};
use trestle_proto::{
    queries::{LinesQuestion, SumsQuestion, TraceQuestion, queries_client::QueriesClient},
    tonic::{Code, Status},
};
use trestle_store::{Cursor, Dimension, GROUPS_MAX, Line, PAGE_LINES_MAX, Page, Query, Sum, SumsError};

/// Who asks all nodes. A clone is the same.
#[derive(Clone)]
pub(crate) struct Gather {
    cluster: Cluster,
    answers: Answers,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ungathered {
    /// A cursor of another place.
    #[error("`cursor`: must be the `next` of a page, as it is")]
    Cursor,
    /// This node is asked by too many.
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
    /// More than there may be, of one node or of all.
    #[error("`by`: {}", SumsError::TooManyGroups)]
    TooManyGroups,
    /// The disk of this node.
    #[error(transparent)]
    Disk(#[from] io::Error),
    /// Consensus has ended.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

/// What all nodes said together.
pub(crate) struct Gathered<T> {
    /// It.
    pub(crate) all: T,
    /// Names of nodes that did not answer, so that what they know is not in it.
    pub(crate) incomplete: Vec<String>,
}

/// A page of lines.
pub(crate) struct Lines {
    /// The newest first, each with the name of the node that it is of where there are several.
    pub(crate) lines: Vec<(Option<String>, Line)>,
    /// The cursor of the next page, if there may be one.
    pub(crate) next: Option<String>,
    /// Records that could not be read on the way.
    pub(crate) skipped: u64,
}

impl Gather {
    pub(super) fn new(cluster: Cluster, answers: Answers) -> Self {
        Self { cluster, answers }
    }

    /// A page of the lines of all nodes, the newest first.
    pub(crate) async fn lines(
        &self,
        query: Query,
        cursor: Option<&str>,
        lines_max: usize,
    ) -> Result<Gathered<Lines>, Ungathered> {
        let lines_max = lines_max.clamp(1, PAGE_LINES_MAX);
        let Some(channels) = self.cluster.channels() else {
            return self.own_lines(query, cursor, lines_max).await;
        };
        let before = cursor.map_or(Ok(Reached::nothing()), str::parse).map_err(|_| Ungathered::Cursor)?;
        let round = Round { answers: &self.answers, channels, census: &self.cluster.census().await? };
        let own = self.cluster.consensus().node();
        let question = |node, of_copy| LinesQuestion {
            filter: Some(wire::to_filter(&query)),
            after: before.of(node).after().map(|place| place.to_string()).unwrap_or_default(),
            lines_max: lines_max as u32,
            of_copy,
        };
        let is_open = |node| before.of(node) != Place::Done;
        let asked: Vec<_> = round.census.others.iter().filter(|other| is_open(other.node)).collect();
        let theirs = round.ask(&asked, |client, other| lines_of(client, question(other.node, None)));
        let ours = async {
            let after = before.of(own).after();
            let page = is_open(own).then(|| self.own_page(query.clone(), after, lines_max));
            OptionFuture::from(page).await.transpose()
        };
        let (ours, theirs) = tokio::join!(ours, theirs);
        let mut given: Vec<_> = ours?.map(|page| (own, page)).into_iter().collect();
        let mut silent = Vec::new();
        for (other, answer) in asked.into_iter().zip(theirs) {
            match answer {
                Ok(page) => given.push((other.node, page)),
                Err(status) => silent.push(silence(other, &status)),
            }
        }
        let (round, question) = (&round, &question);
        let of_copies = round.copies(&silent, is_open, |holder, of_copy| async move {
            let question = question(of_copy.node, Some(of_copy));
            match holder {
                Holder::Own => Ok(wire::from_lines(self.answers.page(question).await?)?),
                Holder::Peer(other) => lines_of(round.client(other), question).await,
            }
        });
        let of_copies = of_copies.await;
        given.extend(of_copies.answers.into_iter().map(|(node, pages)| (node, merge::join(pages))));
        let merged = merge::merge(&before, given, &of_copies.silent, lines_max);
        let named = |node| (!round.census.others.is_empty()).then(|| round.name(own, node));
        let lines = Lines {
            lines: merged.lines.into_iter().map(|(node, line)| (named(node), line)).collect(),
            next: merged.next.map(|next| next.to_string()),
            skipped: merged.skipped,
        };
        Ok(Gathered { all: lines, incomplete: of_copies.incomplete })
    }

    async fn own_lines(
        &self,
        query: Query,
        cursor: Option<&str>,
        lines_max: usize,
    ) -> Result<Gathered<Lines>, Ungathered> {
        let after = cursor.map(str::parse).transpose().map_err(|_| Ungathered::Cursor)?;
        let page = self.own_page(query, after, lines_max).await?;
        let lines = Lines {
            lines: page.lines.into_iter().map(|line| (None, line)).collect(),
            next: page.next.map(|next| next.to_string()),
            skipped: page.skipped,
        };
        Ok(Gathered { all: lines, incomplete: Vec::new() })
    }

    async fn own_page(
        &self,
        query: Query,
        after: Option<Cursor>,
        lines_max: usize,
    ) -> Result<Page, Ungathered> {
        let page = self.answers.reader.ask(move |ledger| ledger.query(&query, after, lines_max)).await?;
        Ok(page?)
    }

    /// Sums of the lines of all nodes, ordered by their groups.
    pub(crate) async fn sums(
        &self,
        query: Query,
        by: Vec<Dimension>,
    ) -> Result<Gathered<Vec<Sum>>, Ungathered> {
        let question = SumsQuestion {
            filter: Some(wire::to_filter(&query)),
            by: by.iter().map(|dimension| dimension.name().to_owned()).collect(),
            of_copy: None,
        };
        let (mut sums, dimensions) = (BTreeMap::new(), by.len());
        let ours = self.answers.reader.ask(move |ledger| ledger.sums(&query, &by));
        let Some(channels) = self.cluster.channels() else {
            return Ok(Gathered { all: ours.await?.map_err(Ungathered::from)?, incomplete: Vec::new() });
        };
        let round = Round { answers: &self.answers, channels, census: &self.cluster.census().await? };
        let asked: Vec<_> = round.census.others.iter().collect();
        let theirs = round.ask(&asked, |client, _| sums_of(client, question.clone(), dimensions));
        let (ours, theirs) = tokio::join!(ours, theirs);
        add(&mut sums, ours?.map_err(Ungathered::from)?)?;
        let mut silent = Vec::new();
        for (other, answer) in asked.into_iter().zip(theirs) {
            match answer {
                Ok(theirs) => add(&mut sums, theirs)?,
                Err(status) if status.code() == Code::OutOfRange => return Err(Ungathered::TooManyGroups),
                Err(status) => silent.push(silence(other, &status)),
            }
        }
        let (round, question) = (&round, &question);
        let of_copies = round.copies(
            &silent,
            |_| true,
            |holder, of_copy| async move {
                let question = SumsQuestion { of_copy: Some(of_copy), ..question.clone() };
                match holder {
                    Holder::Own => self.answers.summed(question).await,
                    Holder::Peer(other) => sums_of(round.client(other), question, dimensions).await,
                }
            },
        );
        let of_copies = of_copies.await;
        for theirs in of_copies.answers.into_iter().flat_map(|(_, theirs)| theirs) {
            add(&mut sums, theirs)?;
        }
        Ok(Gathered { all: sums.into_values().collect(), incomplete: of_copies.incomplete })
    }

    /// Names of members that do not tell what they count: nobody is asked for it, they tell it all the time.
    pub(crate) async fn unheard(&self) -> Result<Vec<String>, Ungathered> {
        let Some(counts) = self.cluster.exchange_counts() else { return Ok(Vec::new()) };
        let is_heard = |node| counts.peers.iter().any(|peer| peer.connected && peer.node == node);
        let others = self.cluster.census().await?.others.into_iter();
        Ok(others.filter(|other| !is_heard(other.node)).map(|other| other.name).collect())
    }

    /// Why a request went as it did, as JSON, from whichever node has it. There are no copies of that.
    pub(crate) async fn trace(&self, id: u128) -> Result<Gathered<Option<Vec<u8>>>, Ungathered> {
        let own = self.answers.trace(id);
        let channels = self.cluster.channels().filter(|_| own.is_none());
        let Some(channels) = channels else { return Ok(Gathered { all: own, incomplete: Vec::new() }) };
        let round = Round { answers: &self.answers, channels, census: &self.cluster.census().await? };
        let asked: Vec<_> = round.census.others.iter().collect();
        let question = TraceQuestion { request_id: wire::to_id(id) };
        let theirs = round.ask(&asked, |mut client, _| {
            let question = question.clone();
            async move { Ok(client.trace(question).await?.into_inner().trace) }
        });
        let mut silent = Vec::new();
        for (other, answer) in asked.iter().zip(theirs.await) {
            match answer {
                Ok(trace) if trace.is_empty() => {}
                Ok(trace) => return Ok(Gathered { all: Some(trace.into()), incomplete: Vec::new() }),
                Err(status) => silent.push(silence(other, &status).name.clone()),
            }
        }
        Ok(Gathered { all: None, incomplete: silent })
    }
}

async fn lines_of(mut client: QueriesClient<Peer>, question: LinesQuestion) -> Answer<Page> {
    let lines_max = question.lines_max as usize;
    let page = wire::from_lines(client.lines(question).await?.into_inner())?;
    if page.lines.len() > lines_max {
        return Err(Status::internal("there are more lines than were asked for"));
    }
    Ok(page)
}

async fn sums_of(mut client: QueriesClient<Peer>, question: SumsQuestion, by: usize) -> Answer<Vec<Sum>> {
    let mut parts = client.sums(question).await?.into_inner();
    let mut sums = Vec::new();
    while let Some(part) = parts.message().await? {
        wire::from_part(part, by, &mut sums).map_err(|error: Malformed| Status::from(error))?;
    }
    Ok(sums)
}

/// Adds the sums of a node.
fn add(all: &mut BTreeMap<Vec<Box<str>>, Sum>, sums: Vec<Sum>) -> Result<(), Ungathered> {
    for sum in sums {
        let is_full = all.len() >= GROUPS_MAX;
        match all.get_mut(&sum.group) {
            Some(known) => {
                known.reported.add(&sum.reported);
                known.estimated.add(&sum.estimated);
            }
            None if is_full => return Err(Ungathered::TooManyGroups),
            None => drop(all.insert(sum.group.clone(), sum)),
        }
    }
    Ok(())
}

impl From<SumsError> for Ungathered {
    fn from(error: SumsError) -> Self {
        match error {
            SumsError::TooManyGroups => Self::TooManyGroups,
            SumsError::Disk(error) => Self::Disk(error),
        }
    }
}

/// A node that does not answer is named to whoever asked; why is for the log.
fn silence<'a>(other: &'a Other, status: &Status) -> &'a Other {
    tracing::debug!(node = other.name, %status, "a node does not answer a question");
    other
}
