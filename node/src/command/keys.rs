//! `trestle keys`: keys of applications.

use super::{
    changes::Applied,
    client::{Client, encoded},
    failure::{Done, Failure},
    print,
    remote::Remote,
    table::{Table, names, time},
};
use crate::admin::KeyState;
use anyhow::anyhow;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    process::ExitCode,
    time::{Duration, SystemTime},
};

/// Make, list, rotate and revoke keys of applications, and show what they sign with.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  KEY=$(trestle keys create web --model chat)
  trestle keys list --state active
  KEY=$(trestle keys rotate web --grace 1h)
  trestle keys revoke web
  trestle keys aws web")]
pub(super) struct Keys {
    #[command(flatten)]
    remote: Remote,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Create(Create),
    List(List),
    Rotate(Rotate),
    Revoke(Revoke),
    Aws(Aws),
}

/// Make a key. Its secret alone goes to stdout, and is shown only now.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  KEY=$(trestle keys create web)
  trestle keys create batch --model chat --model 'openai/*' --tag team-a --expires-in 30d
  trestle keys create demo --expires-at 2027-01-31T00:00:00Z")]
struct Create {
    /// Its name in the document.
    name: String,
    /// What it may use: a name in `models`, or a pattern such as openai/*; repeat it for more [default: everything].
    #[arg(long = "model", value_name = "MODEL")]
    models: Vec<String>,
    /// A word to find it by; repeat it for more.
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Refused from then on: a time in UTC such as 2027-01-31T00:00:00Z.
    #[arg(long, value_name = "TIME", conflicts_with = "expires_in")]
    expires_at: Option<String>,
    /// Refused after so long, such as 30d or 12h.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    expires_in: Option<Duration>,
}

/// List the keys, all of them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle keys list
  trestle keys list --tag team-a --state expired
  trestle keys list --json | jq -r '.items[].id'")]
struct List {
    /// Only those whose names contain this.
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Only those with this tag.
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only those in this state.
    #[arg(long, value_enum)]
    state: Option<KeyState>,
}

/// Give a key a new secret, which alone goes to stdout. The one before is taken for a while.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  KEY=$(trestle keys rotate web)
  KEY=$(trestle keys rotate web --grace 0s)    the one before ends now")]
struct Rotate {
    /// Its name in the document.
    name: String,
    /// How long the secret before is still taken, such as 24h; at most 90 days.
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = humantime::parse_duration)]
    grace: Duration,
}

/// Disable a key, and the secret before a rotation. It stays in the document.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle keys revoke web")]
struct Revoke {
    /// Its name in the document.
    name: String,
}

/// Show the pair of a key for clients of Amazon, which sign their requests: lines for an environment. Nothing changes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle keys aws web > web.env")]
struct Aws {
    /// Its name in the document.
    name: String,
}

/// What a key signs with.
#[derive(Debug, Deserialize)]
struct Pair {
    access_key_id: String,
    secret_access_key: String,
}

/// A key as the API lists it.
#[derive(Debug, Deserialize)]
struct Listed {
    id: String,
    revision: u64,
    value: Value,
}

#[derive(Debug, Deserialize)]
struct Made {
    #[serde(flatten)]
    applied: Applied,
    secret: Option<String>,
}

impl Keys {
    pub(super) fn run(self) -> Done {
        let client = Client::open(&self.remote)?;
        let json = self.remote.json;
        match self.what {
            What::Create(create) => create.run(&client, json),
            What::List(list) => list.run(&client, json),
            What::Rotate(rotate) => {
                let path = format!("/api/keys/{}/rotate", encoded(&rotate.name));
                let answer = client.post(&path, &json!({"grace_seconds": rotate.grace.as_secs()}))?;
                let said = format!(
                    "key `{}` has a new secret, shown only now; the one before is taken for {} more",
                    rotate.name,
                    humantime::format_duration(rotate.grace)
                );
                show_secret(&answer, json, &said, "rotate it again")
            }
            What::Revoke(revoke) => {
                let answer =
                    client.post(&format!("/api/keys/{}/revoke", encoded(&revoke.name)), &json!({}))?;
                if json {
                    print::json(&answer.read::<Value>()?)?;
                } else {
                    answer.read::<Applied>()?.print()?;
                }
                Ok(ExitCode::SUCCESS)
            }
            What::Aws(aws) => {
                let answer = client.post(&format!("/api/keys/{}/aws", encoded(&aws.name)), &json!({}))?;
                let Pair { access_key_id, secret_access_key } = answer.read()?;
                if json {
                    print::json(&answer.read::<Value>()?)?;
                } else {
                    print::out(&format!(
                        "AWS_ACCESS_KEY_ID={access_key_id}\nAWS_SECRET_ACCESS_KEY={secret_access_key}\n"
                    ))?;
                }
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

impl Create {
    fn run(self, client: &Client, json: bool) -> Done {
        let Self { name, models, tags, expires_at, expires_in } = self;
        let mut value = json!({});
        let expires_at = expires_at.or(expires_in.map(end).transpose()?);
        for (member, set, given) in [
            ("models", !models.is_empty(), json!(models)),
            ("tags", !tags.is_empty(), json!(tags)),
            ("expires_at", expires_at.is_some(), json!(expires_at)),
        ] {
            if set {
                value[member] = given;
            }
        }
        let answer = client.post("/api/keys", &json!({"id": name, "value": value}))?;
        let said = format!("key `{name}` was made; its secret is shown only now");
        show_secret(&answer, json, &said, &format!("the key `{name}` was made, rotate it for a new one"))
    }
}

/// The time after a while, as the API takes it.
pub(super) fn end(after: Duration) -> Result<String, Failure> {
    let end = SystemTime::now().checked_add(after);
    // What cannot be written with four digits of a year is no time of the API.
    let written = end.filter(|end| {
        let since = end.duration_since(SystemTime::UNIX_EPOCH);
        since.is_ok_and(|since| since.as_secs() < 253_402_300_800)
    });
    let written = written.map(|end| humantime::format_rfc3339_seconds(end).to_string());
    Ok(written.ok_or_else(|| anyhow!("--expires-in: is too long"))?)
}

/// The secret alone on stdout, what is to be said of it on stderr.
fn show_secret(answer: &super::client::Answer, json: bool, said: &str, lost: &str) -> Done {
    let made: Made = answer.read()?;
    let secret = made.secret.ok_or_else(|| anyhow!("the node does not show the secret"))?;
    made.applied.warn();
    if json {
        print::secret(answer.text.trim_end(), lost)?;
    } else {
        eprintln!("{said} (revision {})", made.applied.revision);
        print::secret(&secret, lost)?;
    }
    Ok(ExitCode::SUCCESS)
}

impl List {
    fn run(self, client: &Client, json: bool) -> Done {
        let mut path = "/api/keys?limit=1000".to_owned();
        let state = self.state.map(|state| state.name().to_owned());
        for (name, value) in [("search", self.search), ("tag", self.tag), ("state", state)] {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", encoded(&value)));
            }
        }
        let items = client.pages(&path, "after")?;
        if json {
            print::json(&json!({"items": items}))?;
            return Ok(ExitCode::SUCCESS);
        }
        let now = SystemTime::now();
        let mut table = Table::new(["NAME", "STATE", "MODELS", "TAGS", "EXPIRES (UTC)", "REVISION"]);
        for item in items {
            let Listed { id, revision, value } = serde_json::from_value(item).map_err(anyhow::Error::from)?;
            let list = |member: &str| {
                let all = value.get(member).and_then(Value::as_array);
                let all = all.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
                all.collect::<Vec<_>>()
            };
            let (models, tags) = (list("models"), list("tags"));
            let models = if models.is_empty() { "all".to_owned() } else { names(&models, models.len()) };
            let end = value.get("expires_at").and_then(Value::as_str).map_or("-".to_owned(), time);
            let state = KeyState::of(&value, now).name().to_owned();
            table.row([id, state, models, names(&tags, tags.len()), end, revision.to_string()]);
        }
        print::out(&table.to_string())?;
        Ok(ExitCode::SUCCESS)
    }
}
