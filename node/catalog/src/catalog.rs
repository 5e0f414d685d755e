//! The catalog: the data, with what an operator says otherwise.

use crate::{Entry, Model, Place, Problems, lines, lines::Lines, names};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The models that ship with the binary.
const EMBEDDED: &str = include_str!("../models.jsonl");

/// Models by `provider/model`. A clone shares the data.
#[derive(Debug, Clone)]
pub struct Catalog {
    lines: Lines,
    overrides: Arc<BTreeMap<String, Entry>>,
}

impl Default for Catalog {
    fn default() -> Self {
        Self::embedded()
    }
}

impl Catalog {
    /// The models that ship with the binary.
    pub fn embedded() -> Self {
        Self { lines: Lines::Embedded(EMBEDDED), overrides: Arc::default() }
    }

    /// The models of a file in the format of the embedded one, or the embedded ones; with overrides by `provider/model` on top.
    /// An override of a model that is not there makes it. All that is wrong is told at once.
    pub fn with(file: Option<Arc<str>>, overrides: BTreeMap<String, Entry>) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        let lines = file.map_or(Lines::Embedded(EMBEDDED), |text| Lines::checked(text, &mut problems));
        Self::sound(lines, overrides, problems)
    }

    /// The same models with other overrides instead of those here. The models are not checked again.
    pub fn overridden(&self, overrides: BTreeMap<String, Entry>) -> Result<Self, Problems> {
        Self::sound(self.lines.clone(), overrides, Problems::default())
    }

    fn sound(
        lines: Lines,
        overrides: BTreeMap<String, Entry>,
        mut problems: Problems,
    ) -> Result<Self, Problems> {
        for (id, entry) in &overrides {
            let place = Place::Override(id.clone());
            if !lines::is_id(id) {
                problems.add(&place, "", "must be `provider/model`, without spaces and quotes");
            }
            for (member, message) in entry.wrong() {
                problems.add(&place, member, message);
            }
        }
        if problems.0.is_empty() { Ok(Self { lines, overrides: Arc::new(overrides) }) } else { Err(problems) }
    }

    /// Where the data is from, if its head says so.
    pub fn source(&self) -> Option<String> {
        self.lines.source()
    }

    /// A model by what a client calls it: as it stands, else as the vendor also calls it, else without date, version and
    /// `-latest`, else the newest of that name that has a date. `provider` is the vendor's name in the list of vendors.
    pub fn find(&self, provider: &str, model: &str) -> Option<Model> {
        self.find_of(provider, &names::candidates(provider, model))
    }

    /// A model in a region, where its price may be another: Bedrock's `us-east-1`, Azure's `eu`.
    pub fn find_in(&self, provider: &str, region: &str, model: &str) -> Option<Model> {
        let names = names::candidates(provider, model);
        let there: Vec<_> = names.iter().map(|name| format!("{region}/{name}")).collect();
        let known = there.iter().find_map(|name| self.at(&format!("{provider}/{name}")));
        known.or_else(|| self.find_of(provider, &names))
    }

    /// The vendors that have a model of such a bare name, in order: under exactly this name, or if none has, under one that
    /// `find` takes for it. Asks every vendor: not for each request.
    pub fn providers_of(&self, model: &str) -> Vec<&str> {
        let providers = self.providers();
        let exact = |provider: &&str| self.has(&format!("{provider}/{model}"));
        let found: Vec<_> = providers.iter().copied().filter(exact).collect();
        if !found.is_empty() {
            return found;
        }
        providers.into_iter().filter(|provider| self.find(provider, model).is_some()).collect()
    }

    /// All vendors, in order.
    pub fn providers(&self) -> BTreeSet<&str> {
        let mut providers: BTreeSet<_> =
            self.overrides.keys().filter_map(|id| id.split_once('/')).map(|(provider, _)| provider).collect();
        let mut from = String::new();
        while let Some((provider, _)) = self.lines.first_from(&from).and_then(|id| id.split_once('/')) {
            providers.insert(provider);
            // The byte that follows the slash: beyond all of this vendor.
            from = format!("{provider}0");
        }
        providers
    }

    /// The names of a vendor's models, in order.
    pub fn names(&self, provider: &str) -> BTreeSet<&str> {
        let prefix = format!("{provider}/");
        let overrides = self.overrides.range(prefix.clone()..).map(|(id, _)| id.as_str());
        let overrides = overrides.take_while(|id| id.starts_with(&prefix));
        let ids = self.lines.ids_under(prefix.clone()).chain(overrides);
        ids.filter_map(|id| id.get(prefix.len()..)).collect()
    }

    /// A vendor's models, in order of their names.
    pub fn models(&self, provider: &str) -> impl Iterator<Item = Model> {
        let ids = self.names(provider).into_iter().map(move |name| format!("{provider}/{name}"));
        ids.filter_map(|id| self.at(&id))
    }

    fn find_of(&self, provider: &str, names: &[String]) -> Option<Model> {
        let known = names.iter().find_map(|name| self.at(&format!("{provider}/{name}")));
        known.or_else(|| names.iter().find_map(|name| self.at(&self.newest(provider, name)?)))
    }

    /// The newest of the models whose name goes on with a date.
    fn newest(&self, provider: &str, name: &str) -> Option<String> {
        if name.is_empty() {
            return None;
        }
        let id = format!("{provider}/{name}");
        let longer = ["-", "@"].into_iter().flat_map(|mark| self.lines.ids_under(format!("{id}{mark}")));
        let dated = longer.filter_map(|longer| Some((names::dated(longer, &id)?, longer)));
        dated.max().map(|(_, longer)| longer.to_owned())
    }

    fn has(&self, id: &str) -> bool {
        self.overrides.contains_key(id) || self.lines.has(id)
    }

    /// The model of exactly this id.
    fn at(&self, id: &str) -> Option<Model> {
        let entry = match (self.lines.find(id), self.overrides.get(id)) {
            (Some(mut entry), Some(other)) => {
                entry.merge(other);
                entry
            }
            (entry, other) => entry.or_else(|| other.cloned())?,
        };
        Model::new(id, entry)
    }
}
