//! The command line itself: which commands there are.

use super::{
    admin_token, ask, audit, check, cluster, completions, dev, document, dry_run,
    failure::{Done, Failure},
    health, import, keys, ledger, limits, revisions, schema, serve, usage,
};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// An AI gateway: applications keep their SDK and change one base URL.
#[derive(Debug, Parser)]
#[command(name = "trestle", version, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  trestle dev                                  a gateway on 127.0.0.1:8080, no file needed
  trestle check gateway.yaml                   every problem of a document
  trestle serve --document gateway.yaml        what fills an empty data folder
  trestle schema > gateway.schema.json         for completion in an editor
  KEY=$(trestle keys create web)               a key, of a running node
  trestle document edit                        the document of a running node
  trestle usage --by team,model                what this month's calls come to
  trestle cluster members                      the nodes that serve as one
  trestle ask --model chat 'Say hello'         one chat request, with the key of TRESTLE_KEY

Commands that ask a node find it by --url, TRESTLE_URL or a profile, and send the admin token of
TRESTLE_ADMIN_TOKEN, of --token-file or of the profile. ~/.config/trestle/config.toml:
  default = \"prod\"
  [profiles.prod]
  url = \"https://gateway.example:9090\"
  token = \"env:PROD_TOKEN\"                     or file:PATH
  ca = \"ca.pem\"                                for an authority of your own

Logs go to stderr (TRESTLE_LOG sets the filter, such as `debug` or `trestle=debug,warn`), the request
log to stdout, one JSON object a line.";

#[derive(Debug, Subcommand)]
enum Command {
    Dev(dev::Dev),
    Serve(Box<serve::Serve>),
    Check(check::Check),
    Schema(schema::Schema),
    Import(import::Import),
    Document(document::Document),
    Keys(keys::Keys),
    Revisions(revisions::Revisions),
    Audit(audit::Audit),
    Ledger(ledger::Ledger),
    Usage(usage::Usage),
    Limits(limits::Limits),
    Cluster(cluster::Cluster),
    Ask(ask::Ask),
    AdminToken(admin_token::AdminToken),
    DryRun(dry_run::DryRun),
    Health(health::Health),
    Completions(completions::Completions),
}

impl Cli {
    /// Runs the command. An error of any kind is printed here and nowhere else.
    pub(crate) fn run(self) -> ExitCode {
        let done: Done = match self.command {
            Command::Dev(dev) => dev.run().map(success).map_err(Into::into),
            Command::Serve(serve) => serve.run().map(success).map_err(Into::into),
            Command::Check(check) => check.run(),
            Command::Schema(schema) => schema.run(),
            Command::Import(import) => import.run(),
            Command::Document(document) => document.run(),
            Command::Keys(keys) => keys.run(),
            Command::Revisions(revisions) => revisions.run(),
            Command::Audit(audit) => audit.run(),
            Command::Ledger(ledger) => ledger.run(),
            Command::Usage(usage) => usage.run(),
            Command::Limits(limits) => limits.run(),
            Command::Cluster(cluster) => cluster.run(),
            Command::Ask(ask) => ask.run(),
            Command::AdminToken(token) => token.run(),
            Command::DryRun(dry_run) => dry_run.run(),
            Command::Health(health) => health.run(),
            Command::Completions(completions) => completions.run(),
        };
        done.unwrap_or_else(Failure::report)
    }
}

fn success((): ()) -> ExitCode {
    ExitCode::SUCCESS
}
