//! The one place where the document, the admin tokens and the data key change: edit, seal, compile, propose, wait until requests
//! see it.

use super::{
    Control, DATA_KEY, Kept, Origin, SECRETS, TOKENS, TokenEntity, Via, Wrapped, masked, seal::is_sealed,
};
use std::{collections::BTreeMap, path::PathBuf, time::Duration};
use tokio::task::block_in_place;
use trestle_cluster::{Change, Consensus, ProposeError, ReadError, Write};
use trestle_config::{Difference, Entity, Kind, Problem, Problems, is_masked, secret_values};

/// How often a change is tried again because others came first.
const TRIES: usize = 5;
/// How long a change may take to be in effect, and how much longer for each of its entities.
const DEADLINE: Duration = Duration::from_secs(10);
const DEADLINE_MORE: Duration = Duration::from_millis(1);
/// The version that introduced the members of our own kinds.
const INTRODUCED: u32 = 1;

/// What is to change.
#[derive(Debug, Default)]
pub(crate) struct Edit {
    /// Of the document.
    pub(crate) document: Vec<Difference>,
    /// Admin tokens by name; `None` removes one.
    pub(crate) tokens: Vec<(String, Option<TokenEntity>)>,
    /// The data key, wrapped.
    pub(crate) data_key: Option<Wrapped>,
}

/// Whether to do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Intent {
    /// Do it.
    Apply,
    /// Only say what would happen.
    Look,
}

/// What was done, or would be.
#[derive(Debug)]
pub(crate) struct Done {
    /// The revision that it made; the last one if nothing changed.
    pub(crate) revision: u64,
    /// What changed in the document: each entity before and after, secrets masked.
    pub(crate) steps: Vec<(Option<Entity>, Difference)>,
    /// What is not right in it and does not hinder it.
    pub(crate) warnings: Vec<Problem>,
}

/// Why nothing was changed. The texts are public.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangeError {
    /// It is wrong.
    #[error("the change is not valid")]
    Invalid(Problems),
    /// Others have changed the same entities.
    #[error("others have changed {} meanwhile", names(.0))]
    Changed(Vec<(Kind, String)>),
    /// There is no such thing.
    #[error("there is no {0}")]
    Missing(String),
    /// There is such a thing already.
    #[error("there is {0} already")]
    Exists(String),
    /// The revision that it builds on is not kept any more, or not there yet.
    #[error("revision {0} is not kept any more, or is not there yet; get the document anew")]
    NotKept(u64),
    /// The document comes from a file.
    #[error("the document comes from {} alone, as `authoritative` is set: change it there", .0.display())]
    ReadOnly(PathBuf),
    /// Nobody knows whether it is in effect.
    #[error(
        "it is not known whether the change took effect, as it took too long: look at it, then try again"
    )]
    Unknown,
    /// The cluster is of an earlier version.
    #[error("{0}")]
    Version(String),
    /// Nobody can take it.
    #[error("{0}")]
    NoLeader(String),
    /// Others were always faster.
    #[error("others change the document all the time: try again")]
    Busy,
    /// The store does not work.
    #[error("the store of this node does not work: {0}")]
    Store(String),
}

fn names(entities: &[(Kind, String)]) -> String {
    let names: Vec<_> = entities.iter().map(|(kind, id)| format!("{}/{id}", kind.name())).collect();
    names.join(", ")
}

impl From<ReadError> for ChangeError {
    fn from(error: ReadError) -> Self {
        Self::Store(error.to_string())
    }
}

impl From<anyhow::Error> for ChangeError {
    fn from(error: anyhow::Error) -> Self {
        Self::Store(format!("{error:#}"))
    }
}

/// What an edit is made of.
pub(crate) struct View<'a> {
    consensus: &'a Consensus,
    /// The revision that it builds on.
    pub(crate) revision: u64,
}

impl View<'_> {
    /// An entity of the document.
    pub(crate) fn entity(&self, kind: Kind, id: &str) -> Result<Option<Kept>, ChangeError> {
        let stored = self.consensus.entity(kind.name(), id)?;
        Ok(stored.map(Kept::read).transpose()?.flatten())
    }

    /// The document's entities and the revision that they are of.
    pub(crate) fn all_now(&self) -> Result<(u64, Vec<Kept>), ChangeError> {
        let (revision, stored) = self.consensus.entities()?;
        let kept = stored.into_iter().filter_map(|stored| Kept::read(stored).transpose());
        Ok((revision, kept.collect::<Result<_, _>>()?))
    }

    /// The document's entities, by kind and id.
    pub(crate) fn all(&self) -> Result<Vec<Kept>, ChangeError> {
        Ok(self.all_now()?.1)
    }

    /// The providers: what secrets of others stand in.
    fn providers(&self) -> Result<Vec<Kept>, ChangeError> {
        let stored = self.consensus.page(Kind::Provider.name(), None, usize::MAX)?.1;
        let kept = stored.into_iter().filter_map(|stored| Kept::read(stored).transpose());
        Ok(kept.collect::<Result<_, _>>()?)
    }

    /// The document's entities as they were at a revision.
    pub(crate) fn at(&self, revision: u64) -> Result<Vec<Kept>, ChangeError> {
        let stored = self.consensus.entities_at(revision)?.ok_or(ChangeError::NotKept(revision))?;
        let kept = stored.into_iter().filter_map(|stored| Kept::read(stored).transpose());
        Ok(kept.collect::<Result<_, _>>()?)
    }

    /// The admin token of this name.
    pub(crate) fn token(&self, name: &str) -> Result<Option<TokenEntity>, ChangeError> {
        let stored = self.consensus.entity(TOKENS, name)?;
        let token = stored.map(|stored| serde_json::from_slice(&stored.value)).transpose();
        token.map_err(|error| ChangeError::Store(error.to_string()))
    }
}

impl Control {
    /// What can be read now.
    pub(crate) fn view(&self) -> View<'_> {
        View { consensus: &self.0.consensus, revision: self.0.consensus.revision() }
    }

    /// Changes something. The edit is made anew whenever others came first; it says itself whether that matters to it.
    pub(crate) async fn change(
        &self,
        origin: &Origin,
        intent: Intent,
        mut edit: impl FnMut(&View<'_>) -> Result<Edit, ChangeError>,
    ) -> Result<Done, ChangeError> {
        let _turn = self.0.turn.lock().await;
        for _ in 0..TRIES {
            // What was acknowledged is compiled here before something is built on it.
            self.reached(self.0.consensus.revision(), DEADLINE).await?;
            let revision = *self.0.applied.borrow();
            let view = View { consensus: &self.0.consensus, revision };
            let Draft { writes, mut done } = block_in_place(|| self.draft(&view, edit(&view)?))?;
            if intent == Intent::Look || writes.is_empty() {
                return Ok(done);
            }
            if let (Some(file), Via::Api, false) = (&self.0.file, origin.via, done.steps.is_empty()) {
                return Err(ChangeError::ReadOnly(file.clone()));
            }
            let deadline = DEADLINE + DEADLINE_MORE * u32::try_from(writes.len()).unwrap_or(u32::MAX);
            let change = Change { expected_revision: Some(revision), writes, origin: origin.to_bytes() };
            match self.0.consensus.propose(change, deadline).await {
                Ok(revision) => {
                    self.reached(revision, deadline).await?;
                    done.revision = revision;
                    return Ok(done);
                }
                Err(ProposeError::Conflict { .. }) => {}
                Err(ProposeError::Unknown) => return Err(ChangeError::Unknown),
                Err(error @ ProposeError::NoLeader) => return Err(ChangeError::NoLeader(error.to_string())),
                Err(error @ ProposeError::Version { .. }) => {
                    return Err(ChangeError::Version(error.to_string()));
                }
                Err(error @ (ProposeError::Refused(_) | ProposeError::Ended(_))) => {
                    return Err(ChangeError::Store(error.to_string()));
                }
            }
        }
        Err(ChangeError::Busy)
    }

    async fn reached(&self, revision: u64, deadline: Duration) -> Result<(), ChangeError> {
        let mut applied = self.0.applied.subscribe();
        let reached = applied.wait_for(|applied| *applied >= revision);
        match tokio::time::timeout(deadline, reached).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(ChangeError::Unknown),
        }
    }

    /// What is to be written, after all was found to be right.
    fn draft(&self, view: &View<'_>, edit: Edit) -> Result<Draft, ChangeError> {
        let mut found = self.sealed(view, edit.document)?;
        let changes: Vec<_> = found.steps.iter().map(|step| step.clear.clone()).collect();
        let warnings =
            match (!changes.is_empty()).then(|| self.candidate(view.revision + 1, &changes)).transpose()? {
                None => Vec::new(),
                Some(Ok(made)) => made.warnings,
                Some(Err(Problems(problems))) => {
                    found.problems.extend(problems);
                    Vec::new()
                }
            };
        if !found.problems.is_empty() {
            return Err(ChangeError::Invalid(Problems(found.problems)));
        }
        let mut writes = Vec::new();
        let own =
            edit.tokens.into_iter().map(|(name, token)| (TOKENS, name, token.map(|token| to_json(&token))));
        let data_key = edit.data_key.map(|key| (SECRETS, DATA_KEY.to_owned(), Some(to_json(&key))));
        for (kind, id, value) in own.chain(data_key) {
            writes.push(Write {
                kind: kind.to_owned(),
                id,
                introduced: INTRODUCED,
                value: value.transpose()?,
            });
        }
        let mut steps = Vec::new();
        for Step { before, kept, .. } in found.steps {
            let (introduced, value) = match &kept {
                Difference::Set(entity) => (entity.introduced, Some(to_json(&entity.value)?)),
                Difference::Removed(..) => (INTRODUCED, None),
            };
            let (kind, id) = (kept.kind().name().to_owned(), kept.id().to_owned());
            writes.push(Write { kind, id, introduced, value });
            steps.push((before.map(mask), mask_difference(kept)));
        }
        Ok(Draft { writes, done: Done { revision: view.revision, steps, warnings } })
    }

    /// The differences that make a difference, with their secrets sealed.
    fn sealed(&self, view: &View<'_>, document: Vec<Difference>) -> Result<Found, ChangeError> {
        let mut found = Found::default();
        for mut clear in document {
            let before = view.entity(clear.kind(), clear.id())?.map(|kept| kept.entity);
            let mut kept = clear.clone();
            if let (Difference::Set(clear), Difference::Set(kept)) = (&mut clear, &mut kept) {
                let mut known = Vec::new();
                if let Some(mut before) = before.clone() {
                    known.extend(secret_values(&mut before).into_iter().map(|(_, value)| value.clone()));
                }
                for ((path, clear), (_, kept)) in secret_values(clear).into_iter().zip(secret_values(kept)) {
                    match self.seal_value(view, kept, &known) {
                        Ok(sealed) => {
                            if is_sealed(clear) || clear.starts_with("sealed:") {
                                clear.clone_from(&sealed);
                            }
                            *kept = sealed;
                        }
                        Err(message) => found.problems.push(Problem { path, message }),
                    }
                }
                let size = to_json(&kept.value)?.len();
                if size > Consensus::ENTITY_BYTES_MAX {
                    let path = format!("{}.{}", kept.kind.name(), kept.id);
                    let message =
                        format!("has {size} bytes, at most {} are kept", Consensus::ENTITY_BYTES_MAX);
                    found.problems.push(Problem { path, message });
                }
            }
            let same = match (&before, &kept) {
                (Some(before), Difference::Set(kept)) => before.value == kept.value,
                (None, Difference::Removed(..)) => true,
                _ => false,
            };
            if clear.kind() == Kind::Settings && clear.id() != Kind::ONLY {
                let path = format!("{}.{}", Kind::Settings.name(), clear.id());
                let message = format!("is no name of settings; there is `{}` alone", Kind::ONLY);
                found.problems.push(Problem { path, message });
            } else if !same {
                found.steps.push(Step { before, clear, kept });
            }
        }
        Ok(found)
    }

    /// A value as it is kept: references as they are, what is known by its handle, secrets in clear sealed.
    fn seal_value(&self, view: &View<'_>, value: &str, known: &[String]) -> Result<String, String> {
        let is_reference = value.starts_with("env:") || value.starts_with("file:");
        if is_reference || is_sealed(value) || is_masked(value) || value.trim().is_empty() {
            return Ok(value.to_owned());
        }
        if value.starts_with("sealed:") {
            let same = |known: &&String| is_sealed(known) && masked(known) == value;
            if let Some(known) = known.iter().find(same) {
                return Ok(known.clone());
            }
            let others = view.providers().map_err(|error| error.to_string())?;
            let elsewhere = others.into_iter().find_map(|mut kept| {
                let values = secret_values(&mut kept.entity).into_iter();
                values.map(|(_, value)| value.clone()).find(|value| same(&value))
            });
            return elsewhere.ok_or_else(|| {
                format!(
                    "`{value}` stands for no sealed secret here; write the secret, `env:NAME` or `file:PATH`"
                )
            });
        }
        // The same secret stays as it is, so that a file that is loaded again changes nothing.
        let same = |known: &&String| self.0.keyring.open(known).is_ok_and(|secret| secret == value);
        match known.iter().filter(|known| is_sealed(known)).find(same) {
            Some(known) => Ok(known.clone()),
            None => self.0.keyring.seal(value),
        }
    }
}

struct Draft {
    writes: Vec<Write>,
    done: Done,
}

#[derive(Default)]
struct Found {
    steps: Vec<Step>,
    problems: Vec<Problem>,
}

/// A difference with what was before: as it is compiled, and as it is kept.
struct Step {
    before: Option<Entity>,
    clear: Difference,
    kept: Difference,
}

fn to_json(value: &impl serde::Serialize) -> anyhow::Result<Vec<u8>> {
    Ok(serde_json::to_vec(value)?)
}

/// An entity to be shown.
pub(crate) fn mask(mut entity: Entity) -> Entity {
    for (_, value) in secret_values(&mut entity) {
        *value = masked(value);
    }
    entity
}

fn mask_difference(difference: Difference) -> Difference {
    match difference {
        Difference::Set(entity) => Difference::Set(mask(entity)),
        removed @ Difference::Removed(..) => removed,
    }
}

/// The differences that make the document of these entities, of one that holds `before`.
pub(crate) fn towards(before: &[Kept], after: &[Entity]) -> Vec<Difference> {
    let before: Vec<_> = before.iter().map(|kept| kept.entity.clone()).collect();
    trestle_config::differences(&before, after)
}

/// The revisions of entities by name.
pub(crate) fn revisions(kept: &[Kept]) -> BTreeMap<(Kind, &str), u64> {
    kept.iter().map(|kept| ((kept.entity.kind, kept.entity.id.as_str()), kept.revision)).collect()
}
