//! Why a command did not do what was asked, and the exit status that says so.

use super::print::plain;
use serde::Deserialize;
use std::{fmt, process::ExitCode};

/// What commands that ask a node end with.
pub(super) type Done = Result<ExitCode, Failure>;

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// Nobody reads what is printed any more: an ordinary end, as with `| head`.
    #[error("nobody reads the output any more")]
    Closed,
    /// No node, no token, or no answer that a node would give.
    #[error("{0}")]
    NoNode(String),
    /// The node says no.
    #[error("{0}")]
    Refused(Refusal),
    /// Anything else.
    #[error("{0:#}")]
    Other(#[from] anyhow::Error),
}

/// What a node says is wrong: problem details (RFC 9457).
#[derive(Debug, Deserialize)]
pub(super) struct Refusal {
    pub(super) status: u16,
    title: String,
    detail: String,
    #[serde(default)]
    pub(super) problems: Vec<Place>,
}

/// One thing that is wrong.
#[derive(Debug, Deserialize)]
pub(super) struct Place {
    path: String,
    message: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plain(&format!("{}: {}", self.path, self.message)))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.problems.is_empty() {
            return f.write_str(&plain(&self.detail));
        }
        // The detail would repeat the first of them.
        f.write_str(&plain(&self.title))?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n{problem}"))
    }
}

impl Failure {
    /// Says it on stderr; the exit status.
    pub(super) fn report(self) -> ExitCode {
        match &self {
            Self::Closed => return ExitCode::SUCCESS,
            Self::NoNode(_) | Self::Refused(_) | Self::Other(_) => eprintln!("error: {self}"),
        }
        match self {
            Self::NoNode(_) => ExitCode::from(2),
            Self::Closed | Self::Refused(_) | Self::Other(_) => ExitCode::FAILURE,
        }
    }
}
