//! What limits and keys may refer to.

use super::MOCK;
use crate::{
    Document, pattern,
    resolve::{STAR, split_target},
};
use std::collections::BTreeSet;

/// Names of providers and models.
pub(super) struct Names<'a> {
    pub(super) providers: BTreeSet<&'a str>,
    pub(super) models: BTreeSet<&'a str>,
}

/// What a name of a model means, as far as the document tells.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning<'a> {
    /// A name in `models`.
    Group(&'a str),
    /// A model of a provider.
    Provider(&'a str),
}

impl<'a> Names<'a> {
    pub(super) fn of(document: &'a Document) -> Self {
        Self {
            providers: document.providers.keys().map(String::as_str).chain([MOCK]).collect(),
            models: document.models.keys().map(String::as_str).collect(),
        }
    }

    /// What a name means; in the order in which requests look.
    pub(super) fn meaning(&self, name: &str) -> Option<Meaning<'a>> {
        if name.contains(STAR) {
            return None;
        }
        if let Some(group) = self.models.get(name) {
            return Some(Meaning::Group(group));
        }
        if let Some(found) = split_target(name).and_then(|(provider, _)| self.providers.get(provider)) {
            return Some(Meaning::Provider(found));
        }
        let fits = |group: &&&str| group.contains(STAR) && pattern::matches(group, name);
        let longest = self.models.iter().filter(fits).max_by_key(|group| group.len())?;
        Some(Meaning::Group(longest))
    }
}
