//! Questions for lines, the newest first, page by page.

use crate::{
    folder::Folder,
    line::{Line, OutcomeKind, Owner},
    payload::{IntentSeen, OutcomeSeen},
    rows::Common,
    settled::{self, Settled},
    source::Source,
};
use std::{cmp::Reverse, collections::BinaryHeap, fmt, io, str::FromStr};

/// Most lines of a page.
pub const PAGE_LINES_MAX: usize = 1_000;
/// After so many bytes a page ends, with the lines that it has.
pub(crate) const PAGE_BYTES_READ_MAX: usize = 256 * 1024 * 1024;

/// Which lines are asked for: all that fit everything that is set. A line is of the time at which its call ended, so that
/// what was told of a time that has passed stays true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// From this time on (unix milliseconds).
    pub from_ms: u64,
    /// Before this time.
    pub until_ms: u64,
    /// By whom.
    pub owner: Owner<Option<Box<str>>>,
    /// The model that was asked for.
    pub model: Option<Box<str>>,
    /// The provider.
    pub provider: Option<Box<str>>,
    /// A tag of the caller.
    pub tag: Option<Box<str>>,
    /// The request.
    pub request_id: Option<Box<str>>,
    /// The call.
    pub call: Option<u128>,
    /// How it ended.
    pub outcome: Option<OutcomeKind>,
}

impl Default for Query {
    fn default() -> Self {
        Self {
            from_ms: 0,
            until_ms: u64::MAX,
            owner: Owner::default(),
            model: None,
            provider: None,
            tag: None,
            request_id: None,
            call: None,
            outcome: None,
        }
    }
}

/// Lines, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// What was found; fewer than asked for, and even none, where much had to be read.
    pub lines: Vec<Line>,
    /// Where each of them is: a page can go on behind any of them.
    pub places: Vec<Cursor>,
    /// Where the next page begins, if there may be one.
    pub next: Option<Cursor>,
    /// Records that could not be read on the way.
    pub skipped: u64,
}

/// Where a page ended, as a short text ([`fmt::Display`], [`FromStr`]). What has been written since does not move it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    end_ms: u64,
    sequence: u64,
    offset: usize,
}

/// A text that is no cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor")]
pub struct CursorError;

impl Cursor {
    /// In front of all lines that ended at this time (unix milliseconds) or before, and behind all others.
    pub const fn at(end_ms: u64) -> Self {
        Self { end_ms, sequence: u64::MAX, offset: usize::MAX }
    }

    /// When the line there ended (unix milliseconds).
    pub const fn end_ms(self) -> u64 {
        self.end_ms
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}.{:x}.{:x}", self.end_ms, self.sequence, self.offset)
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let mut parts = text.splitn(3, '.').map(|part| u64::from_str_radix(part, 16));
        let mut part = || parts.next().and_then(Result::ok).ok_or(CursorError);
        let (end_ms, sequence) = (part()?, part()?);
        Ok(Self { end_ms, sequence, offset: part()?.try_into().map_err(|_| CursorError)? })
    }
}

impl Query {
    /// Whether lines of these times may be asked for.
    pub(crate) fn overlaps(&self, (first_ms, last_ms): (u64, u64)) -> bool {
        first_ms < self.until_ms && last_ms >= self.from_ms
    }

    pub(crate) fn is_within(&self, end_ms: u64) -> bool {
        (self.from_ms..self.until_ms).contains(&end_ms)
    }

    /// Whether sums by the hour, with what they keep apart, are enough to answer.
    pub(crate) fn fits_rows(&self) -> bool {
        self.request_id.is_none() && self.call.is_none() && self.outcome.is_none()
    }

    /// Everything but the time and what rows do not keep apart.
    pub(crate) fn fits(&self, common: &Common<'_>) -> bool {
        self.fits_names(common.owner, (common.model, common.provider), || common.tags.iter().copied())
    }

    fn fits_names<'a, I: Iterator<Item = &'a str>>(
        &self,
        owner: Owner<&str>,
        (model, provider): (&str, &str),
        tags: impl FnOnce() -> I,
    ) -> bool {
        let asked = [
            (&self.owner.customer, owner.customer),
            (&self.owner.team, owner.team),
            (&self.owner.user, owner.user),
            (&self.owner.key, owner.key),
            (&self.model, model),
            (&self.provider, provider),
        ];
        let named = asked.into_iter().all(|(asked, is)| asked.as_deref().is_none_or(|asked| asked == is));
        named && self.tag.as_deref().is_none_or(|asked| tags().any(|tag| tag == asked))
    }

    /// Everything but the time.
    pub(crate) fn fits_line(&self, intent: &IntentSeen<'_>, outcome: &OutcomeSeen<'_>) -> bool {
        let of = &intent.intent;
        self.call.is_none_or(|call| call == of.call)
            && self.outcome.is_none_or(|kind| kind == outcome.outcome.kind)
            && self.request_id.as_deref().is_none_or(|id| id == of.request_id)
            && self.fits_names(of.owner, (of.model, of.provider), || intent.tags())
    }
}

/// A line and its place. They are ordered by place alone.
struct Found {
    at: Cursor,
    line: Line,
}

impl PartialEq for Found {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Found {}

impl PartialOrd for Found {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Found {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

/// The newest lines before a place, as many as asked for.
struct Search<'a> {
    query: &'a Query,
    lines_max: usize,
    before: Option<Cursor>,
    /// The oldest comes out first.
    found: BinaryHeap<Reverse<Found>>,
    skipped: u64,
}

/// Finds a page of lines in segments.
pub(crate) fn page(
    folder: &Folder,
    mut sources: Vec<Source>,
    (query, before): (&Query, Option<Cursor>),
    (lines_max, bytes_read_max): (usize, usize),
) -> io::Result<Page> {
    let lines_max = lines_max.clamp(1, PAGE_LINES_MAX);
    let mut search = Search { query, lines_max, before, found: BinaryHeap::new(), skipped: 0 };
    // What is found is not newer. A page that ends early ends before this, so that each one comes further.
    let upper_ms = before.map_or(query.until_ms, |before| before.end_ms.min(query.until_ms));
    sources.retain(|source| query.overlaps(source.times()) && source.times().0 <= upper_ms);
    sources.sort_by_key(|source| Reverse(source.times().1));
    let mut bytes_read = 0;
    for source in sources {
        let (_, last_ms) = source.times();
        if search.has_all_since(last_ms) {
            break;
        }
        if bytes_read > bytes_read_max && last_ms < upper_ms {
            return Ok(search.cut_at(last_ms));
        }
        let sequence = source.name().sequence;
        let read = source.with(folder, |bytes, salt| {
            search.look(sequence, bytes, salt);
            bytes.len()
        });
        bytes_read += read?.unwrap_or(0);
    }
    Ok(search.page())
}

impl Search<'_> {
    /// Whether no older line can come before those that were found.
    fn has_all_since(&self, last_ms: u64) -> bool {
        self.is_full() && self.found.peek().is_some_and(|Reverse(oldest)| oldest.at.end_ms > last_ms)
    }

    /// One more than was asked for tells that there is another page.
    fn is_full(&self) -> bool {
        self.found.len() > self.lines_max
    }

    fn look(&mut self, sequence: u64, segment: &[u8], salt: u32) {
        let mut places = Vec::new();
        let skipped = settled::outcomes(segment, salt, &mut |offset, outcome| {
            let at = Cursor { end_ms: outcome.outcome.end_ms, sequence, offset };
            if self.query.is_within(at.end_ms) && self.before.is_none_or(|before| at < before) {
                places.push((at, outcome));
            }
        });
        self.skipped += skipped;
        places.sort_unstable_by_key(|(at, _)| Reverse(*at));
        for (at, outcome) in places {
            if self.is_full() && self.found.peek().is_some_and(|Reverse(oldest)| at < oldest.at) {
                break;
            }
            let Some(Settled { intent, outcome }) = settled::with_intent(segment, salt, outcome) else {
                continue;
            };
            if self.query.fits_line(&intent, &outcome) {
                self.found.push(Reverse(Found { at, line: intent.line(&outcome.outcome) }));
            }
            if self.found.len() > self.lines_max + 1 {
                self.found.pop();
            }
        }
    }

    fn page(self) -> Page {
        // The newest come first.
        let mut found: Vec<_> =
            self.found.into_sorted_vec().into_iter().map(|Reverse(found)| found).collect();
        let more = found.len() > self.lines_max;
        found.truncate(self.lines_max);
        let next = found.last().filter(|_| more).map(|last| last.at);
        let places = found.iter().map(|found| found.at).collect();
        let lines = found.into_iter().map(|found| found.line).collect();
        Page { lines, places, next, skipped: self.skipped }
    }

    /// A page that ends at a time, as what is older has not been read.
    fn cut_at(mut self, last_ms: u64) -> Page {
        let end = Cursor::at(last_ms);
        self.found.retain(|Reverse(found)| found.at > end);
        let mut page = self.page();
        page.next = page.next.or(Some(end));
        page
    }
}
