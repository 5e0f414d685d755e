//! The mock as a process: its command line, and the line that says where it listens.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::behaviour::SETTINGS;
use super::listen::{Mock, Options, Pem};

/// A mock of the APIs of OpenAI, Anthropic, Bedrock, Gemini and Cohere that misbehaves on demand.
#[derive(Args, Debug)]
pub struct Command {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The certificate chain, PEM: serve TLS.
    #[arg(long, requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key, PEM.
    #[arg(long, requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Serve prebuilt answers only, as fast as can be, and record nothing.
    #[arg(long, conflicts_with = "tls_cert")]
    canned: bool,
    /// List the settings for `x-mock`, keys, models and scripts, and end.
    #[arg(long)]
    settings: bool,
}

impl Command {
    /// Serves until the process is ended.
    ///
    /// # Errors
    /// Where the address cannot be bound or a file cannot be used.
    pub fn run(&self) -> anyhow::Result<()> {
        if self.settings {
            for (name, what) in SETTINGS {
                println!("{name:26} {what}");
            }
            return Ok(());
        }
        let read =
            |path: &PathBuf| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(cert), Some(key)) => Some(Pem { cert: read(cert)?, key: read(key)? }),
            _ => None,
        };
        let mock = Mock::start(Options { listen: self.listen, tls, canned: self.canned })?;
        let mut out = std::io::stdout();
        writeln!(out, "listening {}", mock.addr())?;
        out.flush()?;
        mock.wait();
        Ok(())
    }
}
