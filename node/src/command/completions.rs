//! `trestle completions`: a completion script for a shell.

use super::{failure::Done, print};
use clap::CommandFactory;
use clap_complete::Shell;
use std::process::ExitCode;

/// Print a completion script for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle completions bash > ~/.local/share/bash-completion/completions/trestle
  trestle completions zsh > ~/.zfunc/_trestle
  trestle completions fish > ~/.config/fish/completions/trestle.fish")]
pub(super) struct Completions {
    /// The shell to complete in.
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> Done {
        // To memory first: the generator panics where a closed pipe is an ordinary end.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut super::Cli::command(), "trestle", &mut script);
        print::out(&String::from_utf8_lossy(&script))?;
        Ok(ExitCode::SUCCESS)
    }
}
