//! The answer to a request for embeddings.

use super::{Kind, vector};
use crate::ir::{Attachment, Json, Text, Usage};
use std::borrow::Cow;

/// What a provider answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Response {
    /// The vendor's id; may be empty.
    pub id: Text,
    /// The model that answered; may be empty.
    pub model: Text,
    /// The vectors, by kind.
    pub vectors: Vec<Vectors>,
    /// What it cost; only the input counts.
    pub usage: Option<Usage>,
    /// Members that are not modelled.
    pub attachments: Vec<Attachment>,
}

/// The vectors of one kind, in the order of the inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vectors {
    /// Which.
    pub kind: Kind,
    /// Arrays of numbers as they were written; strings with base64 in them.
    pub list: Vec<Json>,
}

impl Response {
    /// Whether there are so many vectors of each kind.
    pub fn has(&self, inputs: usize) -> bool {
        !self.vectors.is_empty() && self.vectors.iter().all(|vectors| vectors.list.len() == inputs)
    }

    /// Adds the answer to the inputs that follow.
    pub fn append(&mut self, next: Self) {
        for vectors in next.vectors {
            match self.vectors.iter_mut().find(|own| own.kind == vectors.kind) {
                Some(own) => own.list.extend(vectors.list),
                None => self.vectors.push(vectors),
            }
        }
        let input = |usage: Option<Usage>| usage.map_or(0, |usage| usage.input);
        let sum = input(self.usage).saturating_add(input(next.usage));
        if self.usage.is_some() || next.usage.is_some() {
            self.usage = Some(cost(sum));
        }
        for attachment in next.attachments {
            if !self.attachments.iter().any(|own| own.name == attachment.name) {
                self.attachments.push(attachment);
            }
        }
    }

    /// The first vector as one kind, where a client gets but one.
    pub(super) fn first(&self, kind: &Kind) -> Result<Json, String> {
        self.vectors(kind)?.first().cloned().ok_or_else(|| "an answer without embeddings".to_owned())
    }

    /// All vectors as one kind.
    pub(super) fn vectors(&self, kind: &Kind) -> Result<Cow<'_, [Json]>, String> {
        let find = |kind: &Kind| self.vectors.iter().find(|vectors| vectors.kind == *kind);
        if let Some(found) = find(kind) {
            return Ok(Cow::Borrowed(&found.list));
        }
        let converted: Option<Vec<Json>> = match kind {
            Kind::Float => {
                find(&Kind::Base64).and_then(|found| found.list.iter().map(vector::unpack).collect())
            }
            Kind::Base64 => {
                find(&Kind::Float).and_then(|found| found.list.iter().map(vector::pack).collect())
            }
            Kind::Own(_) => None,
        };
        converted
            .map(Cow::Owned)
            .ok_or_else(|| "an answer without vectors of the kind that was asked for".to_owned())
    }
}

/// So many tokens.
pub(super) fn cost(input: u64) -> Usage {
    Usage { input, ..Usage::default() }
}
