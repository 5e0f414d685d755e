//! The models of a batch: each must be the caller's to use, and one provider must have them all.

use crate::stored::keeps;
use std::{collections::HashMap, sync::Arc};
use trestle_config::{Caller, ProviderConfig, ResolvedTarget, Snapshot, TargetConfig};
use trestle_dialect::{Edits, Envelope, Refusal, RefusalKind, batch_models, name_batch_models};
use trestle_provider::Operation;

/// Who asks for a batch, and where it may go.
pub(crate) struct Batch<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) caller: Option<&'a Caller>,
    /// The provider that the client names.
    pub(crate) wanted: Option<&'a str>,
    /// What the provider must offer.
    pub(crate) operation: Operation,
}

type Targets = Vec<Arc<TargetConfig>>;

impl Batch<'_> {
    /// The provider of all requests of a batch of Anthropic, and their models as it names them.
    pub(crate) fn of_messages(&self, envelope: &Envelope) -> Result<(Arc<ProviderConfig>, Edits), Refusal> {
        let models = batch_models(envelope)?;
        let (mut known, mut names) = (HashMap::<String, Targets>::new(), Vec::with_capacity(models.len()));
        for (index, model) in models.iter().enumerate() {
            let name = model.string().unwrap_or_default();
            if !known.contains_key(&*name) {
                let targets = self.targets(&name).map_err(|refusal| Refusal {
                    param: Some(format!("requests[{index}].params.model")),
                    ..refusal
                })?;
                known.insert(name.clone().into_owned(), targets);
            }
            names.push(name);
        }
        let targets = |name: &str| known.get(name).map(Vec::as_slice).unwrap_or_default();
        let first = names.first().map(|name| targets(name)).unwrap_or_default();
        let has_all = |one: &&Arc<TargetConfig>| known.values().all(|all| at(all, &one.provider).is_some());
        let Some(provider) = first.iter().find(has_all).map(|target| Arc::clone(&target.provider)) else {
            let lacks = |name: &&std::borrow::Cow<'_, str>| {
                first.first().is_some_and(|one| at(targets(name), &one.provider).is_none())
            };
            return Err(no_common(first, names.iter().position(|name| lacks(&name))));
        };
        let theirs: Vec<_> = names
            .iter()
            .map(|name| Some(&*at(targets(name), &provider)?.model).filter(|theirs| *theirs != &**name))
            .collect();
        let edits = name_batch_models(envelope, &models, &theirs);
        Ok((provider, edits))
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
        targets.retain(|target| {
            keeps(&target.provider.kind, self.operation)
                && self.wanted.is_none_or(|wanted| *target.provider.name == *wanted)
        });
        if targets.is_empty() {
            let which = self.wanted.map(|name| format!(" `{name}`")).unwrap_or_default();
            let message =
                format!("`{shown}` is not had from a provider{which} that takes batches of this kind");
            return Err(Refusal::new(RefusalKind::InvalidRequest, message));
        }
        Ok(targets)
    }
}

/// The first target at a provider.
fn at<'t>(targets: &'t [Arc<TargetConfig>], provider: &ProviderConfig) -> Option<&'t Arc<TargetConfig>> {
    targets.iter().find(|target| target.provider.name == provider.name)
}

fn no_common(first: &[Arc<TargetConfig>], other: Option<usize>) -> Refusal {
    let (Some(first), Some(other)) = (first.first(), other) else {
        return Refusal::invalid("requests", "`requests` is empty");
    };
    let message = format!(
        "the models of a batch must be had from one provider, and `{}`, which has the first, has not the one of \
         requests[{other}]",
        first.provider.name
    );
    Refusal::invalid(format!("requests[{other}].params.model"), message)
}
