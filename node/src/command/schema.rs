//! `trestle schema`: the JSON Schema of the gateway document.

use super::{failure::Done, print};
use std::process::ExitCode;

/// Print the JSON Schema of the gateway document.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle schema > gateway.schema.json
  # and in the first line of gateway.yaml, for editors with a YAML language server:
  # yaml-language-server: $schema=gateway.schema.json")]
pub(super) struct Schema {}

impl Schema {
    pub(super) fn run(self) -> Done {
        print::out(&format!("{}\n", trestle_config::schema().trim_end()))?;
        Ok(ExitCode::SUCCESS)
    }
}
