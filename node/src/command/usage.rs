//! `trestle usage`: what calls come to, summed up.

use super::{
    client::{Client, encoded},
    failure::Done,
    filter::Filter,
    ledger::Tokens,
    print,
    remote::Remote,
    silent::{silent_nodes, tell_silent},
    table::Table,
};
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, process::ExitCode};

/// Sum up what calls come to, since the first of this month where nothing else is said.
///
/// A call with several tags counts in the sum of each.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle usage
  trestle usage --by team,model
  trestle usage --by day --team growth --from 2027-01-01 --until 2027-02-01
  trestle usage --by key --json | jq '.items[] | [.group.key, .cost_usd]'")]
pub(super) struct Usage {
    #[command(flatten)]
    remote: Remote,
    /// Any of customer, team, user, key, model, provider, vendor_model, tag, hour, day, month, with commas [default: one sum].
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',')]
    by: Vec<String>,
    #[command(flatten)]
    filter: Filter,
}

#[derive(Debug, Deserialize)]
struct Answer {
    items: Vec<Sum>,
}

#[derive(Debug, Deserialize)]
struct Sum {
    group: BTreeMap<String, String>,
    calls: u64,
    tokens: Tokens,
    cost_usd: String,
    estimated: Option<Estimated>,
}

#[derive(Debug, Deserialize)]
struct Estimated {
    calls: u64,
    cost_usd: String,
}

impl Usage {
    pub(super) fn run(self) -> Done {
        let client = Client::open(&self.remote)?;
        let path = format!("/api/usage?by={}{}", encoded(&self.by.join(",")), self.filter.query());
        let answer = client.get(&path)?;
        let whole = answer.read::<Value>()?;
        tell_silent(&silent_nodes(&whole));
        if self.remote.json {
            print::json(&whole)?;
            return Ok(ExitCode::SUCCESS);
        }
        let heads: Vec<String> = self.by.iter().map(|name| name.to_uppercase()).collect();
        let figures = ["CALLS", "IN", "OUT", "USD", "ESTIMATED"];
        let mut table = Table::new(heads.iter().map(String::as_str).chain(figures));
        for sum in answer.read::<Answer>()?.items {
            let of = |name: &String| sum.group.get(name).filter(|text| !text.is_empty()).cloned();
            let group = self.by.iter().map(|name| of(name).unwrap_or_else(|| "-".to_owned()));
            let [input, output] = sum.tokens.sides();
            let estimated = sum
                .estimated
                .map_or_else(|| "-".to_owned(), |part| format!("{} of {} calls", part.cost_usd, part.calls));
            table.row(group.chain([sum.calls.to_string(), input, output, sum.cost_usd, estimated]));
        }
        print::out(&table.to_string())?;
        Ok(ExitCode::SUCCESS)
    }
}
