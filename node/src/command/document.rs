//! `trestle document`: the document of a running node.

use super::{
    changes::{Applied, diff},
    client::{Ask, Client},
    edit,
    failure::{Done, Failure},
    print::{self, Paint},
    remote::Remote,
};
use crate::files::{self, DOCUMENT_BYTES_MAX};
use anyhow::{Context, anyhow, ensure};
use http::Method;
use serde_json::Value;
use std::{io::Read, path::Path, path::PathBuf, process::ExitCode};

/// Get, compare, apply and edit the document of a running node.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle document get > gateway.yaml
  trestle document diff gateway.yaml
  trestle document apply gateway.yaml
  trestle document edit")]
pub(super) struct Document {
    #[command(flatten)]
    remote: Remote,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Get(Get),
    Diff(Diff),
    Apply(Apply),
    Edit(edit::Edit),
}

/// Print the document; its revision goes to stderr.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle document get > gateway.yaml
  trestle document get --format json | jq .models
  trestle document get --revision 12")]
struct Get {
    /// How it looks.
    #[arg(long, value_enum, default_value_t = Format::Yaml)]
    format: Format,
    /// As it was at this revision.
    #[arg(long, value_name = "N")]
    revision: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Yaml,
    Json,
}

/// Show what applying a file would change.
///
/// Exit status: 0 nothing, 1 something, 2 it cannot be said: the file or the document in it is wrong, or no node answers.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle document diff gateway.yaml
  trestle document diff gateway.yaml > /dev/null && echo the same")]
struct Diff {
    /// The document, in YAML or JSON; - is stdin.
    file: PathBuf,
}

/// Make the document of the node that of a file, whole or not at all.
///
/// What others change meanwhile in other entities stays; where they change the same ones nothing is applied.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle document apply gateway.yaml --dry-run
  trestle document apply gateway.yaml
  trestle document apply gateway.yaml --revision 12    (the file was made of revision 12)
  cat gateway.yaml | trestle document apply -")]
struct Apply {
    /// The document, in YAML or JSON; - is stdin.
    file: PathBuf,
    /// Only say what would change.
    #[arg(long)]
    dry_run: bool,
    /// Replace whatever is there, whoever else changes it.
    #[arg(long, conflicts_with = "revision")]
    force: bool,
    /// The revision that the file was made of: what others changed since then is not undone [default: the last one].
    #[arg(long, value_name = "N")]
    revision: Option<u64>,
}

impl Document {
    pub(super) fn run(self) -> Done {
        let client = || Client::open(&self.remote);
        match self.what {
            What::Get(get) => get.run(&client()?, self.remote.json),
            What::Diff(diff) => {
                // As `diff` has it: 1 is an answer, not trouble.
                let done = client().and_then(|client| diff.run(&client, self.remote.json));
                Ok(done.unwrap_or_else(|failure| match failure.report() {
                    ExitCode::SUCCESS => ExitCode::SUCCESS,
                    _ => ExitCode::from(2),
                }))
            }
            What::Apply(apply) => apply.run(&client()?, self.remote.json),
            What::Edit(edit) => edit.run(&client()?, self.remote.json),
        }
    }
}

impl Get {
    fn run(self, client: &Client, json: bool) -> Done {
        let format = if json || self.format == Format::Json { "json" } else { "yaml" };
        let revision = self.revision.map(|revision| format!("&revision={revision}")).unwrap_or_default();
        let answer = client.get(&format!("/api/document?format={format}{revision}"))?;
        if let Some(tag) = &answer.etag {
            eprintln!("revision {}", tag.trim_matches('"'));
        }
        print::out(&format!("{}\n", answer.text.trim_end()))?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Diff {
    fn run(self, client: &Client, json: bool) -> Done {
        let answer = put(client, &current(client)?, read(&self.file)?, Run::Dry)?;
        let applied: Applied = answer.read()?;
        applied.warn();
        if json {
            print::json(&answer.read::<Value>()?)?;
        } else {
            print::out(&diff(&applied.changes, Paint::of_stdout()))?;
            if applied.more() > 0 {
                eprintln!("and {} entities more", applied.more());
            }
        }
        Ok(if applied.changes.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

impl Apply {
    fn run(self, client: &Client, json: bool) -> Done {
        // Looked up before the file is read: what changes from here on was not seen by whoever wrote it.
        let tag = match (self.force, self.revision) {
            (true, _) => "*".to_owned(),
            (false, Some(revision)) => format!("\"{revision}\""),
            (false, None) => current(client)?,
        };
        let run = if self.dry_run { Run::Dry } else { Run::Real };
        let answer = put(client, &tag, read(&self.file)?, run)?;
        if json {
            print::json(&answer.read::<Value>()?)?;
        } else {
            answer.read::<Applied>()?.print()?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Whether to do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    Dry,
    Real,
}

impl Run {
    /// As a query says it.
    pub(super) fn query(self) -> &'static str {
        match self {
            Self::Dry => "?dry_run=true",
            Self::Real => "",
        }
    }
}

/// Replaces the document that was of this ETag.
pub(super) fn put(
    client: &Client,
    tag: &str,
    text: String,
    run: Run,
) -> Result<super::client::Answer, Failure> {
    let path = format!("/api/document{}", run.query());
    client.ask(Ask { method: Method::PUT, path: &path, if_match: Some(tag), body: text })
}

/// The ETag of the document as it is.
fn current(client: &Client) -> Result<String, Failure> {
    let tag = client.get("/api/document")?.etag;
    Ok(tag.ok_or_else(|| anyhow!("the node does not say the revision of its document"))?)
}

/// The text of a file that is meant: nothing at all is a pipe that broke, not a document without anything.
fn read(file: &Path) -> anyhow::Result<String> {
    let shown = if file == Path::new("-") { "stdin".to_owned() } else { file.display().to_string() };
    let text = if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin()
            .take(DOCUMENT_BYTES_MAX + 1)
            .read_to_string(&mut text)
            .context("cannot read stdin")?;
        ensure!(text.len() as u64 <= DOCUMENT_BYTES_MAX, "stdin is larger than {DOCUMENT_BYTES_MAX} bytes");
        text
    } else {
        files::text(file, DOCUMENT_BYTES_MAX).with_context(|| format!("cannot read {shown}"))?
    };
    ensure!(!text.trim().is_empty(), "{shown} is empty; a document without anything is `{{}}`");
    Ok(text)
}
