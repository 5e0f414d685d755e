//! What is wrong with a document.

use crate::path::Path;
use std::fmt;

/// One thing that is wrong, where, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Such as `models.chat.targets[1].model`.
    pub path: String,
    /// What is wrong, and how to mend it.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// All that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

/// What was found on the way. No longer than the document, of which there is one for each thing that is wrong.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Hinder the document.
    pub(crate) problems: Vec<Problem>,
    /// Do not.
    pub(crate) warnings: Vec<Problem>,
}

impl Findings {
    /// The warnings, if nothing hinders.
    pub(crate) fn warnings(self) -> Result<Vec<Problem>, Problems> {
        if self.problems.is_empty() { Ok(self.warnings) } else { Err(Problems(self.problems)) }
    }

    pub(crate) fn problem(&mut self, path: &Path<'_>, message: impl Into<String>) {
        self.problems.push(Problem { path: path.to_string(), message: message.into() });
    }

    pub(crate) fn warning(&mut self, path: &Path<'_>, message: impl Into<String>) {
        self.warnings.push(Problem { path: path.to_string(), message: message.into() });
    }
}
