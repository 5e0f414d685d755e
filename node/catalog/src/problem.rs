//! What is wrong with a file of models or with overrides.

use std::fmt;

/// Where something is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A line of the file, from 1.
    Line(usize),
    /// The override of such a model.
    Override(String),
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// The member, such as `price.above[0].input`; empty where it is the whole.
    pub member: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Line(number) => write!(f, "line {number}: ")?,
            Place::Override(id) => write!(f, "{id}: ")?,
        }
        if !self.member.is_empty() {
            write!(f, "{}: ", self.member)?;
        }
        f.write_str(&self.message)
    }
}

/// All that is wrong; of a file that is wrong from end to end only the first hundred.
#[derive(Debug, Clone, Default, PartialEq, Eq, thiserror::Error)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// The most that are told of one file.
    pub(crate) const MAX: usize = 100;

    pub(crate) fn add(&mut self, place: &Place, member: impl Into<String>, message: impl Into<String>) {
        if self.0.len() < Self::MAX {
            self.0.push(Problem { place: place.clone(), member: member.into(), message: message.into() });
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            write!(f, "{}{problem}", if index > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}
