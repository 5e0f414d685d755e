//! Pages of several nodes as one, with one cursor: where the lines of each node go on.

use std::{cmp::Reverse, collections::BTreeMap, fmt, str::FromStr};
use trestle_cluster::NodeId;
use trestle_store::{Cursor, Line, Page};

/// Most nodes of a cursor: many more than a cluster has.
const NODES_MAX: usize = 128;

/// Where the lines of a node go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// At its newest.
    Begin,
    /// Behind this.
    At(Cursor),
    /// Nowhere: all were told.
    Done,
}

impl Place {
    /// Behind which place they go on, if not at the newest.
    pub(super) fn after(self) -> Option<Cursor> {
        match self {
            Self::At(cursor) => Some(cursor),
            Self::Begin | Self::Done => None,
        }
    }
}

/// Where a page ended, as a short text ([`fmt::Display`], [`FromStr`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reached {
    /// All lines that ended later were told, of those nodes that answered.
    pub(super) until_ms: u64,
    /// Of each node.
    pub(super) places: BTreeMap<NodeId, Place>,
}

impl Reached {
    /// Before the first page.
    pub(super) fn nothing() -> Self {
        Self { until_ms: u64::MAX, places: BTreeMap::new() }
    }

    /// Where the lines of a node go on. Of a node that was not there at the first page no newer ones are told: what ends
    /// meanwhile moves no page.
    pub(super) fn of(&self, node: NodeId) -> Place {
        let unknown =
            if self.until_ms == u64::MAX { Place::Begin } else { Place::At(Cursor::at(self.until_ms)) };
        self.places.get(&node).copied().unwrap_or(unknown)
    }
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.until_ms)?;
        self.places.iter().try_for_each(|(node, place)| match place {
            Place::Begin => write!(f, ",{node:x}:"),
            Place::At(cursor) => write!(f, ",{node:x}:{cursor}"),
            Place::Done => write!(f, ",{node:x}:-"),
        })
    }
}

/// A text that is no cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotReached;

impl FromStr for Reached {
    type Err = NotReached;

    fn from_str(text: &str) -> Result<Self, NotReached> {
        let mut parts = text.split(',');
        let until_ms = parts.next().and_then(|part| u64::from_str_radix(part, 16).ok()).ok_or(NotReached)?;
        let mut places = BTreeMap::new();
        for part in parts {
            let (node, place) = part.split_once(':').ok_or(NotReached)?;
            let node = NodeId::from_str_radix(node, 16).map_err(|_| NotReached)?;
            let place = match place {
                "" => Place::Begin,
                "-" => Place::Done,
                cursor => Place::At(cursor.parse().map_err(|_| NotReached)?),
            };
            if places.insert(node, place).is_some() || places.len() > NODES_MAX {
                return Err(NotReached);
            }
        }
        if places.is_empty() { Err(NotReached) } else { Ok(Self { until_ms, places }) }
    }
}

/// Makes one page of those of one node that several copies gave, each of other segments.
pub(super) fn join(pages: Vec<Page>) -> Page {
    let mut joined = Page { skipped: pages.iter().map(|page| page.skipped).sum(), ..Page::default() };
    // What lies behind it is not known of all.
    joined.next = pages.iter().filter_map(|page| page.next).max();
    let lines = pages.into_iter().flat_map(|page| page.places.into_iter().zip(page.lines));
    let mut lines: Vec<_> =
        lines.filter(|(place, _)| joined.next.is_none_or(|next| *place >= next)).collect();
    lines.sort_unstable_by_key(|(place, _)| Reverse(*place));
    (joined.places, joined.lines) = lines.into_iter().unzip();
    joined
}

/// A page of all.
#[derive(Debug, Default)]
pub(super) struct Merged {
    /// The newest first, each with the node that it is of.
    pub(super) lines: Vec<(NodeId, Line)>,
    /// Where the next page begins, if there may be one.
    pub(super) next: Option<Reached>,
    /// Records that could not be read on the way.
    pub(super) skipped: u64,
}

/// Lines of one node that are not told yet.
struct Source {
    node: NodeId,
    /// The last ones come first.
    lines: Vec<(Cursor, Line)>,
    /// What lies behind them.
    next: Option<Cursor>,
    /// Behind what was told.
    place: Place,
}

impl Source {
    fn head_ms(&self) -> Option<u64> {
        self.lines.last().map(|(place, _)| place.end_ms())
    }

    /// Up to this time more is known to lie there, but not what.
    fn unknown_ms(&self) -> Option<u64> {
        self.next.filter(|_| self.lines.is_empty()).map(Cursor::end_ms)
    }

    fn place(&self, until_ms: u64) -> Place {
        let reached = match (self.lines.is_empty(), self.next) {
            (true, None) => return Place::Done,
            (true, Some(next)) => Place::At(next),
            (false, _) => self.place,
        };
        let until = Cursor::at(until_ms);
        // All that ended later was told, or is not there.
        Place::At(match reached {
            Place::At(at) => at.min(until),
            _ => until,
        })
    }
}

/// Makes one page of those that nodes gave from where they were before. Nodes that gave none (`silent`) stay where they are:
/// once they answer their lines come, late.
pub(super) fn merge(
    before: &Reached,
    given: Vec<(NodeId, Page)>,
    silent: &[NodeId],
    lines_max: usize,
) -> Merged {
    let mut merged =
        Merged { skipped: given.iter().map(|(_, page)| page.skipped).sum(), ..Merged::default() };
    let mut sources: Vec<_> = given
        .into_iter()
        .map(|(node, page)| {
            let mut lines: Vec<_> = page.places.into_iter().zip(page.lines).collect();
            lines.reverse();
            Source { node, lines, next: page.next, place: before.of(node) }
        })
        .collect();
    let until_ms = loop {
        let last_ms = merged.lines.last().map(|(_, line): &(NodeId, Line)| line.end_ms);
        let unknown_ms = sources.iter().filter_map(Source::unknown_ms).max();
        if merged.lines.len() >= lines_max {
            break last_ms.unwrap_or(0);
        }
        let newest = sources.iter_mut().filter_map(|source| Some((source.head_ms()?, source)));
        let newest = newest.max_by_key(|(head_ms, source)| (*head_ms, source.node));
        let Some((_, source)) = newest.filter(|(head_ms, _)| unknown_ms.is_none_or(|ms| *head_ms >= ms))
        else {
            break unknown_ms.unwrap_or(0);
        };
        if let Some((place, line)) = source.lines.pop() {
            source.place = Place::At(place);
            merged.lines.push((source.node, line));
        }
    };
    let mut next = Reached { until_ms: until_ms.min(before.until_ms), places: BTreeMap::new() };
    next.places.extend(sources.iter().map(|source| (source.node, source.place(until_ms))));
    let more = next.places.values().any(|place| *place != Place::Done);
    let done = before.places.iter().filter(|(_, place)| **place == Place::Done);
    next.places.extend(done.map(|(node, place)| (*node, *place)));
    next.places.extend(silent.iter().map(|node| (*node, before.of(*node))));
    merged.next = more.then_some(next);
    merged
}

#[cfg(test)]
#[path = "merge/tests.rs"]
mod tests;
