//! `trestle limits`: how much of each limit and budget is used.

use super::{
    client::{Client, encoded},
    failure::Done,
    print,
    remote::Remote,
    table::{Table, time},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Limits that one request gives.
const PAGE: u64 = 1_000;

/// List limits and budgets, with what they count now.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle limits
  trestle limits --owner team
  trestle limits --owner team/growth
  trestle limits --owner key_provider/web@openai --json")]
pub(super) struct Limits {
    #[command(flatten)]
    remote: Remote,
    /// Only those of this kind of owners (customer, team, user, key, key_provider, model, provider), or of one of them.
    #[arg(long, value_name = "KIND[/NAME]")]
    owner: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Shown {
    owner_kind: String,
    owner: String,
    name: String,
    measure: String,
    amount: Value,
    used: Value,
    held: Value,
    remaining: Value,
    window: Option<String>,
    resets_at: Option<String>,
    warned: Option<u8>,
}

impl Limits {
    pub(super) fn run(self) -> Done {
        let client = Client::open(&self.remote)?;
        let asked = self.owner.as_deref().map(|owner| match owner.split_once('/') {
            Some((kind, name)) => format!("&owner_kind={}&owner={}", encoded(kind), encoded(name)),
            None => format!("&owner_kind={}", encoded(owner)),
        });
        let items =
            client.pages(&format!("/api/limits?limit={PAGE}{}", asked.unwrap_or_default()), "cursor")?;
        if self.remote.json {
            print::json(&json!({"items": items}))?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut table = Table::new([
            "OWNER",
            "LIMIT",
            "MEASURE",
            "AMOUNT",
            "USED",
            "HELD",
            "LEFT",
            "PER",
            "RESETS (UTC)",
            "WARNED",
        ]);
        for item in items {
            let shown: Shown = serde_json::from_value(item).map_err(anyhow::Error::from)?;
            let none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
            let figures = [shown.amount, shown.used, shown.held, shown.remaining].map(figure);
            let owner = format!("{}/{}", shown.owner_kind, shown.owner);
            let resets = none(shown.resets_at.as_deref().map(time));
            let warned = none(shown.warned.map(|percent| format!("{percent}%")));
            let first = [owner, shown.name, shown.measure];
            table.row(first.into_iter().chain(figures).chain([none(shown.window), resets, warned]));
        }
        print::out(&table.to_string())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A number, or dollars as text.
fn figure(value: Value) -> String {
    match value {
        Value::String(usd) => usd,
        other => other.to_string(),
    }
}
