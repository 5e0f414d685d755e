//! What a model name of a client means.

use crate::{
    Grants, Group, Limits, ProviderConfig, ResolvedTarget, Snapshot, Strategy, TargetConfig, snapshot::Listed,
};
use std::sync::Arc;

/// Splits `provider/model`; what follows the first slash is the vendor's own name of the model and may hold more.
pub(crate) fn split_target(name: &str) -> Option<(&str, &str)> {
    name.split_once('/').filter(|(provider, model)| !provider.is_empty() && !model.is_empty())
}

/// Stands for any run of characters in the name of a group, and for the same run in the models of its targets.
pub(crate) const STAR: char = '*';

impl Snapshot {
    /// Longest name of a model that is not in the document, in bytes.
    pub const MODEL_NAME_BYTES_MAX: usize = 512;

    /// What a model name means, by the first of these that fits: a name in `models`; `provider/model` of a provider of the
    /// document; a name with a star in `models`; the bare name of a model that a provider of the document lists, or that
    /// the catalog knows of its vendor. `None` if nothing fits (or it is longer than `MODEL_NAME_BYTES_MAX`, or has control
    /// characters). Ids are opaque: only a configured provider's name is stripped from the front.
    pub fn resolve(&self, name: &str) -> Option<ResolvedTarget> {
        if let Some(group) = self.groups.get(name) {
            return Some(ResolvedTarget::Group(Arc::clone(group)));
        }
        if let Some(target) = self.direct.get(name) {
            return Some(ResolvedTarget::Target(Arc::clone(target)));
        }
        if name.len() > Self::MODEL_NAME_BYTES_MAX || name.bytes().any(|b| b.is_ascii_control()) {
            return None;
        }
        if let Some((provider, model)) = split_target(name)
            && let Some(provider) = self.providers.get(provider)
        {
            return Some(ResolvedTarget::Target(self.target(provider, model)));
        }
        self.by_pattern(name).or_else(|| self.by_bare_name(name))
    }

    /// The limits of the name in `models` that a model name means, if it means one.
    pub fn limits_of(&self, name: &str) -> Option<&Limits> {
        if let Some(group) = self.groups.get(name) {
            return Some(&group.limits);
        }
        let is_target = self.direct.contains_key(name)
            || split_target(name).is_some_and(|(provider, _)| self.providers.contains_key(provider));
        let fits = |group: &&Arc<Group>| !is_target && captured(&group.name, name).is_some();
        self.patterns.iter().find(fits).map(|group| &group.limits)
    }

    /// A provider as a target without a model: for what is asked of an account.
    pub fn account(&self, provider: &Arc<ProviderConfig>) -> Arc<TargetConfig> {
        Arc::new(TargetConfig::plain(provider, "", &self.catalog, Listed::No))
    }

    /// Whether grants are for any model of a provider.
    pub fn reaches(&self, grants: &Grants, provider: &ProviderConfig) -> bool {
        let own = format!("{}/", provider.name);
        let by_group = |group: &Arc<Group>| {
            group.targets.iter().chain(&group.fallbacks).any(|target| target.provider.name == provider.name)
        };
        let by_pattern = |item: &str| match item.split_once(STAR) {
            Some((before, _)) => item.starts_with(&own) || own.starts_with(before),
            None => item.starts_with(&own),
        };
        grants.all
            || grants.items.iter().any(|item| by_pattern(item) || self.groups.get(item).is_some_and(by_group))
    }

    fn target(&self, provider: &Arc<ProviderConfig>, model: &str) -> Arc<TargetConfig> {
        let name = format!("{}/{model}", provider.name);
        match self.direct.get(name.as_str()) {
            Some(known) => Arc::clone(known),
            None => Arc::new(TargetConfig::plain(provider, model, &self.catalog, Listed::No)),
        }
    }

    /// The group with a star that takes the name, its targets with what the star stands for.
    fn by_pattern(&self, name: &str) -> Option<ResolvedTarget> {
        let fits = |group: &&Arc<Group>| captured(&group.name, name).map(|run| (Arc::clone(group), run));
        let (group, run) = self.patterns.iter().find_map(|group| fits(&group))?;
        let with_run = |target: &Arc<TargetConfig>| {
            if !target.model.contains(STAR) {
                return Arc::clone(target);
            }
            let model = target.model.replace(STAR, run);
            let plain = TargetConfig::plain(&target.provider, &model, &self.catalog, Listed::No);
            let params = target.params.clone();
            let (weight, times, retries) = (target.weight, target.times, target.retries);
            Arc::new(TargetConfig { weight, params, times, retries, ..plain })
        };
        Some(ResolvedTarget::Group(Arc::new(Group {
            name: group.name.clone(),
            strategy: group.strategy,
            targets: group.targets.iter().map(with_run).collect(),
            fallbacks: group.fallbacks.iter().map(with_run).collect(),
            limits: Arc::clone(&group.limits),
        })))
    }

    /// The providers that have a model of that name: first those that list it, then those whose vendor the catalog knows to
    /// have it; by name.
    fn by_bare_name(&self, name: &str) -> Option<ResolvedTarget> {
        let mut found: Vec<_> = self
            .providers
            .values()
            .filter_map(|provider| {
                let lists = provider.models.iter().any(|model| **model == *name);
                let has = lists || self.catalog.find(&provider.vendor, name).is_some();
                has.then_some((!lists, &provider.name, provider))
            })
            .collect();
        found.sort_unstable_by_key(|(unlisted, name, _)| (*unlisted, *name));
        let targets: Vec<_> = found.iter().map(|(_, _, provider)| self.target(provider, name)).collect();
        match &targets[..] {
            [] => None,
            [only] => Some(ResolvedTarget::Target(Arc::clone(only))),
            _ => Some(ResolvedTarget::Group(Arc::new(Group {
                name: name.into(),
                strategy: Strategy::Ordered,
                targets,
                fallbacks: Vec::new(),
                limits: Limits::default(),
            }))),
        }
    }
}

/// What the star of a pattern stands for in a name; `None` where it does not fit.
fn captured<'n>(pattern: &str, name: &'n str) -> Option<&'n str> {
    let (before, behind) = pattern.split_once(STAR)?;
    name.strip_prefix(before)?.strip_suffix(behind).filter(|run| !run.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_something() {
        for (pattern, name, expected) in [
            ("gpt-*", "gpt-4o", Some("4o")),
            ("*-fast", "x-fast", Some("x")),
            ("a-*-b", "a-x-y-b", Some("x-y")),
            ("*", "any/thing", Some("any/thing")),
            ("gpt-*", "gpt-", None),
            ("a-*-b", "a-b", None),
            ("gpt-*", "claude", None),
        ] {
            assert_eq!(captured(pattern, name), expected, "{pattern} {name}");
        }
    }
}
