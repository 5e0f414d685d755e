//! `trestle audit`: who changed what, and the proof that nobody changed the records.

use super::{
    client::Client,
    failure::{Done, Failure},
    print,
    remote::Remote,
    revisions::{PAGE, Who, hint_at_more, newest},
    table::{Table, names, time},
    verify::{Chain, Head},
};
use crate::key::hex;
use anyhow::{Context, anyhow, bail};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    fs::File,
    io::{BufRead, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Audit records that one request gives: they hold what was before and after, so that few are much.
const RECORDS: u64 = 25;
/// The longest line of a file of records: a revision may have changed a large document.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// List, export and verify the audit records.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle audit list
  trestle audit export audit.jsonl
  trestle audit verify
  trestle audit verify audit.jsonl --head SHA256")]
pub(super) struct Audit {
    #[command(flatten)]
    remote: Remote,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    List(List),
    Export(Export),
    Verify(Verify),
}

/// List who changed what, from where, the newest first.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle audit list
  trestle audit list --limit 200 --json | jq .items")]
struct List {
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
}

/// Write all records that are kept, a line of JSON each, the oldest first.
///
/// The head of the chain goes to stderr: keep it elsewhere, to verify the file with it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle audit export audit.jsonl
  trestle audit export | gzip > audit.jsonl.gz")]
struct Export {
    /// Where to [default: stdout].
    file: Option<PathBuf>,
}

/// Check the chain of all records that are kept, of the node or of an exported file.
///
/// Each record must hold the SHA-256 of the one before, what is shown must be what the record says, and the last one must
/// be the head. Values that hold sealed secrets are shown masked, so that they cannot be compared.
/// Exit status: 0 all is good, 1 it is not (or a file cannot be read), 2 no node answers.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle audit verify
  trestle audit verify audit.jsonl
  trestle audit verify audit.jsonl --head 5f2c...    (as the export said it)")]
struct Verify {
    /// A file of `trestle audit export`; - is stdin [default: ask the node].
    file: Option<PathBuf>,
    /// The SHA-256 that the last record of the file must have.
    #[arg(long, value_name = "SHA256", requires = "file")]
    head: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Shown {
    revision: u64,
    at: String,
    origin: Who,
    changes: Vec<Named>,
}

#[derive(Debug, Deserialize)]
struct Named {
    kind: String,
    id: String,
    action: String,
}

impl Audit {
    pub(super) fn run(self) -> Done {
        let client = || Client::open(&self.remote);
        match self.what {
            What::List(list) => list.run(&client()?, self.remote.json),
            What::Export(export) => export.run(&client()?),
            What::Verify(Verify { file: Some(file), head }) => verify_file(&file, head),
            What::Verify(Verify { file: None, .. }) => verify_node(&client()?),
        }
    }
}

impl List {
    fn run(self, client: &Client, json: bool) -> Done {
        let items = newest(client, "/api/audit", self.limit)?;
        if json {
            print::json(&json!({"items": items}))?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut table = Table::new(["REVISION", "AT (UTC)", "WHO", "ROLE", "FROM", "WHAT", "CHANGED"]);
        let mut last = 0;
        for item in items {
            let shown: Shown = serde_json::from_value(item).map_err(anyhow::Error::from)?;
            let changes = shown.changes.iter();
            let changes: Vec<_> =
                changes.map(|change| format!("{} {}/{}", change.action, change.kind, change.id)).collect();
            let Who { actor, role, from, action } = shown.origin;
            let none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
            let changed = names(&changes, changes.len());
            let revision = shown.revision.to_string();
            table.row([revision, time(&shown.at), actor, none(role), none(from), action, changed]);
            last = shown.revision;
        }
        print::out(&table.to_string())?;
        hint_at_more(last);
        Ok(ExitCode::SUCCESS)
    }
}

impl Export {
    fn run(self, client: &Client) -> Done {
        let head = head(client)?;
        let mut count = 0_u64;
        match &self.file {
            None => records::<Failure>(client, &head, |line| {
                count += 1;
                print::out(&format!("{line}\n"))
            })?,
            Some(path) => {
                let failed = || format!("cannot write {}", path.display());
                let mut file = BufWriter::new(File::create(path).with_context(failed)?);
                records::<Failure>(client, &head, |line| {
                    count += 1;
                    Ok(writeln!(file, "{line}").with_context(failed)?)
                })?;
                file.flush().with_context(failed)?;
            }
        }
        eprintln!("{count} revisions up to {}; the head is {}", head.revision, head.sha256);
        Ok(ExitCode::SUCCESS)
    }
}

/// The head of the node's chain.
fn head(client: &Client) -> Result<Head, Failure> {
    #[derive(Deserialize)]
    struct Page {
        head: Head,
    }
    Ok(client.get("/api/audit?limit=1")?.read::<Page>()?.head)
}

/// Each record up to the head as a line, the oldest first, without holding all of them.
fn records<E: From<Failure>>(
    client: &Client,
    head: &Head,
    mut each: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    // Lines of revisions are small: they tell where the records begin.
    let mut first = head.revision + 1;
    loop {
        let page: Value = client.get(&format!("/api/revisions?limit={PAGE}&before={first}"))?.read()?;
        let items = page.get("items").and_then(Value::as_array);
        let last = items.and_then(|items| items.last()?.get("revision")?.as_u64());
        match last.filter(|last| *last < first) {
            Some(last) => first = last,
            None => break,
        }
    }
    let mut count = RECORDS;
    while first <= head.revision {
        count = count.min(head.revision + 1 - first);
        let path = format!("/api/audit?format=jsonl&limit={count}&before={}", first + count);
        let page = client.get(&path)?;
        // A page of large revisions ends before its limit, and it is the earlier ones that it lacks.
        if count > 1 && page.text.lines().next_back().map(revision).transpose()? != Some(first) {
            count /= 2;
            continue;
        }
        for line in page.text.lines().rev() {
            each(line)?;
        }
        (first, count) = (first + count, RECORDS);
    }
    Ok(())
}

/// The revision of a record.
fn revision(line: &str) -> Result<u64, Failure> {
    #[derive(Deserialize)]
    struct Numbered {
        revision: u64,
    }
    let read: Numbered = serde_json::from_str(line).context("a record is not as expected")?;
    Ok(read.revision)
}

/// Why a walk through the records of a node ended before their end.
enum Stop {
    Failed(Failure),
    Wrong(String),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

fn verify_node(client: &Client) -> Done {
    let head = head(client)?;
    let mut chain = Chain::default();
    match records(client, &head, |line| chain.add(line).map_err(Stop::Wrong)) {
        Ok(()) => verdict(&chain, chain.ends_at(&head).err()),
        Err(Stop::Wrong(why)) => verdict(&chain, Some(why)),
        Err(Stop::Failed(failure)) => Err(failure),
    }
}

fn verify_file(path: &Path, head: Option<String>) -> Done {
    let mut lines: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(BufReader::new(std::io::stdin()))
    } else {
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()));
        Box::new(BufReader::new(file?))
    };
    let mut chain = Chain::default();
    while let Some(line) = next_line(&mut lines).with_context(|| format!("cannot read {}", path.display()))? {
        if let Err(why) = chain.add(&line) {
            return verdict(&chain, Some(why));
        }
    }
    let ends = match head {
        Some(sha256) => chain.ends_with(&sha256),
        None => chain.is_any(),
    };
    verdict(&chain, ends.err())
}

fn next_line(lines: &mut Box<dyn BufRead>) -> anyhow::Result<Option<String>> {
    let mut line = String::new();
    std::io::Read::take(&mut *lines, LINE_BYTES_MAX).read_line(&mut line)?;
    match line.len() as u64 {
        0 => Ok(None),
        LINE_BYTES_MAX => bail!("a line has more than {LINE_BYTES_MAX} bytes"),
        _ => Ok(Some(line)),
    }
}

/// Says how far the records are good, and what is wrong after that.
fn verdict(chain: &Chain, wrong: Option<String>) -> Done {
    if let Some((first, last)) = chain.good() {
        let mut text = format!(
            "good from revision {first} to {last}; the last record has the SHA-256 {}\n",
            hex(&chain.sha256())
        );
        if first > 1 {
            text.push_str(&format!(
                "nothing can be said of what was before revision {first}: it is not among them\n"
            ));
        }
        if chain.masked() > 0 {
            text.push_str(&format!(
                "{} values hold secrets, are masked, and were not compared\n",
                chain.masked()
            ));
        }
        print::out(&text)?;
    }
    match wrong {
        None => Ok(ExitCode::SUCCESS),
        Some(why) => Err(anyhow!(why).into()),
    }
}
