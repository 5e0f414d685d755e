//! `trestle check`: every problem of a gateway document.

use super::{failure::Done, print};
use crate::source::{LoadError, compile_file};
use std::{path::PathBuf, process::ExitCode};

/// Check a gateway document and print every problem.
///
/// Exit status: 0 the document is valid, 1 it is not (each problem on a line of its own on stderr, `path: what is
/// wrong, and how to mend it`), 2 it cannot be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle check gateway.yaml
  OPENAI_API_KEY=unused trestle check gateway.yaml    (references to secrets are looked up as well)")]
pub(super) struct Check {
    /// The gateway document, in YAML or JSON.
    file: PathBuf,
}

impl Check {
    pub(super) fn run(self) -> Done {
        let shown = self.file.display().to_string();
        Ok(match compile_file(&self.file) {
            Ok(compiled) => {
                for warning in &compiled.warnings {
                    eprintln!("warning: {warning}");
                }
                let snapshot = &compiled.snapshot;
                print::out(&format!(
                    "{shown} is valid: {}, {}, {}\n",
                    counted(snapshot.providers.len(), "provider"),
                    counted(snapshot.groups.len(), "model"),
                    counted(snapshot.callers.len(), "key"),
                ))?;
                ExitCode::SUCCESS
            }
            Err(LoadError::Invalid(problems)) => {
                eprintln!("{problems}");
                ExitCode::from(1)
            }
            Err(error @ LoadError::Unreadable { .. }) => {
                eprintln!("error: {error}");
                ExitCode::from(2)
            }
        })
    }
}

fn counted(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
