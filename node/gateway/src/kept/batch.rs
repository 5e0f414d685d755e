//! The models of a batch: each must be the caller's to use, and one provider must have them all.

use super::stored::keeps;
use bytes::Bytes;
use std::{collections::HashMap, sync::Arc};
use trestle_config::{Caller, ProviderConfig, ResolvedTarget, Snapshot, TargetConfig};
use trestle_dialect::{
    Edits, Envelope, Refusal, RefusalKind, batch_models, json::Raw, line_models, name_batch_models, named,
};
use trestle_provider::Operation;

/// Who asks, and what the provider must offer.
pub(crate) struct Batch<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) caller: Option<&'a Caller>,
    /// The provider that the client names.
    pub(crate) wanted: Option<&'a str>,
    /// What the provider must offer.
    pub(crate) operations: &'a [Operation],
}

type Targets = Vec<Arc<TargetConfig>>;

/// The provider of all models, and its own names for them where these are others.
type Agreed = (Arc<ProviderConfig>, Vec<Option<Box<str>>>);

impl Batch<'_> {
    /// The provider of all requests of a batch of Anthropic, and their models as it names them.
    pub(crate) fn of_messages(&self, envelope: &Envelope) -> Result<(Arc<ProviderConfig>, Edits), Refusal> {
        let models = batch_models(envelope)?;
        let (provider, names) = self.agree(&models).map_err(|fault| {
            let (index, refusal) = *fault;
            let param =
                index.map_or("requests".to_owned(), |index| format!("requests[{index}].params.model"));
            Refusal { param: Some(param), ..refusal }
        })?;
        Ok((provider, name_batch_models(envelope, &models, &borrowed(&names))))
    }

    /// The same of a file that is the input of a batch of OpenAI; its text with other names, where it needs some.
    pub(crate) fn of_lines(&self, content: &[u8]) -> Result<(Arc<ProviderConfig>, Option<Bytes>), Refusal> {
        let (lines, models): (Vec<_>, Vec<_>) = line_models(content)?.into_iter().unzip();
        let (provider, names) = self.agree(&models).map_err(|fault| {
            let (index, refusal) = *fault;
            let line = index.and_then(|index| lines.get(index));
            let message = line.map(|line| format!("line {line}: {}", refusal.message).into());
            Refusal {
                param: Some("file".to_owned()),
                message: message.unwrap_or(refusal.message),
                ..Refusal::new(refusal.kind, "")
            }
        })?;
        Ok((provider, named(content, &models, &borrowed(&names))))
    }

    /// The first provider, by name, that keeps such things and that the caller may use for something.
    pub(crate) fn account(&self) -> Result<Arc<ProviderConfig>, Refusal> {
        let mut all: Vec<_> =
            self.snapshot.providers.values().filter(|provider| self.suits(provider)).collect();
        all.sort_unstable_by_key(|provider| &provider.name);
        let may = |provider: &&&Arc<ProviderConfig>| {
            self.caller.is_none_or(|caller| self.snapshot.reaches(&caller.grants, provider))
        };
        match (all.iter().find(may), all.first()) {
            (Some(provider), _) => Ok(Arc::clone(provider)),
            (None, Some(_)) => {
                Err(Refusal::new(RefusalKind::Forbidden, "this key may use no provider that keeps files"))
            }
            (None, None) => {
                let which = self.wanted.map(|name| format!(" of the name `{name}`")).unwrap_or_default();
                let message = format!("there is no provider{which} here that keeps files");
                Err(Refusal::new(RefusalKind::NotFound, message))
            }
        }
    }

    fn suits(&self, provider: &ProviderConfig) -> bool {
        self.operations.iter().all(|operation| keeps(&provider.kind, *operation))
            && self.wanted.is_none_or(|wanted| *provider.name == *wanted)
    }

    /// The first provider of the first model that has all others, too. An error is told with the model at fault.
    fn agree(&self, models: &[Raw<'_>]) -> Result<Agreed, Box<(Option<usize>, Refusal)>> {
        let (mut known, mut names) = (HashMap::<String, Targets>::new(), Vec::with_capacity(models.len()));
        for (index, model) in models.iter().enumerate() {
            let name = model.string().unwrap_or_default();
            if !known.contains_key(&*name) {
                let targets = self.targets(&name).map_err(|refusal| Box::new((Some(index), refusal)))?;
                known.insert(name.clone().into_owned(), targets);
            }
            names.push(name);
        }
        let targets = |name: &str| known.get(name).map(Vec::as_slice).unwrap_or_default();
        let first = names.first().map(|name| targets(name)).unwrap_or_default();
        let has_all = |one: &&Arc<TargetConfig>| known.values().all(|all| at(all, &one.provider).is_some());
        if let Some(provider) = first.iter().find(has_all).map(|target| Arc::clone(&target.provider)) {
            let theirs = |name: &str| Some(at(targets(name), &provider)?.model.clone());
            let theirs = names.iter().map(|name| theirs(name).filter(|theirs| **theirs != **name)).collect();
            return Ok((provider, theirs));
        }
        let Some(one) = first.first() else {
            let refusal = Refusal::new(RefusalKind::InvalidRequest, "the batch has no requests");
            return Err(Box::new((None, refusal)));
        };
        let message = format!(
            "the models of a batch must be had from one provider, and `{}`, which has the first, has not this one",
            one.provider.name
        );
        let other = names.iter().position(|name| at(targets(name), &one.provider).is_none());
        Err(Box::new((other, Refusal::new(RefusalKind::InvalidRequest, message))))
    }

    /// Where a model may be had for a batch; never empty.
    fn targets(&self, name: &str) -> Result<Targets, Refusal> {
        let shown: String = name.chars().take(128).collect();
        let (group, targets) = match self.snapshot.resolve(name) {
            Some(ResolvedTarget::Target(target)) => (None, vec![target]),
            Some(ResolvedTarget::Group(group)) => {
                let all = group.targets.iter().chain(&group.fallbacks).cloned().collect();
                (Some(group.name.clone()), all)
            }
            None => {
                let message = format!("there is no model `{shown}` here");
                return Err(Refusal::new(RefusalKind::NotFound, message));
            }
        };
        let may = |target: &Arc<TargetConfig>| {
            self.caller.is_none_or(|caller| caller.grants.allow(group.as_deref(), &target.name))
        };
        let mut targets: Targets = targets.into_iter().filter(may).collect();
        if targets.is_empty() {
            return Err(Refusal::new(RefusalKind::Forbidden, format!("this key may not use `{shown}`")));
        }
        targets.retain(|target| self.suits(&target.provider));
        if targets.is_empty() {
            let which = self.wanted.map(|name| format!(" `{name}`")).unwrap_or_default();
            let message =
                format!("`{shown}` is not had from a provider{which} that takes batches of this kind");
            return Err(Refusal::new(RefusalKind::InvalidRequest, message));
        }
        Ok(targets)
    }
}

fn borrowed(names: &[Option<Box<str>>]) -> Vec<Option<&str>> {
    names.iter().map(Option::as_deref).collect()
}

/// The first target at a provider.
fn at<'t>(targets: &'t [Arc<TargetConfig>], provider: &ProviderConfig) -> Option<&'t Arc<TargetConfig>> {
    targets.iter().find(|target| target.provider.name == provider.name)
}
