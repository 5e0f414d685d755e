//! Sums of lines, by what they have in common.

use crate::{
    civil,
    folder::Folder,
    line::Basis,
    query::Query,
    rows::{self, Common, Totals},
    settled,
    source::Source,
};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    io,
};

/// Most groups of an answer.
pub const GROUPS_MAX: usize = 10_000;

/// By what lines are summed. Times are of the UTC calendar, and of when a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // the names say it
pub enum Dimension {
    Customer,
    Team,
    User,
    Key,
    /// The model that was asked for.
    Model,
    Provider,
    /// What the vendor calls the model.
    VendorModel,
    /// Each tag by itself: a line with two counts in both.
    Tag,
    Hour,
    Day,
    Month,
}

impl Dimension {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Customer,
        Self::Team,
        Self::User,
        Self::Key,
        Self::Model,
        Self::Provider,
        Self::VendorModel,
        Self::Tag,
        Self::Hour,
        Self::Day,
        Self::Month,
    ];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Team => "team",
            Self::User => "user",
            Self::Key => "key",
            Self::Model => "model",
            Self::Provider => "provider",
            Self::VendorModel => "vendor_model",
            Self::Tag => "tag",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Month => "month",
        }
    }

    /// The one that a word names.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dimension| dimension.name() == name)
    }
}

/// Lines of one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sum {
    /// What they have in common, in the order in which it was asked for; empty where a line has none.
    pub group: Vec<Box<str>>,
    /// Those whose usage the provider reported.
    pub reported: Totals,
    /// Those whose usage we estimated.
    pub estimated: Totals,
}

/// Why there are no sums.
#[derive(Debug, thiserror::Error)]
pub enum SumsError {
    /// More than [`GROUPS_MAX`].
    #[error("more than {GROUPS_MAX} groups: ask for less time, or group by less")]
    TooManyGroups,
    /// The disk.
    #[error("the ledger cannot be read: {0}")]
    Disk(#[from] io::Error),
}

type Groups = BTreeMap<Vec<Box<str>>, (Totals, Totals)>;

/// Sums up segments, by their rows where these are enough.
pub(crate) fn sums(
    folder: &Folder,
    sources: &[Source],
    query: &Query,
    by: &[Dimension],
) -> Result<Vec<Sum>, SumsError> {
    let mut groups = Groups::new();
    for source in sources.iter().filter(|source| query.overlaps(source.times())) {
        let of_source = match of_rows(folder, source, query, by) {
            Some(of_rows) => of_rows,
            None => of_lines(folder, source, query, by)?,
        };
        for (group, (reported, estimated)) in of_source? {
            add(&mut groups, group, |sums| {
                sums.0.add(&reported);
                sums.1.add(&estimated);
            })?;
        }
    }
    Ok(groups.into_iter().map(|(group, (reported, estimated))| Sum { group, reported, estimated }).collect())
}

fn add(
    groups: &mut Groups,
    group: Vec<Box<str>>,
    add: impl FnOnce(&mut (Totals, Totals)),
) -> Result<(), SumsError> {
    let full = groups.len() >= GROUPS_MAX;
    match groups.entry(group) {
        Entry::Vacant(_) if full => Err(SumsError::TooManyGroups),
        entry => {
            add(entry.or_default());
            Ok(())
        }
    }
}

type OfSource = Result<Groups, SumsError>;

/// `None` if the rows are not enough: the time cuts one, more is asked than they keep apart, or there are none.
fn of_rows(folder: &Folder, source: &Source, query: &Query, by: &[Dimension]) -> Option<OfSource> {
    let Source::Sealed(sealed) = source else { return None };
    let cuts = |at_ms: u64| {
        let is_inside = (sealed.first_ms / civil::HOUR_MS..=sealed.last_ms / civil::HOUR_MS)
            .contains(&(at_ms / civil::HOUR_MS));
        is_inside && !at_ms.is_multiple_of(civil::HOUR_MS)
    };
    if !query.fits_rows() || cuts(query.from_ms) || cuts(query.until_ms) {
        return None;
    }
    let mut of_source = Ok(Groups::new());
    sealed.rows(folder, &mut |common, totals| {
        let at_ms = common.hour.saturating_mul(civil::HOUR_MS);
        if query.is_within(at_ms) && query.fits(&common) {
            gather(&mut of_source, &common, &totals, by);
        }
    })?;
    Some(of_source)
}

fn of_lines(folder: &Folder, source: &Source, query: &Query, by: &[Dimension]) -> io::Result<OfSource> {
    let mut of_source = Ok(Groups::new());
    source.with(folder, |bytes, salt| {
        settled::lines(bytes, salt, &mut |line| {
            if query.is_within(line.outcome.outcome.end_ms) && query.fits_line(&line.intent, &line.outcome) {
                let (common, totals) = rows::of_line(&line);
                gather(&mut of_source, &common, &totals, by);
            }
        })
    })?;
    Ok(of_source)
}

fn gather(into: &mut OfSource, common: &Common<'_>, totals: &Totals, by: &[Dimension]) {
    let one = [""];
    let tags = match &common.tags[..] {
        tags if by.contains(&Dimension::Tag) && !tags.is_empty() => tags,
        _ => &one[..],
    };
    for (at, tag) in tags.iter().enumerate() {
        // A tag that is named twice counts once.
        if tags[..at].contains(tag) {
            continue;
        }
        let Ok(groups) = into else { return };
        let group = by.iter().map(|dimension| dimension.of(common, tag)).collect();
        let added = add(groups, group, |(reported, estimated)| match common.basis {
            Basis::Reported => reported.add(totals),
            Basis::Estimated => estimated.add(totals),
        });
        if let Err(error) = added {
            *into = Err(error);
        }
    }
}

impl Dimension {
    fn of(self, common: &Common<'_>, tag: &str) -> Box<str> {
        match self {
            Self::Customer => common.owner.customer.into(),
            Self::Team => common.owner.team.into(),
            Self::User => common.owner.user.into(),
            Self::Key => common.owner.key.into(),
            Self::Model => common.model.into(),
            Self::Provider => common.provider.into(),
            Self::VendorModel => common.vendor_model.into(),
            Self::Tag => tag.into(),
            Self::Hour => civil::hour(common.hour).into(),
            Self::Day => civil::day(common.hour).into(),
            Self::Month => civil::month(common.hour).into(),
        }
    }
}
