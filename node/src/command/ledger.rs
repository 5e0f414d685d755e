//! `trestle ledger`: the calls that were made, and what each came to.

use super::{
    client::{Client, encoded},
    failure::Done,
    filter::Filter,
    print,
    remote::Remote,
    silent::{silent_nodes, tell_silent},
    table::{Table, time},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{collections::BTreeSet, process::ExitCode};

/// Lines that one request gives.
const PAGE: u64 = 1_000;

/// List the calls of providers that were made, the newest first, a line for each attempt of a request.
///
/// Tokens are in groups: input with what was read from caches and written to them, output with reasoning.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle ledger
  trestle ledger --team growth --from 2027-01-31 --outcome provider_error
  trestle ledger --request-id 5f2c0f5e0b6a4d3c9a1b2c3d4e5f6071
  trestle ledger --key web --limit 5000 --json | jq '.items[].cost_usd'")]
pub(super) struct Ledger {
    #[command(flatten)]
    remote: Remote,
    #[command(flatten)]
    filter: Filter,
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
}

#[derive(Debug, Deserialize)]
struct Line {
    request_id: String,
    ended_at: String,
    key: Option<String>,
    team: Option<String>,
    model: String,
    provider: String,
    outcome: String,
    basis: String,
    tokens: Tokens,
    cost_usd: String,
}

/// Tokens by kind.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    input: u64,
    cached_read: u64,
    cache_write_5m: u64,
    cache_write_1h: u64,
    audio_in: u64,
    image_in: u64,
    output: u64,
    reasoning: u64,
    audio_out: u64,
    image_out: u64,
}

impl Tokens {
    /// All of the input, and all of the output.
    pub(super) fn sides(&self) -> [String; 2] {
        let cached = [self.cached_read, self.cache_write_5m, self.cache_write_1h];
        let input = [self.input, self.audio_in, self.image_in].into_iter().chain(cached);
        let output = [self.output, self.reasoning, self.audio_out, self.image_out];
        let sum = |sum: u64, count| sum.saturating_add(count);
        [input.fold(0, sum), output.into_iter().fold(0, sum)].map(|sum| sum.to_string())
    }
}

impl Ledger {
    pub(super) fn run(self) -> Done {
        let client = Client::open(&self.remote)?;
        let (mut items, mut skipped, mut cursor) = (Vec::new(), 0, String::new());
        let mut silent = BTreeSet::new();
        let is_cut = loop {
            let count = (self.limit - items.len() as u64).min(PAGE);
            let path = format!("/api/ledger?limit={count}{}{cursor}", self.filter.query());
            let mut page: Value = client.get(&path)?.read()?;
            if let Some(Value::Array(more)) = page.get_mut("items").map(Value::take) {
                items.extend(more);
            }
            silent.extend(silent_nodes(&page));
            skipped += page.get("skipped").and_then(Value::as_u64).unwrap_or(0);
            match page.get("next").and_then(Value::as_str) {
                None => break false,
                Some(_) if items.len() as u64 >= self.limit => break true,
                Some(next) => cursor = format!("&cursor={}", encoded(next)),
            }
        };
        if skipped > 0 {
            eprintln!("{skipped} records of the ledger could not be read");
        }
        tell_silent(&silent);
        if self.remote.json {
            let mut all = json!({"items": items});
            if !silent.is_empty() {
                all["incomplete"] = json!(silent);
            }
            print::json(&all)?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut table = Table::new([
            "ENDED (UTC)",
            "TEAM",
            "KEY",
            "MODEL",
            "PROVIDER",
            "OUTCOME",
            "IN",
            "OUT",
            "USD",
            "REQUEST",
        ]);
        for item in items {
            let line: Line = serde_json::from_value(item).map_err(anyhow::Error::from)?;
            let none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
            let [input, output] = line.tokens.sides();
            // What we estimated is said to be so.
            let cost = if line.basis == "estimated" { format!("~{}", line.cost_usd) } else { line.cost_usd };
            let (team, key) = (none(line.team), none(line.key));
            let who = [time(&line.ended_at), team, key, line.model, line.provider, line.outcome];
            table.row(who.into_iter().chain([input, output, cost, line.request_id]));
        }
        print::out(&table.to_string())?;
        if is_cut {
            eprintln!("there are earlier ones: --limit N");
        }
        Ok(ExitCode::SUCCESS)
    }
}
