//! `trestle revisions`: what the document was, and the way back.

use super::{
    changes::{Applied, Change, diff},
    client::Client,
    document::Run,
    failure::Done,
    print::{self, Paint},
    remote::Remote,
    table::{Table, names, time},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Revisions that one request gives.
pub(super) const PAGE: u64 = 500;

/// List, show and compare revisions, and go back to one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle revisions list
  trestle revisions diff 12
  trestle revisions rollback 12 --dry-run")]
pub(super) struct Revisions {
    #[command(flatten)]
    remote: Remote,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    List(List),
    Show(Show),
    Diff(Diff),
    Rollback(Rollback),
}

/// List who changed what, the newest first.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle revisions list
  trestle revisions list --limit 200")]
struct List {
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
}

/// Show what a revision changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle revisions show 12")]
struct Show {
    /// Its number.
    revision: u64,
}

/// Show what differs in the document between two revisions.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle revisions diff 12        from revision 12 to the last one
  trestle revisions diff 12 15")]
struct Diff {
    /// The earlier one.
    from: u64,
    /// The later one [default: the last one].
    to: Option<u64>,
}

/// Make the document what it was at a revision, as a new revision.
///
/// Keys, and the customers, teams and users that they belong to, stay as they are unless they are named: a key that was
/// revoked since would be taken again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle revisions rollback 12 --dry-run
  trestle revisions rollback 12
  trestle revisions rollback 12 --kind models --kind providers")]
struct Rollback {
    /// The one to go back to.
    revision: u64,
    /// Only this kind of entities; repeat it for more [default: providers, models, catalog, settings].
    #[arg(long = "kind", value_name = "KIND", value_enum)]
    kinds: Vec<Kind>,
    /// Only say what would change.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Providers,
    Models,
    Customers,
    Teams,
    Users,
    Keys,
    Catalog,
    Settings,
}

/// Who changed something, as the API says it.
#[derive(Debug, Deserialize)]
pub(super) struct Who {
    pub(super) actor: String,
    #[serde(default)]
    pub(super) role: Option<String>,
    #[serde(default)]
    pub(super) from: Option<String>,
    pub(super) action: String,
}

#[derive(Debug, Deserialize)]
struct Line {
    revision: u64,
    at: String,
    origin: Who,
    changed: usize,
    entities: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Shown {
    revision: u64,
    at: String,
    origin: Who,
    changes: Vec<Change>,
}

impl Revisions {
    pub(super) fn run(self) -> Done {
        let client = Client::open(&self.remote)?;
        let json = self.remote.json;
        match self.what {
            What::List(list) => list.run(&client, json),
            What::Show(show) => show.run(&client, json),
            What::Diff(diff) => diff.run(&client, json),
            What::Rollback(rollback) => rollback.run(&client, json),
        }
    }
}

impl List {
    fn run(self, client: &Client, json: bool) -> Done {
        let items = newest(client, "/api/revisions", self.limit)?;
        if json {
            print::json(&json!({"items": items}))?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut table = Table::new(["REVISION", "AT (UTC)", "WHO", "WHAT", "CHANGED"]);
        let mut last = 0;
        for item in items {
            let line: Line = serde_json::from_value(item).map_err(anyhow::Error::from)?;
            let changed = names(&line.entities, line.changed);
            let Who { actor, action, .. } = line.origin;
            table.row([line.revision.to_string(), time(&line.at), actor, action, changed]);
            last = line.revision;
        }
        print::out(&table.to_string())?;
        hint_at_more(last);
        Ok(ExitCode::SUCCESS)
    }
}

/// The newest items of a list of revisions.
pub(super) fn newest(client: &Client, path: &str, limit: u64) -> Result<Vec<Value>, super::failure::Failure> {
    let (mut items, mut before) = (Vec::new(), String::new());
    while (items.len() as u64) < limit {
        let count = (limit - items.len() as u64).min(PAGE);
        let mut page: Value = client.get(&format!("{path}?limit={count}{before}"))?.read()?;
        match page.get_mut("items").map(Value::take) {
            Some(Value::Array(more)) if !more.is_empty() => items.extend(more),
            _ => break,
        }
        match page.get("next").and_then(Value::as_u64) {
            Some(next) => before = format!("&before={next}"),
            None => break,
        }
    }
    Ok(items)
}

/// Says that a list was cut.
pub(super) fn hint_at_more(last: u64) {
    if last > 1 {
        eprintln!("earlier ones, as far as they are kept: --limit N");
    }
}

impl Show {
    fn run(self, client: &Client, json: bool) -> Done {
        let answer = client.get(&format!("/api/revisions/{}", self.revision))?;
        if json {
            print::json(&answer.read::<Value>()?)?;
            return Ok(ExitCode::SUCCESS);
        }
        let Shown { revision, at, origin, changes } = answer.read()?;
        let role = origin.role.map(|role| format!(" ({role})")).unwrap_or_default();
        let from = origin.from.map(|from| format!(" from {from}")).unwrap_or_default();
        let head = format!(
            "revision {revision}\nat       {} UTC\nby       {}{role}{from}\nasked    {}\n\n",
            time(&at),
            origin.actor,
            origin.action
        );
        print::out(&format!("{}{}", print::plain(&head), diff(&changes, Paint::of_stdout())))?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Diff {
    fn run(self, client: &Client, json: bool) -> Done {
        #[derive(Deserialize)]
        struct Answer {
            changes: Vec<Change>,
        }
        let to = self.to.map(|to| format!("&to={to}")).unwrap_or_default();
        let answer = client.get(&format!("/api/revisions/diff?from={}{to}", self.from))?;
        if json {
            print::json(&answer.read::<Value>()?)?;
        } else {
            print::out(&diff(&answer.read::<Answer>()?.changes, Paint::of_stdout()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Rollback {
    fn run(self, client: &Client, json: bool) -> Done {
        let run = if self.dry_run { Run::Dry } else { Run::Real };
        let body = if self.kinds.is_empty() { json!({}) } else { json!({"kinds": self.kinds}) };
        let path = format!("/api/revisions/{}/rollback{}", self.revision, run.query());
        let answer = client.post(&path, &body)?;
        if json {
            print::json(&answer.read::<Value>()?)?;
        } else {
            answer.read::<Applied>()?.print()?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
