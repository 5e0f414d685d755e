//! What an import made, and what it has to say of the rest.

use crate::{Document, Problem, Problems, path::Path};
use std::fmt;

/// A document, and what of the other gateway's file is not in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// Compiles without problems; references that cannot be read are warnings, as always.
    pub document: Document,
    /// What has no equivalent, or was changed; in the order in which it was found.
    pub notes: Vec<Note>,
}

/// Something that an operator should know, or do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Where it is in the file that was read; what is below is meant too.
    pub path: String,
    /// What became of it, and what to do. Holds no secret.
    pub message: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// A place in the file that is read, as text: it outlives what was there.
#[derive(Debug, Clone, Default)]
pub(super) struct Place(String);

impl Place {
    pub(super) fn member(&self, name: &str) -> Self {
        let shown = Path::Root.member(name).to_string();
        let dot = if self.0.is_empty() || shown.starts_with('[') { "" } else { "." };
        Self(format!("{}{dot}{shown}", self.0))
    }

    pub(super) fn item(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Path::Root.fmt(f) } else { f.write_str(&self.0) }
    }
}

/// What was found on the way. No longer than the file.
#[derive(Debug, Default)]
pub(super) struct Report {
    notes: Vec<Note>,
    problems: Vec<Problem>,
}

impl Report {
    /// Something that is not carried over as it is.
    pub(super) fn note(&mut self, place: &Place, message: impl Into<String>) {
        self.notes.push(Note { path: place.to_string(), message: message.into() });
    }

    /// Something that is no such file.
    pub(super) fn problem(&mut self, place: &Place, message: impl Into<String>) {
        self.problems.push(Problem { path: place.to_string(), message: message.into() });
    }

    /// The document, if the file was one that can be read.
    pub(super) fn finish(self, document: Document) -> Result<Imported, Problems> {
        if self.problems.is_empty() {
            Ok(Imported { document, notes: self.notes })
        } else {
            Err(Problems(self.problems))
        }
    }
}
