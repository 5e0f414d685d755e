//! A model as it was found.

use crate::{Entry, Feature, Kind, Modality, Price};
use std::collections::BTreeSet;

/// A model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// The vendor.
    pub provider: String,
    /// The vendor's own name of it. May differ from what was asked for, in its date or region.
    pub name: String,
    /// What it is for.
    pub kind: Kind,
    /// Most input tokens, if known.
    pub context_max: Option<u64>,
    /// Most output tokens, if known.
    pub output_max: Option<u64>,
    /// Length of the vectors, if known.
    pub dimensions: Option<u64>,
    /// What it is known to do.
    pub features: BTreeSet<Feature>,
    /// What it takes.
    pub input: BTreeSet<Modality>,
    /// What it gives.
    pub output: BTreeSet<Modality>,
    /// When the vendor takes it away: a day such as `2027-01-31`.
    pub retires: Option<String>,
    /// What it costs; empty where nobody knows.
    pub price: Price,
    /// Tells these prices from others: a hash of them, and 0 where nobody knows them.
    pub price_version: u64,
}

impl Model {
    pub(crate) fn new(id: &str, entry: Entry) -> Option<Self> {
        let (provider, name) = id.split_once('/')?;
        let kind = entry.kind.unwrap_or_default();
        let features = entry.features.unwrap_or_default();
        Some(Self {
            provider: provider.to_owned(),
            name: name.to_owned(),
            kind,
            context_max: entry.context_max,
            output_max: entry.output_max,
            dimensions: entry.dimensions,
            input: entry.input.unwrap_or_else(|| Modality::taken(kind, &features)),
            output: entry.output.unwrap_or_else(|| Modality::given(kind, &features)),
            features,
            retires: entry.retires,
            price_version: entry.price.version(),
            price: entry.price,
        })
    }
}
