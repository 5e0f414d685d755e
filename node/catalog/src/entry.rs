//! What is said of a model: by a line of the data, or by an operator who overrides some of it.

use crate::{Feature, Kind, Modality, Price};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::BTreeSet};

/// What is said of a model. What is not said stays open; in an override it stays as the catalog has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Entry {
    /// What it is for. Default `chat`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Most input tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_max: Option<u64>,
    /// Most output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_max: Option<u64>,
    /// Length of the vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<u64>,
    /// What it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<BTreeSet<Feature>>,
    /// What it takes, where kind and features do not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<BTreeSet<Modality>>,
    /// What it gives, where kind and features do not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<BTreeSet<Modality>>,
    /// When the vendor takes it away: a day such as `2027-01-31`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retires: Option<String>,
    /// What it costs.
    #[serde(skip_serializing_if = "Price::is_empty")]
    pub price: Price,
}

/// A line of the data: an entry, and whose it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line<'l> {
    #[serde(borrow)]
    pub(crate) id: Cow<'l, str>,
    kind: Option<Kind>,
    context_max: Option<u64>,
    output_max: Option<u64>,
    dimensions: Option<u64>,
    features: Option<BTreeSet<Feature>>,
    input: Option<BTreeSet<Modality>>,
    output: Option<BTreeSet<Modality>>,
    retires: Option<String>,
    #[serde(default)]
    price: Price,
}

impl From<Line<'_>> for Entry {
    fn from(line: Line<'_>) -> Self {
        let Line {
            id: _,
            kind,
            context_max,
            output_max,
            dimensions,
            features,
            input,
            output,
            retires,
            price,
        } = line;
        Self { kind, context_max, output_max, dimensions, features, input, output, retires, price }
    }
}

impl Entry {
    /// Sets what the other names.
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { kind, context_max, output_max, dimensions, features, input, output, retires, price } =
            other;
        set(&mut self.kind, kind);
        set(&mut self.context_max, context_max);
        set(&mut self.output_max, output_max);
        set(&mut self.dimensions, dimensions);
        set(&mut self.features, features);
        set(&mut self.input, input);
        set(&mut self.output, output);
        set(&mut self.retires, retires);
        self.price.merge(price);
    }

    /// What the types do not rule out: the member, and what is wrong.
    pub(crate) fn wrong(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let limits = [
            ("context_max", self.context_max),
            ("output_max", self.output_max),
            ("dimensions", self.dimensions),
        ];
        for (member, limit) in limits {
            if limit == Some(0) {
                found.push((member.to_owned(), "must not be 0".to_owned()));
            }
        }
        if let Some(day) = &self.retires
            && !is_day(day)
        {
            found.push(("retires".to_owned(), format!("`{day}` is no day such as `2027-01-31`")));
        }
        let mut seen = BTreeSet::new();
        for (index, step) in self.price.steps().iter().enumerate() {
            if step.tokens == 0 {
                found.push((format!("price.above[{index}].tokens"), "must not be 0".to_owned()));
            }
            if !seen.insert(step.tokens) {
                let message = format!("there is a step above {} already", step.tokens);
                found.push((format!("price.above[{index}].tokens"), message));
            }
        }
        found
    }
}

fn set<T: Clone>(slot: &mut Option<T>, value: &Option<T>) {
    if value.is_some() {
        slot.clone_from(value);
    }
}

/// Whether a text has the form `2027-01-31`, with a month and a day that exist in some year.
fn is_day(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let mut number = |digits: usize| {
        let part = parts.next().filter(|part| part.len() == digits)?;
        part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse::<u32>().ok())?
    };
    let (Some(_), Some(month), Some(day)) = (number(4), number(2), number(2)) else { return false };
    let days = match month {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_one_form() {
        for day in ["2027-01-31", "2028-02-29"] {
            assert!(is_day(day), "{day}");
        }
        for text in
            ["", "2027-1-31", "2027-13-01", "2027-04-31", "2027-01-00", "2027-01-31T", "+027-01-31", "soon"]
        {
            assert!(!is_day(text), "{text}");
        }
    }

    #[test]
    fn an_entry_is_written_as_it_is_read() {
        for text in [
            "{}",
            r#"{"kind":"image","features":["images"],"price":{"per_image":5,"above":[]}}"#,
            r#"{"context_max":10,"retires":"2027-01-31","price":{"input":1,"above":[{"tokens":5,"input":2,"services":{"flex":{"input":1}}}],"services":{"flex":{"input":1}},"variants":{"hd":{"per_image":0}}}}"#,
        ] {
            let entry: Entry = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&entry).unwrap(), text);
        }
    }
}
