//! How a node begins: opens its folder, takes up keys, and fills the folder or brings it up to date from a document.

use super::{
    Control, Edit, Intent, Keyring, Origin, TokenEntity, Via,
    change::{ChangeError, View, towards},
    state,
};
use crate::{
    metric::{self, Reloaded},
    source::{LoadError, Source},
};
use std::path::PathBuf;
use trestle_cluster::Consensus;
use trestle_config::{Difference, Kind, split};

/// What a node begins with.
pub(crate) struct Begin {
    /// Where the cluster keeps its data.
    pub(crate) folder: PathBuf,
    /// What opens sealed secrets.
    pub(crate) keyring: Keyring,
    /// A document.
    pub(crate) source: Source,
    /// What it is for.
    pub(crate) purpose: Purpose,
    /// The admin token of a folder that has none yet; `Purpose::Dev` always has it.
    pub(crate) first_token: Option<TokenEntity>,
    /// An admin token that is not kept in the folder.
    pub(crate) own_token: Option<TokenEntity>,
}

/// What a document at the start is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It fills an empty folder.
    Seed,
    /// It is what the folder holds, at each start and from then on.
    Authoritative,
    /// Its keys are there, and its providers unless the folder has them.
    Dev,
}

impl Begin {
    /// Takes up what the cluster has; whether that was nothing.
    pub(crate) async fn take_up(self, consensus: Consensus) -> anyhow::Result<(Control, bool)> {
        let first = consensus.revision() == 0;
        let data_key = self.keyring.unlock(state::data_key(&consensus)?.as_ref())?;
        let file = match (&self.source, self.purpose) {
            (Source::File(path), Purpose::Authoritative) => Some(path.clone()),
            _ => None,
        };
        let control = Control::new(consensus, self.keyring, file, self.own_token)?;
        let origin = Origin::of_process(Via::Start, if first { "first start" } else { "start" });
        let with_document = first || self.purpose == Purpose::Dev;
        if let (Source::File(path), false, None) = (&self.source, with_document, control.file()) {
            tracing::info!(
                revision = control.consensus().revision(),
                "the data folder has a document of its own: {} was for the first start (`authoritative` makes it the \
                 only source)",
                path.display()
            );
        }
        let entities = if with_document { split(&self.source.read()?)? } else { Vec::new() };
        let token = self.first_token.filter(|_| first || self.purpose == Purpose::Dev);
        let token_name = if self.purpose == Purpose::Dev { "dev" } else { "first" };
        let changing = control.change(&origin, Intent::Apply, |view| {
            if first && view.revision > 0 {
                let message = "another node has filled the cluster meanwhile: start this one again";
                return Err(ChangeError::Store(message.to_owned()));
            }
            let mut edit = Edit { data_key: data_key.clone(), ..Edit::default() };
            if let Some(token) = &token
                && !(self.purpose == Purpose::Dev && view.token(token_name)?.as_ref() == Some(token))
            {
                edit.tokens.push((token_name.to_owned(), Some(token.clone())));
            }
            edit.document = match self.purpose {
                Purpose::Dev => missing(view, &entities)?,
                _ if first => towards(&view.all()?, &entities),
                _ => Vec::new(),
            };
            Ok(edit)
        });
        changing.await.map_err(readable)?;
        if !first {
            control.apply_file().await;
        }
        if let Some(warning) = control.nobody() {
            tracing::warn!(path = warning.path, "{}", warning.message);
        }
        if let Some(problems) = control.broken() {
            tracing::error!(
                "the document of this node is not valid; change it over the admin API:\n{problems}"
            );
        }
        Ok((control, first))
    }
}

/// Keys as they are in the document, other entities only where there are none.
fn missing(view: &View<'_>, entities: &[trestle_config::Entity]) -> Result<Vec<Difference>, ChangeError> {
    let mut missing = Vec::new();
    for entity in entities {
        if entity.kind == Kind::Key || view.entity(entity.kind, &entity.id)?.is_none() {
            missing.push(Difference::Set(entity.clone()));
        }
    }
    Ok(missing)
}

/// All problems, for those who read the error of a start.
fn readable(error: ChangeError) -> anyhow::Error {
    match error {
        ChangeError::Invalid(problems) => anyhow::anyhow!("the document is not valid:\n{problems}"),
        other => anyhow::Error::from(other),
    }
}

impl Control {
    /// Makes the document that of its file, if it comes from one; if the file is wrong, all stays as it was.
    pub(crate) async fn apply_file(&self) {
        if self.file().is_none() {
            return;
        }
        let taken = self.take_file().await;
        metric::reloaded(Reloaded::Document, taken.as_ref().map_or(Err(()), |()| Ok(())));
        match &taken {
            Ok(()) => return,
            Err(ChangeError::Invalid(problems)) => {
                for problem in &problems.0 {
                    tracing::error!(path = problem.path, "{}", problem.message);
                }
            }
            Err(error) => tracing::error!("{error}"),
        }
        tracing::error!("the document was refused whole; the one before stays");
    }

    async fn take_file(&self) -> Result<(), ChangeError> {
        let Some(path) = self.file() else { return Ok(()) };
        let read = Source::File(path.clone()).read().map_err(|error| match error {
            LoadError::Invalid(problems) => ChangeError::Invalid(problems),
            error @ LoadError::Unreadable { .. } => ChangeError::Store(error.to_string()),
        });
        let entities = split(&read?).map_err(ChangeError::Invalid)?;
        let origin = Origin::of_process(Via::File, format!("the document {}", path.display()));
        let changing = self.change(&origin, Intent::Apply, |view| {
            Ok(Edit { document: towards(&view.all()?, &entities), ..Edit::default() })
        });
        let done = changing.await?;
        tracing::info!(revision = done.revision, changed = done.steps.len(), "the document was applied");
        Ok(())
    }
}
