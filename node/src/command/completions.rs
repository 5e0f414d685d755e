//! `trestle completions`: a completion script for a shell.

use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;

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
    pub(super) fn run(self) -> anyhow::Result<()> {
        // To memory first: the generator panics where a closed pipe is an ordinary end.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut super::Cli::command(), "trestle", &mut script);
        std::io::stdout().write_all(&script)?;
        Ok(())
    }
}
