//! What this node has compiled of the entities, and how it follows them.

use super::{Kept, Keyring, NodeSecrets};
use crate::files::{ReadFiles, Watched};
use std::collections::BTreeMap;
use trestle_cluster::{Consensus, Entity as Stored};
use trestle_config::{Compilation, Difference, Kind, Problem, Problems};

/// Entities that are read at once while all are compiled.
const PAGE: usize = 1_000;

/// The compiled document.
pub(super) struct Compiled {
    pub(super) compilation: Compilation,
    /// The revision that was looked at last; that of the compilation unless it is broken.
    pub(super) revision: u64,
    /// The files that secrets came from.
    pub(super) watched: Watched,
    /// Why the entities do not compile as they are now; then the compilation is one before, or empty.
    pub(super) broken: Option<Problems>,
}

/// A compilation and its warnings.
pub(super) struct Made {
    pub(super) compilation: Compilation,
    pub(super) warnings: Vec<Problem>,
}

/// What came of compiling, and the files that secrets were taken from: also where nothing came of it, so that the same
/// wrong file is not tried again and again.
pub(super) type Attempt = (Result<Made, Problems>, ReadFiles);

impl Compiled {
    /// Compiles all entities. Those that do not compile leave it empty and broken.
    pub(super) fn load(consensus: &Consensus, keyring: &Keyring) -> anyhow::Result<Self> {
        let revision = consensus.revision();
        let compilation = Compilation::new(&NodeSecrets::unsealed());
        let mut compiled = Self { compilation, revision, watched: Watched::default(), broken: None };
        compiled.take(revision, all(consensus, keyring, revision)?);
        Ok(compiled)
    }

    /// The compilation with these changes.
    pub(super) fn with(&self, revision: u64, changes: &[Difference], keyring: &Keyring) -> Attempt {
        let secrets = NodeSecrets::new(keyring);
        let mut compilation = self.compilation.clone();
        let warnings = compilation.change(revision, changes, &secrets);
        (warnings.map(|warnings| Made { compilation, warnings }), secrets.read())
    }

    /// Takes up what was made of all entities: files that none of them refers to are watched no longer.
    pub(super) fn take_all(&mut self, revision: u64, attempt: Attempt) {
        self.watched = Watched::default();
        self.take(revision, attempt);
    }

    /// Takes up what was made, or remembers why nothing was.
    pub(super) fn take(&mut self, revision: u64, (made, read): Attempt) {
        self.revision = revision;
        self.watched.extend(read);
        match made {
            Ok(made) => {
                warn(&made.warnings);
                self.compilation = made.compilation;
                self.broken = None;
            }
            Err(problems) => {
                for problem in &problems.0 {
                    tracing::error!(path = problem.path, "{}", problem.message);
                }
                tracing::error!(revision, "the entities do not compile here: requests are served as before");
                self.broken = Some(problems);
            }
        }
    }
}

fn warn(warnings: &[Problem]) {
    for warning in warnings {
        tracing::warn!(path = warning.path, "{}", warning.message);
    }
}

/// Compiles all entities, page by page: first what keys refer to.
pub(super) fn all(consensus: &Consensus, keyring: &Keyring, revision: u64) -> anyhow::Result<Attempt> {
    let secrets = NodeSecrets::new(keyring);
    let made = all_with(consensus, revision, &secrets)?;
    Ok((made, secrets.read()))
}

fn all_with(
    consensus: &Consensus,
    revision: u64,
    secrets: &NodeSecrets<'_>,
) -> anyhow::Result<Result<Made, Problems>> {
    let mut compilation = Compilation::new(secrets);
    let mut base = Vec::new();
    for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Key) {
        for_pages(consensus, kind, |page| {
            for stored in page {
                base.extend(Kept::read(stored)?.map(|kept| Difference::Set(kept.entity)));
            }
            Ok(())
        })?;
    }
    let mut warnings = match compilation.change(revision, &base, secrets) {
        Ok(warnings) => warnings,
        Err(problems) => return Ok(Err(problems)),
    };
    let mut wrong = Vec::new();
    for_pages(consensus, Kind::Key, |page| {
        match keys(page, &mut compilation, (revision, secrets))? {
            Ok(more) => warnings.extend(more),
            Err(Problems(problems)) => wrong.extend(problems),
        }
        Ok(())
    })?;
    if !wrong.is_empty() {
        return Ok(Err(Problems(wrong)));
    }
    Ok(Ok(Made { compilation, warnings }))
}

/// Compiles a page of keys. They are read as what they are, which is much faster than by way of all that could be; only if
/// one cannot be read it is found out why.
fn keys(
    page: Vec<Stored>,
    compilation: &mut Compilation,
    (revision, secrets): (u64, &NodeSecrets<'_>),
) -> anyhow::Result<Result<Vec<Problem>, Problems>> {
    let read = page.iter().map(|stored| Ok((stored.id.clone(), serde_json::from_slice(&stored.value)?)));
    if let Ok(keys) = read.collect::<serde_json::Result<_>>() {
        return Ok(compilation.add_keys(&keys, secrets));
    }
    let changes = page.into_iter().filter_map(|stored| {
        let kept = Kept::read(stored).transpose()?;
        Some(kept.map(|kept| Difference::Set(kept.entity)))
    });
    Ok(compilation.change(revision, &changes.collect::<Result<Vec<_>, _>>()?, secrets))
}

fn for_pages(
    consensus: &Consensus,
    kind: Kind,
    mut take: impl FnMut(Vec<Stored>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut after: Option<String> = None;
    loop {
        let (_, page) = consensus.page(kind.name(), after.as_deref(), PAGE)?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.id.clone());
        take(page)?;
    }
}

/// Compiles all entities with changes laid over them: what can mend those that do not compile.
pub(super) fn mended(
    entities: BTreeMap<(Kind, String), Difference>,
    changes: &[Difference],
    (revision, keyring): (u64, &Keyring),
) -> Result<Made, Problems> {
    let mut entities = entities;
    for change in changes {
        let name = (change.kind(), change.id().to_owned());
        match change {
            Difference::Set(_) => entities.insert(name, change.clone()),
            Difference::Removed(..) => entities.remove(&name),
        };
    }
    let secrets = NodeSecrets::new(keyring);
    let mut compilation = Compilation::new(&secrets);
    let changes: Vec<_> = entities.into_values().collect();
    let warnings = compilation.change(revision, &changes, &secrets)?;
    Ok(Made { compilation, warnings })
}
