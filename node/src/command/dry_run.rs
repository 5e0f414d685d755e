//! `trestle dry-run`: what would be done with a request, without doing it.

use super::{
    client::Client,
    failure::Done,
    print,
    remote::Remote,
    table::{Table, names},
};
use crate::files;
use anyhow::{Context, anyhow};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{path::PathBuf, process::ExitCode};

/// Largest body: as large as the API takes.
const BODY_BYTES_MAX: u64 = 2 << 20;

/// Show which targets a request would be sent to, in which order and why, and what it would cost there. Nothing is sent
/// to a provider.
///
/// Exit status: 0 there is a target, 1 the request would be refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle dry-run chat --key web
  trestle dry-run openai/gpt-4o-mini --path /v1/messages --body request.json")]
pub(super) struct DryRun {
    #[command(flatten)]
    remote: Remote,
    /// The model that is asked for.
    model: String,
    /// The name of the key that it comes with.
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    /// Where it goes [default: /v1/chat/completions].
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// The rest of the request, in JSON: what a target would not be told is seen only then.
    #[arg(long, value_name = "FILE")]
    body: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Answer {
    revision: u64,
    caller: Option<String>,
    group: Option<String>,
    targets: Vec<Considered>,
    refusal: Option<Refused>,
}

#[derive(Debug, Deserialize)]
struct Considered {
    target: String,
    because: String,
    first_share: f64,
    tried: bool,
    #[serde(default)]
    why_not: Option<String>,
    #[serde(default)]
    dialect: Option<String>,
    #[serde(default)]
    dropped: Vec<String>,
    #[serde(default)]
    cost: Option<Cost>,
}

#[derive(Debug, Deserialize)]
struct Cost {
    usd: f64,
}

#[derive(Debug, Deserialize)]
struct Refused {
    status: u16,
    kind: String,
    message: String,
}

impl DryRun {
    pub(super) fn run(self) -> Done {
        let client = Client::open(&self.remote)?;
        let mut body = json!({});
        if let Some(path) = &self.body {
            let shown = path.display();
            let text = files::text(path, BODY_BYTES_MAX).with_context(|| format!("cannot read {shown}"))?;
            body = serde_json::from_str(&text).with_context(|| format!("{shown}: is no JSON"))?;
            if !body.is_object() {
                return Err(anyhow!("{shown}: must be a map").into());
            }
        }
        body["model"] = self.model.into();
        let mut request = json!({"body": body});
        for (member, value) in [("key", self.key), ("path", self.path)] {
            if let Some(value) = value {
                request[member] = value.into();
            }
        }
        let answer = client.post("/api/dry-run", &request)?;
        let read: Answer = answer.read()?;
        let status = if read.refusal.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        if self.remote.json {
            print::json(&answer.read::<Value>()?)?;
        } else {
            print::out(&text(read))?;
        }
        Ok(status)
    }
}

fn text(answer: Answer) -> String {
    let Answer { revision, caller, group, targets, refusal } = answer;
    let none = || "-".to_owned();
    let mut text = format!(
        "revision  {revision}\ncaller    {}\ngroup     {}\n",
        caller.unwrap_or_else(none),
        group.unwrap_or_else(none)
    );
    if !targets.is_empty() {
        let mut table =
            Table::new(["", "TARGET", "BECAUSE", "FIRST", "DIALECT", "COST USD", "NOT TOLD", "WHY NOT"]);
        let mut number = 0;
        for target in targets {
            number += usize::from(target.tried);
            table.row([
                if target.tried { number.to_string() } else { none() },
                target.target,
                target.because,
                format!("{:.0}%", target.first_share * 100.0),
                target.dialect.unwrap_or_else(none),
                target.cost.map_or_else(none, |cost| cost.usd.to_string()),
                names(&target.dropped, target.dropped.len()),
                target.why_not.unwrap_or_default(),
            ]);
        }
        text.push_str(&format!("\n{table}"));
    }
    if let Some(Refused { status, kind, message }) = refusal {
        text.push_str(&format!("\nrefused   {status} {kind}: {message}\n"));
    }
    print::plain(&text)
}
