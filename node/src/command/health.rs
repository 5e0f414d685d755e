//! `trestle health`: whether a node takes requests, for health checks where there is no shell.

use super::{
    client::{agent, unreachable},
    failure::{Done, Failure},
    print,
    remote::check_url,
};
use anyhow::anyhow;
use http::Method;
use std::{path::PathBuf, process::ExitCode};

/// Longest reason that is read.
const REASON_BYTES_MAX: u64 = 64 << 10;

/// Ask a node whether requests should be sent to it, as its /readyz says. Needs no token.
///
/// Exit status: 0 yes, 1 not now, and stderr says why, 2 no node answers.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle health
  trestle health --url http://127.0.0.1:8081")]
pub(super) struct Health {
    /// The node; with --admin-listen it answers there, too, over plain HTTP.
    #[arg(long, value_name = "URL", env = "TRESTLE_URL", default_value = "http://127.0.0.1:8080")]
    url: String,
    /// The certificate of the only authority that is trusted, in PEM.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl Health {
    pub(super) fn run(self) -> Done {
        let url = self.url.trim_end_matches('/');
        check_url(url).map_err(|error| Failure::NoNode(error.to_string()))?;
        let agent = agent(url, self.ca.as_deref())?;
        let answer = agent.get(format!("{url}/readyz")).call();
        let answer = answer.map_err(|error| unreachable(url, &error, &Method::GET))?;
        let (head, body) = answer.into_parts();
        let said = body.into_with_config().limit(REASON_BYTES_MAX).read_to_string().unwrap_or_default();
        let said = print::plain(said.trim_end());
        if head.status.is_success() {
            print::out(&format!("{said}\n"))?;
            return Ok(ExitCode::SUCCESS);
        }
        Err(anyhow!("{url} takes no requests now: {}: {said}", head.status).into())
    }
}
