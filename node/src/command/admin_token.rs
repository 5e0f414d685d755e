//! `trestle admin-token`: who may use the admin API.

use super::{
    client::{Ask, Client, encoded},
    failure::Done,
    keys::end,
    print,
    remote::Remote,
    table::{Table, time},
};
use crate::control::Role;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{process::ExitCode, time::Duration};

/// Make, list and revoke admin tokens. For the role admin.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle admin-token create ci --role operator --expires-in 90d
  trestle admin-token list
  trestle admin-token revoke ci")]
pub(super) struct AdminToken {
    #[command(flatten)]
    remote: Remote,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Create(Create),
    List(List),
    Revoke(Revoke),
}

/// Make an admin token. It alone goes to stdout, and is shown only now.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  TOKEN=$(trestle admin-token create dashboards --role viewer)
  TOKEN=$(trestle admin-token create ci --role operator --expires-in 90d)")]
struct Create {
    /// Whose it is: the name in the audit record.
    name: String,
    /// What it allows.
    #[arg(long, value_enum)]
    role: Role,
    /// Refused after so long, such as 90d or 12h.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    expires_in: Option<Duration>,
}

/// List the admin tokens, without what they are.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle admin-token list")]
struct List {}

/// Revoke an admin token at once.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle admin-token revoke ci")]
struct Revoke {
    /// Whose it is.
    name: String,
}

#[derive(Debug, Deserialize)]
struct Made {
    secret: String,
    revision: u64,
}

#[derive(Debug, Deserialize)]
struct Listed {
    name: String,
    role: String,
    #[serde(default)]
    expires_at: Option<String>,
    revision: u64,
}

impl AdminToken {
    pub(super) fn run(self) -> Done {
        let client = Client::open(&self.remote)?;
        let json = self.remote.json;
        match self.what {
            What::Create(create) => create.run(&client, json),
            What::List(_) => list(&client, json),
            What::Revoke(revoke) => {
                let path = format!("/api/admin-tokens/{}", encoded(&revoke.name));
                let ask = Ask { method: Method::DELETE, path: &path, if_match: None, body: String::new() };
                client.ask(ask)?;
                eprintln!("admin token `{}` is revoked", revoke.name);
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

impl Create {
    fn run(self, client: &Client, json: bool) -> Done {
        let mut body = json!({"name": self.name, "role": self.role});
        if let Some(after) = self.expires_in {
            body["expires_at"] = end(after)?.into();
        }
        let answer = client.post("/api/admin-tokens", &body)?;
        let Made { secret, revision } = answer.read()?;
        let lost = format!("the admin token `{}` was made, revoke it and make another", self.name);
        if json {
            print::secret(answer.text.trim_end(), &lost)?;
        } else {
            eprintln!("admin token `{}` was made, shown only now (revision {revision})", self.name);
            print::secret(&secret, &lost)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn list(client: &Client, json: bool) -> Done {
    #[derive(Deserialize)]
    struct Answer {
        items: Vec<Listed>,
    }
    let answer = client.get("/api/admin-tokens")?;
    if json {
        print::json(&answer.read::<Value>()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(["NAME", "ROLE", "EXPIRES (UTC)", "REVISION"]);
    for Listed { name, role, expires_at, revision } in answer.read::<Answer>()?.items {
        let end = expires_at.as_deref().map_or("-".to_owned(), time);
        table.row([name, role, end, revision.to_string()]);
    }
    print::out(&table.to_string())?;
    Ok(ExitCode::SUCCESS)
}
